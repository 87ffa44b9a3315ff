// The shm delegate alone: many calls with random delays, areas, faults.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <thread>

#include "catch.h"
#include "delegate/delegate.h"

namespace {

using namespace tutti;
using coll::Collective;
using delegate::Call;
using delegate::Team;
using types::Buffer;
using types::Count;

constexpr Handle kInt = 0x209, kDouble = 0x214, kSum = 0x21;

thread_local std::string explained;  // what this member's team said about its failure

delegate::Waiting waiting() {
  delegate::Waiting waiting;
  waiting.progress = [](void*) { return 0; };
  waiting.idle = [](void*) { ::sched_yield(); };
  waiting.active = [](void*) {};
  waiting.describe = [](std::uint32_t fingerprint) { return std::to_string(fingerprint); };
  waiting.explain = [](void*, std::string why) { explained = std::move(why); };
  return waiting;
}

// One team over all ranks of a host, each in a thread.
void run_team(int size, const std::function<bool(Team&, int rank)>& body, int looks = 1000) {
  auto wireups = wireup::in_threads(std::vector<int>(static_cast<std::size_t>(size), 0));
  std::vector<int> locals(static_cast<std::size_t>(size));
  std::iota(locals.begin(), locals.end(), 0);
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      wireup::Wireup& own = *wireups[static_cast<std::size_t>(rank)];
      delegate::Waiting how = waiting();
      how.looks = looks;
      const auto team = delegate::make_shm_team(own, locals, rank, *delegate::host_area(own), how);
      if (body(*team, rank)) ++good;
    });
  for (std::thread& thread : threads) thread.join();
  REQUIRE(good == size);
}

std::int32_t value(int rank, Count index) {
  return static_cast<std::int32_t>(rank * 1000 + index % 977);
}

// Runs one call of a kind and looks at the result.
class Mixer {
 public:
  Mixer(Team& team, int rank, int size) : team_(team), rank_(rank), size_(size) {}

  bool step(Collective collective, Count count, int root) {
    root_ = root;
    call_ = {};
    call_.collective = collective;
    call_.root = root;
    call_.fingerprint = static_cast<std::uint32_t>(collective) * 1000 + 1;
    in_.resize(static_cast<std::size_t>(count * size_));
    for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = value(rank_, static_cast<Count>(i));
    out_.assign(in_.size(), -1);
    const bool folds = collective == Collective::allreduce || collective == Collective::reduce ||
                       collective == Collective::reduce_scatter;
    if (folds)
      bind_fold(count);
    else if (collective != Collective::barrier)
      bind_move(count);
    if (!team_.takes(call_) || team_.run(call_) != Code::ok) return false;
    return collective == Collective::barrier || (folds ? folded(count) : moved(count));
  }

 private:
  void bind_fold(Count count) {
    // Every other one in place.
    const bool is_in_place = call_.collective == Collective::reduce_scatter && count % 2 == 1;
    if (is_in_place) out_ = in_;
    call_.send = is_in_place ? out_.data() : in_.data();
    call_.recv = out_.data();
    call_.count = count;
    call_.type = types::predefined_type(kInt);
    call_.op = types::predefined_op(kSum);
  }
  void bind_move(Count count) {
    const Count block = count * 4;
    call_.block = block;
    const bool to_each =
        call_.collective == Collective::scatter || call_.collective == Collective::alltoall;
    call_.from = Buffer::plain(in_.data(), to_each ? block * size_ : block);
    call_.into = Buffer::plain(out_.data(), block * size_);
    if (call_.collective == Collective::scatter) call_.into.bytes = block;
    if (call_.collective == Collective::bcast) {
      call_.into = Buffer::plain(out_.data(), block);
      if (rank_ == root_) std::copy_n(in_.begin(), count, out_.begin());
    }
  }
  bool folded(Count count) const {
    if (call_.collective == Collective::reduce && rank_ != root_) return true;
    for (Count i = 0; i < count; ++i) {
      std::int32_t sum = 0;
      const Count at = call_.collective == Collective::reduce_scatter ? rank_ * count + i : i;
      for (int r = 0; r < size_; ++r) sum += value(r, at);
      if (out_[static_cast<std::size_t>(i)] != sum) return false;
    }
    return true;
  }
  bool moved(Count count) const {
    if (call_.collective == Collective::gather && rank_ != root_) return true;
    const bool one =
        call_.collective == Collective::bcast || call_.collective == Collective::scatter;
    const bool to_each =
        call_.collective == Collective::scatter || call_.collective == Collective::alltoall;
    for (int r = 0; r < (one ? 1 : size_); ++r)
      for (Count i = 0; i < count; ++i) {
        const std::int32_t wanted = value(one ? root_ : r, i + (to_each ? rank_ * count : 0));
        if (out_[static_cast<std::size_t>(r * count + i)] != wanted) return false;
      }
    return true;
  }

  Team& team_;
  int rank_, size_, root_ = 0;
  Call call_;
  std::vector<std::int32_t> in_, out_;
};

constexpr Collective kServed[] = {
    Collective::barrier,   Collective::bcast,    Collective::reduce,
    Collective::allreduce, Collective::gather,   Collective::scatter,
    Collective::allgather, Collective::alltoall, Collective::reduce_scatter};

}  // namespace

TEST_CASE("random calls with random delays are all right", "[delegate]") {
  for (const int size : {2, 3, 5, 8})
    run_team(size, [size](Team& team, int rank) {
      std::mt19937 calls(7), delays(static_cast<unsigned>(rank));
      Mixer mixer(team, rank, size);
      for (int i = 0; i < 1500; ++i) {
        const Collective collective = kServed[calls() % std::size(kServed)];
        // Mostly short ones, so that entries wrap around between long ones.
        const Count count = calls() % 20 == 0 ? calls() % 30000 : calls() % 40;
        if (delays() % 50 == 0) std::this_thread::yield();
        if (delays() % 300 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
        if (!mixer.step(collective, count, static_cast<int>(calls() % static_cast<unsigned>(size))))
          return false;
      }
      return true;
    });
}

TEST_CASE("one kind again and again, at every size around the limits", "[delegate]") {
  for (const Collective collective : kServed)
    run_team(3, [collective](Team& team, int rank) {
      Mixer mixer(team, rank, 3);
      for (const Count count :
           {0, 1, 11, 12, 13, 682, 683, 2047, 2048, 2049, 8191, 8192, 8193, 24577, 200001})
        for (int i = 0; i < 3; ++i)
          if (!mixer.step(collective, count, i)) return false;
      for (int i = 0; i < 500; ++i)
        if (!mixer.step(collective, 2, 1)) return false;
      return true;
    });
}

TEST_CASE("a team that does not poll", "[delegate]") {
  const auto body = [](Team& team, int rank) {
    Mixer mixer(team, rank, 3);
    for (const Collective collective : kServed)
      for (const Count count : {2, 30000})
        for (int i = 0; i < 20; ++i)
          if (!mixer.step(collective, count, i % 3)) return false;
    return true;
  };
  run_team(3, body, 1);
}

TEST_CASE("all ranks get the same bits of a sum of doubles", "[delegate]") {
  constexpr int kSize = 5;
  constexpr Count kCount = 40000;
  std::vector<std::vector<double>> results(kSize);
  run_team(kSize, [&results](Team& team, int rank) {
    std::mt19937_64 random(static_cast<unsigned>(rank));
    std::vector<double> in(kCount), out(kCount);
    for (double& x : in)
      x = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 40));
    Call call;
    call.collective = Collective::allreduce;
    call.send = in.data();
    call.recv = out.data();
    call.count = kCount;
    call.type = types::predefined_type(kDouble);
    call.op = types::predefined_op(kSum);
    const bool good = team.run(call) == Code::ok;
    results[static_cast<std::size_t>(rank)] = out;
    return good;
  });
  for (int rank = 1; rank < kSize; ++rank)
    CHECK(results[static_cast<std::size_t>(rank)] == results[0]);
}

TEST_CASE("a broadcast unpacks into types with gaps", "[delegate]") {
  run_team(2, [](Team& team, int rank) {
    auto strided = *types::make_vector(30000, 1, 2, *types::predefined_type(kInt));
    std::vector<std::int32_t> ints(60000, -5);
    for (std::size_t i = 0; i < 60000 && rank == 0; i += 2) ints[i] = static_cast<std::int32_t>(i);
    Call call;
    call.collective = Collective::bcast;
    call.into = Buffer::whole(ints.data(), 1, *strided);
    call.block = call.into.bytes;
    if (team.run(call) != Code::ok) return false;
    for (std::size_t i = 0; i < 60000; ++i)
      if (ints[i] != (i % 2 == 0 ? static_cast<std::int32_t>(i) : -5)) return false;
    return true;
  });
}

TEST_CASE("calls that do not match are an error on every member", "[delegate]") {
  run_team(3, [](Team& team, int rank) {
    Call call;
    call.fingerprint = rank == 1 ? 5 : 6;
    const Code first = team.run(call);
    // Also a member that hears first of one who gave up.
    const bool is_named = explained.find("rank 1 calls 5") != std::string::npos;
    return first != Code::ok && is_named && team.run(call) != Code::ok;
  });
}

TEST_CASE("a member that dies is noticed by those who wait for it", "[delegate]") {
  auto wireups = wireup::in_threads({0, 0, 0});
  const std::vector<int> locals{0, 1, 2};
  std::atomic<int> noticed{0};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      wireup::Wireup& own = *wireups[static_cast<std::size_t>(rank)];
      const auto team = delegate::make_shm_team(own, locals, rank, 0, waiting());
      if (team->run(Call{}) == Code::proc_aborted) ++noticed;
    });
  // What the daemon does when the process has ended.
  wireups[0]->segment().rank(2).gone.store(1, std::memory_order_release);
  for (std::thread& thread : threads) thread.join();
  CHECK(noticed == 2);
}

TEST_CASE("areas are given back by the last member and serve again", "[delegate]") {
  auto wireups = wireup::in_threads({0, 0, 0, 0});
  const std::vector<int> locals{3, 1};  // a team in an order of its own
  const auto limit = wireups[0]->segment().header().area_count;
  std::vector<std::uint32_t> taken;
  while (const auto area = delegate::take_area(*wireups[3], locals)) taken.push_back(*area);
  CHECK(taken.size() == limit - 1);
  for (int round = 0; round < 3; ++round) {
    std::atomic<int> good{0};
    std::vector<std::thread> threads;
    for (int member = 0; member < 2; ++member)
      threads.emplace_back([&, member] {
        wireup::Wireup& own =
            *wireups[static_cast<std::size_t>(locals[static_cast<std::size_t>(member)])];
        const auto team = delegate::make_shm_team(own, locals, member, taken[0], waiting());
        Mixer mixer(*team, member, 2);
        bool all = true;
        for (int i = 0; i < 30; ++i) all = all && mixer.step(Collective::allreduce, 100 * i, 0);
        if (all) ++good;
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(good == 2);
    CHECK(delegate::take_area(*wireups[3], locals) == taken[0]);
  }
}
