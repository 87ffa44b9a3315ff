// A rank that finds no memory for a step of a message, each allocation in turn: nothing is lost.
// What failed is done again, by its caller or in a later round, and then goes as if nothing had
// been. Where there are connections to make, they are there before.
#include <cstdlib>
#include <limits>
#include <new>
#include <string>

#include "worlds.h"

using namespace tutti;        // NOLINT(google-build-using-namespace): a test
using namespace tutti::test;  // NOLINT(google-build-using-namespace)

namespace {

thread_local long left = -1;    // allocations of this thread until one fails; below 0: none does
thread_local long failing = 0;  // and how many fail then

void* take(std::size_t bytes, std::size_t alignment) {
  if (left == 0) {
    if (--failing == 0) left = -1;
    throw std::bad_alloc();
  }
  if (left > 0) --left;
  void* const memory =
      std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) {
  return take(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return take(bytes, static_cast<std::size_t>(alignment));
}
// As std::stable_sort asks, which goes on without.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return take(bytes, alignof(std::max_align_t));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace {

constexpr std::uint32_t kContext = 1;
constexpr long kForLong = 1'000'000;

// Where the shortage is, and how long it lasts.
struct Shortage {
  int victim = 0;  // below 0: nobody
  long after = 0;  // allocations of the victim
  long fails = 1;  // as many then; kForLong: until its call returns
  bool was_met = false;
};

// Two ranks in one thread, over the links that there are. One of them is short of memory once.
class ShortPair {
 public:
  ShortPair(const std::vector<int>& hosts, const Knobs& knobs, Shortage& shortage)
      : wireups_(wireup::in_threads(hosts)), shortage_(shortage) {
    for (auto& each : wireups_) {
      auto opened = Endpoint::open(*each, knobs);
      REQUIRE(opened.has_value());
      endpoints_.push_back(std::move(*opened));
    }
  }
  // What the rank calls, again where it finds no memory.
  template <class Call>
  auto call(int rank, const Call& call) {
    for (;;) {
      if (rank == shortage_.victim && !shortage_.was_met) {
        left = shortage_.after;
        failing = shortage_.fails;
      }
      try {
        auto result = call(*endpoints_[static_cast<std::size_t>(rank)]);
        note(rank);
        return result;
      } catch (const std::bad_alloc&) {
        note(rank);
      }
    }
  }
  void progress() {
    for (int rank = 0; rank < 2; ++rank) call(rank, [](Endpoint& own) { return own.progress(); });
  }
  template <class IsSo>
  bool until(const IsSo& is_so) {
    const std::int64_t limit = now_ns() + 10'000'000'000;
    while (!is_so()) {
      if (now_ns() > limit) return false;
      progress();
    }
    return true;
  }
  p2p::Core& core(int rank) { return endpoints_[static_cast<std::size_t>(rank)]->core(); }

 private:
  // What is left to fail after this call.
  void note(int rank) {
    if (rank != shortage_.victim || shortage_.was_met) return;
    shortage_.was_met = left == 0 || failing < shortage_.fails;
    shortage_.after = std::max(0L, left);
    left = -1;
  }
  std::vector<std::unique_ptr<wireup::Wireup>> wireups_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  Shortage& shortage_;
};

struct Message {
  std::size_t bytes;
  Mode mode = Mode::standard;
};

enum class Way { posted, unexpected, probed };
const char* const kWays[] = {"posted", "unexpected", "probed"};

// Sends and receives it, and another behind it.
void exchange(ShortPair& pair, const Message& message, Way way) {
  static std::vector<std::byte> data;
  static std::vector<std::byte> next = test::pattern(100, 2);
  if (data.size() != message.bytes) data = test::pattern(message.bytes, 1);
  std::vector<std::byte> into(message.bytes), into_next(100);
  const Envelope envelope{kContext, 0, 9, 0};
  Pending *send = nullptr, *receive = nullptr;
  const auto post = [&] {
    receive = pair.call(1, [&](Endpoint& own) { return own.recv(0, envelope, plain(into)); });
  };
  if (way == Way::posted) post();
  send =
      pair.call(0, [&](Endpoint& own) { return own.send(message.mode, 1, envelope, plain(data)); });
  Pending* const second = pair.call(
      0, [&](Endpoint& own) { return own.send(Mode::standard, 1, envelope, plain(next)); });
  if (way != Way::posted) {
    Status status;
    REQUIRE(pair.until([&] {
      return pair.call(1, [&](Endpoint& own) { return own.probe(0, envelope, &status); });
    }));
  }
  if (way == Way::unexpected) post();
  if (way == Way::probed) {
    Status status;
    auto* const taken = pair.call(1, [&](Endpoint& own) { return own.take(0, envelope, &status); });
    REQUIRE(taken != nullptr);
    receive = pair.call(1, [&](Endpoint& own) { return own.recv_taken(taken, plain(into)); });
  }
  Pending* const receive_next =
      pair.call(1, [&](Endpoint& own) { return own.recv(0, envelope, plain(into_next)); });
  CHECK(pair.until(
      [&] { return send->done && second->done && receive->done && receive_next->done; }));
  for (const Pending* each : {send, second, receive, receive_next})
    CHECK(each->status.code == Code::ok);
  CHECK(into == data);
  CHECK(into_next == next);
  for (Pending* each : {send, second})
    if (each->done) pair.core(0).release(each);
  for (Pending* each : {receive, receive_next})
    if (each->done) pair.core(1).release(each);
  for (int rank : {0, 1}) {
    CHECK(!pair.core(rank).is_used(kContext));
    CHECK(pair.until([&] { return pair.core(rank).kept_bytes() == 0; }));
  }
}

struct Road {
  const char* name;
  std::vector<int> hosts;
  Knobs knobs;
};

std::vector<Road> roads() {
  return {{"shm, reading",
           {0, 0},
           knobs_with({{"TUTTI_LINK", "self,shm"}, {"TUTTI_SINGLE_COPY", "on"}})},
          {"shm, granting",
           {0, 0},
           knobs_with({{"TUTTI_LINK", "self,shm"}, {"TUTTI_SINGLE_COPY", "off"}})},
          {"shm, little credit",
           {0, 0},
           knobs_with({{"TUTTI_LINK", "self,shm"}, {"TUTTI_UNEXPECTED_BYTES", "1"}})},
          {"tcp", {0, 1}, knobs_with({{"TUTTI_LINK", "self,tcp"}})},
          {"tcp, encrypted",
           {0, 1},
           knobs_with({{"TUTTI_LINK", "self,tcp"}, {"TUTTI_LINK_SECURITY", "encrypted"}})}};
}

}  // namespace

TEST_CASE("no message is lost for want of memory", "[p2p][no_memory]") {
  for (const Road& road : roads())
    for (const Message& message : {Message{100}, Message{100, Mode::synchronous}, Message{20'000},
                                   Message{300'000}, Message{1'100'000}})
      for (const Way way : {Way::posted, Way::unexpected, Way::probed})
        for (const int victim : {0, 1})
          for (const long fails : {1L, kForLong}) {
            bool was_met = true;
            for (long after = 0; was_met; ++after) {
              INFO(road.name << ", " << message.bytes << " bytes, "
                             << kWays[static_cast<std::size_t>(way)] << ": rank " << victim
                             << " has no memory after " << after << " allocations, " << fails
                             << " times");
              Shortage shortage{-1, after, fails};
              ShortPair pair(road.hosts, road.knobs, shortage);
              if (road.hosts[0] != road.hosts[1]) exchange(pair, Message{1}, Way::posted);
              shortage.victim = victim;
              exchange(pair, message, way);
              was_met = shortage.was_met;
            }
          }
}
