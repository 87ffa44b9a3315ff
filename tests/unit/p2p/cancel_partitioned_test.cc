// Partitioned messages whose context is cancelled: those that have met, and those that never will.
#include <optional>

#include "worlds.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr std::uint32_t kCancelled = 8, kAlive = 10;

// A partitioned message of four partitions from rank 0 to rank 1, in one round.
class Parts {
 public:
  Parts(Worlds& worlds, std::uint32_t context, std::size_t bytes)
      : sent(pattern(4 * bytes, context)), received(sent.size()) {
    const Envelope envelope{context, 0, 5, 0};
    sends = worlds[0].send_partitioned(1, envelope, {4, plain(sent)});
    gets = worlds[1].recv_partitioned(0, envelope, {4, plain(received)});
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() {
    sends->release();
    gets->release();
  }
  void start() {
    sends->start(&Parts::note, &sent_how);
    gets->start(&Parts::note, &got_how);
  }
  bool is_over() const { return sent_how.has_value() && got_how.has_value(); }

  std::vector<std::byte> sent, received;
  p2p::Partitioned *sends = nullptr, *gets = nullptr;
  std::optional<Status> sent_how, got_how;

 private:
  static void note(void* how, const Status& status) {
    *static_cast<std::optional<Status>*>(how) = status;
  }
};

}  // namespace

TEST_CASE("partitioned messages end with their context, whatever they have come to",
          "[p2p][cancel]") {
  for (const std::size_t bytes : {std::size_t{10}, std::size_t{3000}, std::size_t{60'000}})
    for (int rounds = 0; rounds < 12; ++rounds)
      for (const int ready : {0, 2, 4}) {
        CAPTURE(bytes, rounds, ready);
        FakeOptions options;
        options.longest_delay = 2;
        options.seed = static_cast<std::uint64_t>(rounds + 1);
        Worlds worlds(2, options);
        Parts doomed(worlds, kCancelled, bytes), alive(worlds, kAlive, bytes);
        doomed.start();
        alive.start();
        for (int i = 0; i < ready; ++i) doomed.sends->ready({i, 1});
        worlds.rounds(rounds);
        for (const int rank : {0, 1}) worlds[rank].cancel(kCancelled, Code::proc_aborted);
        for (int i = ready; i < 4; ++i) doomed.sends->ready({i, 1});
        for (int i = 0; i < 4; ++i) alive.sends->ready({i, 1});
        REQUIRE(worlds.until([&] { return doomed.is_over() && alive.is_over(); }));
        CHECK((doomed.sent_how->code == Code::proc_aborted || ready == 4));
        if (ready < 4) CHECK(doomed.got_how->code == Code::proc_aborted);
        CHECK((doomed.got_how->code != Code::ok || doomed.received == doomed.sent));
        CHECK((alive.sent_how->code == Code::ok && alive.got_how->code == Code::ok));
        CHECK(alive.received == alive.sent);
        worlds.rounds(60);
        for (const int rank : {0, 1}) {
          CHECK(worlds[rank].counters().unexpected_now == 0);
          CHECK(worlds[rank].counters().posted_now == 0);
          CHECK(worlds.core(rank).kept_bytes() == 0);
        }
        // Of a cancelled context each later round ends at once, and what is made in it later.
        Parts late(worlds, kCancelled, bytes);
        for (Parts* each : {&doomed, &late}) {
          each->sent_how.reset(), each->got_how.reset();
          each->start();
          for (int i = 0; i < 4; ++i) each->sends->ready({i, 1});
          worlds.rounds(3);
          REQUIRE(each->is_over());
          CHECK(each->sent_how->code == Code::proc_aborted);
          CHECK(each->got_how->code == Code::proc_aborted);
        }
        worlds.rounds(60);
        CHECK(worlds[1].counters().unexpected_now == 0);
      }
}

TEST_CASE("partitions whose receiver never comes are dropped with their context", "[p2p][cancel]") {
  for (const std::size_t bytes : {std::size_t{10}, std::size_t{60'000}}) {
    Worlds worlds(2);
    auto data = pattern(4 * bytes, 1);
    p2p::Partitioned* const sends =
        worlds[0].send_partitioned(1, {kCancelled, 0, 5, 0}, {4, plain(data)});
    Status ended;
    sends->start([](void* how, const Status& status) { *static_cast<Status*>(how) = status; },
                 &ended);
    for (int i = 0; i < 4; ++i) sends->ready({i, 1});
    REQUIRE(worlds.until([&] { return worlds[1].counters().unexpected_now == 5; }));
    worlds[1].cancel(kCancelled, Code::proc_aborted);
    worlds.rounds(5);
    CHECK(worlds[1].counters().unexpected_now == 0);
    CHECK(worlds.core(1).kept_bytes() == 0);
    CHECK(ended.code == (bytes > 1000 ? Code::proc_aborted : Code::ok));
    sends->release();
  }
}
