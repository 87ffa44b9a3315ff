// What comes through a start-up channel: frames cut anywhere, messages of nonsense, and the parcels
// of ranks that some of them carry. A message is taken or refused with a reason; what is taken
// reads the same when it is written again.
#include <unistd.h>

#include "catch.h"
#include "control/control.h"
#include "job/usage.h"
#include "mutate.h"
#include "watch/recorder.h"
#include "wireup/protocol.h"

using namespace tutti;                   // NOLINT(google-build-using-namespace): a test
using namespace tutti::launch::control;  // NOLINT(google-build-using-namespace): a test
using namespace tutti::launch::job;      // NOLINT(google-build-using-namespace): a test

namespace {

// One of every kind, filled a little.
template <std::size_t... I>
void add_each(std::vector<std::string>& out, std::index_sequence<I...>) {
  (out.push_back(encode(Message(std::in_place_index<I>))), ...);
}

std::vector<std::string> messages() {
  std::vector<std::string> out;
  add_each(out, std::make_index_sequence<std::variant_size_v<AnyMessage>>());
  Launch launch;
  launch.job_key = std::string(32, 'k');
  launch.hosts = {"a", "b"};
  launch.host_of = {0, 0, 1};
  AppPart app;
  app.argv = {"./app", "-v"};
  app.environment.push_back({"PATH", "/bin"});
  launch.apps.push_back(app);
  launch.ranks.push_back({0, 0, true, {0, 1}});
  out.push_back(encode(launch));
  out.push_back(encode(Addresses{1, {0, 1}, {"abc", std::string(200, 'x')}}));
  out.push_back(
      encode(RankEnded{3, 256, true, false, true, 1, 0, "why", "last", true, ~0U, ~0ULL}));
  SeenRank seen;
  seen.rank = 2;
  SeenCall call;
  call.ranks = {0, 1, 2};
  out.push_back(encode(Seen{1, {seen, seen}, {call}}));
  out.push_back(encode(Output{1, 2, "text\n"}));
  out.push_back(encode(OutputTaken{1U << 20}));
  return out;
}

}  // namespace

TEST_CASE("no message of nonsense is taken for what it is not", "[fuzz][control_messages]") {
  const auto seeds = messages();
  int accepted = 0;
  fuzz::Rounds rounds("control_messages", 20000);
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    const std::string bytes = fuzz::bend(random, seeds);
    INFO("round " << rounds.number());
    const auto message = decode(bytes);
    if (!message) {
      REQUIRE_FALSE(message.error().text.empty());
      continue;
    }
    ++accepted;
    const std::string again = encode(*message);
    const auto twice = decode(again);
    REQUIRE(twice);
    REQUIRE(encode(*twice) == again);
  }
  CHECK(accepted > 0);
  CHECK(accepted < rounds.done());
}

TEST_CASE("frames cut anywhere are put together, or end the stream", "[fuzz][control_frames]") {
  const auto seeds = messages();
  fuzz::Rounds rounds("control_frames", 5000);
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    std::string stream;
    const std::size_t frames = random.below(6);
    for (std::size_t i = 0; i < frames; ++i)
      stream += frame(static_cast<int>(random.below(4)) - 1, seeds[random.below(seeds.size())]);
    const bool bent = random.below(2) == 0;
    if (bent) stream = fuzz::bend(random, {stream, std::string("\xff\xff\xff\x7f\0\0\0\0", 8)});
    FrameReader reader;
    Frame one;
    std::size_t got = 0, taken = 0;
    bool broken = false;
    for (std::size_t at = 0; at < stream.size() && !broken;) {
      const std::size_t piece = std::min(stream.size() - at, random.below(300) + 1);
      reader.feed(std::string_view(stream).substr(at, piece));
      at += piece;
      for (;;) {
        const auto whole = reader.next(&one);
        broken = !whole;
        if (!whole || !*whole) break;
        ++got;
        taken += one.body.size() + 8;
      }
    }
    REQUIRE(taken <= stream.size());
    if (!bent) REQUIRE((got == frames && !broken && !reader.in_the_middle()));
  }
}

TEST_CASE("no parcel of a rank harms --stats or --trace", "[fuzz][parcels]") {
  std::vector<std::string> seeds{
      std::string(sizeof(watch::Spent) * 3, '\1'),
      std::string(sizeof(watch::EventsHead), '\0') + std::string(sizeof(watch::Event) * 2, '\3'),
      "1\ttcp\t10\t1000\n2\tshm\t5\t7\n"};
  constexpr wireup::RankSays kSays[] = {wireup::RankSays::spent, wireup::RankSays::events,
                                        wireup::RankSays::sent};
  char path[] = "/tmp/fuzz-trace-XXXXXX";
  REQUIRE(::mkstemp(path) >= 0);
  fuzz::Rounds rounds("parcels", 5000);
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    Usage usage({"a", "b", "b"});
    auto trace = Trace::open(path, {0, 1, 1}, {"a", "b"});
    REQUIRE(trace);
    for (std::size_t parcels = random.below(4); parcels > 0; --parcels) {
      const Used used{static_cast<int>(random.below(3)), static_cast<int>(kSays[random.below(3)]),
                      fuzz::bend(random, seeds)};
      usage.take(used);
      (*trace)->take(used);
    }
    REQUIRE(usage.report().size() < 100000);
    REQUIRE((*trace)->close());
  }
  ::unlink(path);
}
