// Ranks that come while messages flow, as spawned ones will: two jobs of two ranks, each with a
// segment of its own, that learn of each other. Each calls its own ranks 0 and 1, the others' 2
// and 3.
#include <array>

#include "worlds.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr int kEach = 2;

// What one job knows of the other.
class Others final : public wireup::Newcomers {
 public:
  int size() const override { return kEach; }
  int host(int which) const override { return 1 + which; }
  std::string host_name(int which) const override { return "far" + std::to_string(which); }
  bool is_gone(int) const override { return false; }
  Result<BlobView> address(int which) override {
    ++asked;
    if (is_out_of_reach) return fail(Code::proc_aborted, "rank gave no address");
    // As p2p publishes it: one address of one byte for the transport "fake".
    constexpr std::string_view kText = "\4fake\1x";
    bytes_[static_cast<std::size_t>(which)] = {};
    for (const char c : kText)
      bytes_[static_cast<std::size_t>(which)].push_back(static_cast<std::byte>(c));
    return BlobView(bytes_[static_cast<std::size_t>(which)]);
  }
  int asked = 0;
  bool is_out_of_reach = false;

 private:
  std::array<Blob, kEach> bytes_;
};

// Endpoints 0 and 1 are of the first job, 2 and 3 of the second.
class Jobs {
 public:
  explicit Jobs(const FakeOptions& options = {}) : net_(2 * kEach, options) {
    for (int job = 0; job < 2; ++job)
      for (auto& wireup : wireup::in_threads(std::vector<int>(kEach, 0)))
        wireups_.push_back(std::move(wireup));
    for (int at = 0; at < 2 * kEach; ++at) {
      const auto opener = [this, at](const transport::Surroundings& around) {
        transport::Opened opened;
        opened.transports.push_back(net_.open(at, around.sink, numbers_of(at)));
        return opened;
      };
      auto opened =
          Endpoint::open_over(*wireups_[static_cast<std::size_t>(at)], Knobs::defaults(), opener);
      REQUIRE(opened.has_value());
      endpoints_.push_back(std::move(*opened));
      others_.push_back(std::make_shared<Others>());
    }
  }

  Endpoint& operator[](int at) { return *endpoints_[static_cast<std::size_t>(at)]; }
  wireup::Wireup& wireup(int at) { return *wireups_[static_cast<std::size_t>(at)]; }
  Others& others(int at) { return *others_[static_cast<std::size_t>(at)]; }
  // What `at` calls the endpoint `other`.
  static int number(int at, int other) { return (other + (at < kEach ? 0 : kEach)) % (2 * kEach); }

  void meet() {
    for (int at = 0; at < 2 * kEach; ++at) {
      CHECK(wireup(at).add(others_[static_cast<std::size_t>(at)]) == kEach);
      (*this)[at].grow();
    }
  }
  void lose(int at) {
    net_.lose(at);
    lost_ = at;
  }
  bool until(const std::function<bool()>& condition) {
    const std::int64_t deadline = now_ns() + kPatience_ns;
    while (!condition()) {
      if (now_ns() > deadline) return false;
      for (int at = 0; at < 2 * kEach; ++at)
        if (at != lost_) (*this)[at].progress();
    }
    return true;
  }
  // In a communicator of all four, where each has its place by endpoint.
  Pending* send(int from, int to, int tag, std::vector<std::byte>& data) {
    return (*this)[from].send(Mode::standard, number(from, to), {7, from, tag, 0}, plain(data));
  }
  Pending* recv_any(int at, std::vector<std::byte>& data) {
    return (*this)[at].recv(kAnySource, {7, kAnySource, kAnyTag, 0}, plain(data));
  }

 private:
  static std::vector<int> numbers_of(int at) {
    std::vector<int> numbers;
    for (int other = 0; other < 2 * kEach; ++other) numbers.push_back(number(at, other));
    return numbers;
  }

  FakeNet net_;
  std::vector<std::unique_ptr<wireup::Wireup>> wireups_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::vector<std::shared_ptr<Others>> others_;
  int lost_ = -1;
};

FakeOptions rough(unsigned seed) {
  FakeOptions options;
  options.seed = seed;
  options.longest_delay = 2;
  options.capacity = 6;
  options.places = seed % 2 == 0;
  return options;
}

}  // namespace

TEST_CASE("a wireup knows ranks beyond its segment, each by its own source", "[p2p][grow]") {
  Jobs jobs;
  wireup::Wireup& wireup = jobs.wireup(0);
  CHECK(wireup.known() == 2);
  jobs.meet();
  CHECK(wireup.size() == 2);  // MPI_COMM_WORLD's, for good
  CHECK(wireup.known() == 4);
  CHECK(wireup.add(std::make_shared<Others>()) == 4);
  CHECK(wireup.known() == 6);
  CHECK(wireup.host_of(1) == 0);
  CHECK(wireup.host_of(2) == 1);
  CHECK(wireup.host_of(5) == 2);
  CHECK(wireup.host_name_of(3) == "far1");
  CHECK(wireup.host_name_of(4) == "far0");
  CHECK_FALSE(wireup.is_gone(5));
  CHECK(wireup.address_of(2).has_value());
  CHECK(jobs.others(0).asked == 1);
}

TEST_CASE("ranks added after traffic began send and receive like all others", "[p2p][grow]") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    INFO("seed " << seed);
    Jobs jobs(rough(seed));
    // Under way while the tables grow: a long message, kept short ones, a receive from anybody.
    auto first = pattern(20'000, 1), small = pattern(100, 2);
    std::vector<std::byte> first_into(20'000), small_into(100), any(30'000);
    Pending* const early = jobs.send(0, 1, 1, first);
    Pending* const kept = jobs.send(0, 1, 2, small);
    Pending* const from_any = jobs.recv_any(0, any);
    for (int i = 0; i < 3; ++i) jobs[1].progress();
    jobs.meet();
    // A newcomer meets the receive from anybody that was posted before it was known.
    auto theirs = pattern(30'000, 3);
    Pending* const greeting = jobs.send(3, 0, 9, theirs);
    REQUIRE(jobs.until([&] { return from_any->done && greeting->done; }));
    CHECK(from_any->status.source == 3);
    CHECK(from_any->status.tag == 9);
    CHECK(any == theirs);
    Pending* const long_one = jobs[1].recv(0, {7, 0, 1, 0}, plain(first_into));
    Pending* const small_one = jobs[1].recv(0, {7, 0, 2, 0}, plain(small_into));
    REQUIRE(
        jobs.until([&] { return early->done && kept->done && long_one->done && small_one->done; }));
    CHECK(first_into == first);
    CHECK(small_into == small);
    // All to all, with wildcards, short and long.
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{3000}, std::size_t{20'000}}) {
      std::vector<std::vector<std::byte>> sent(16), got(16);
      std::vector<Pending*> sends(16), receives(16);
      for (int at = 0; at < 4; ++at)
        for (int other = 0; other < 4; ++other) {
          const auto i = static_cast<std::size_t>(at * 4 + other);
          sent[i] = pattern(bytes, i);
          got[i].resize(bytes);
          sends[i] = jobs.send(at, other, 20 + at, sent[i]);
          receives[i] = jobs.recv_any(at, got[i]);
        }
      REQUIRE(jobs.until([&] {
        return std::all_of(sends.begin(), sends.end(), [](Pending* r) { return r->done; }) &&
               std::all_of(receives.begin(), receives.end(), [](Pending* r) { return r->done; });
      }));
      for (int at = 0; at < 4; ++at)
        for (int other = 0; other < 4; ++other) {
          const auto i = static_cast<std::size_t>(at * 4 + other);
          const int source = receives[i]->status.source;
          CHECK(receives[i]->status.tag == 20 + source);
          CHECK(got[i] == sent[static_cast<std::size_t>(source * 4 + at)]);
        }
    }
  }
}

TEST_CASE("a newcomer that dies ends what needs it, and nothing else", "[p2p][grow]") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    INFO("seed " << seed);
    Jobs jobs(rough(seed));
    jobs.meet();
    auto data = pattern(20'000, 1), alive = pattern(5000, 2);
    std::vector<std::byte> into(20'000), any(5000);
    const int dead = Jobs::number(0, 3);
    Pending* const to = jobs.send(0, 3, 1, data);
    Pending* const from = jobs[0].recv(dead, {7, 3, 1, 0}, plain(into));
    Pending* const from_any = jobs.recv_any(0, any);
    for (unsigned i = 0; i < seed; ++i)
      for (int at = 0; at < 4; ++at) jobs[at].progress();
    jobs.lose(3);
    REQUIRE(jobs.until([&] { return to->done && from->done; }));
    CHECK(to->status.code == Code::proc_aborted);
    CHECK(from->status.code == Code::proc_aborted);
    CHECK_FALSE(from_any->done);
    Pending* const late = jobs.send(0, 3, 2, data);
    CHECK((late->done && late->status.code == Code::proc_aborted));
    Pending* const there = jobs.send(2, 0, 4, alive);  // its neighbour lives
    REQUIRE(jobs.until([&] { return there->done && from_any->done; }));
    CHECK(from_any->status.source == 2);
    CHECK(any == alive);
  }
}

TEST_CASE("a newcomer without an address is out of reach, and says so", "[p2p][grow]") {
  Jobs jobs;
  jobs.others(0).is_out_of_reach = true;
  jobs.meet();
  auto data = pattern(8, 1);
  Pending* const to = jobs.send(0, 2, 1, data);
  CHECK((to->done && to->status.code == Code::proc_aborted));
  std::vector<std::byte> into(8);
  Pending* const from = jobs[1].recv(0, {7, 0, 1, 0}, plain(into));
  Pending* const near = jobs.send(0, 1, 1, data);
  REQUIRE(jobs.until([&] { return near->done && from->done; }));
  CHECK(into == data);
}

TEST_CASE("sources that grow with no table are believed when they are marked", "[p2p][grow]") {
  Jobs jobs;
  auto data = pattern(8, 1);
  std::vector<std::byte> into(8);
  Pending* const receive = jobs[1].recv(0, {7, p2p::as_job_rank(0), 5, 0}, plain(into));
  jobs.meet();
  Pending* const send =
      jobs[0].send(Mode::standard, 1, {7, p2p::as_job_rank(0), 5, 0}, plain(data));
  REQUIRE(jobs.until([&] { return send->done && receive->done; }));
  CHECK(receive->status.source == p2p::as_job_rank(0));
  CHECK(into == data);
}
