// Which stores payloads are written with, from figures that are told: no clock is asked.
#include "base/pace.h"

#include <algorithm>
#include <vector>

#include "base/register_copy.h"
#include "base/stream_copy.h"
#include "catch.h"

using namespace tutti;  // NOLINT(google-build-using-namespace): a test

namespace {

constexpr int kLearning = 60;  // stretches: twice as many as it takes to settle on a kind, and more

// Two ends whose copies take what a test says, in ns for 32 KiB.
struct Ends {
  Pace pace;
  ReadPaces read{};
  double writes[kStoreKinds] = {1000, 1000};
  double reads[kStoreKinds] = {1000, 1000};
  std::size_t ordinary = 0, streaming = 0;

  void send(std::size_t bytes, double disturbed = 1) {
    const Pace::Way way = pace.way_for(bytes, read);
    const auto kind = static_cast<std::uint32_t>(way.stores);
    (way.stores == Stores::ordinary ? ordinary : streaming) += 1;
    if (!way.is_timed) return;
    const double share = static_cast<double>(bytes) / (32 << 10) * disturbed;
    pace.took(bytes, bytes, static_cast<std::int64_t>(writes[kind] * share));
    read.took(bytes, bytes, kind, static_cast<std::int64_t>(reads[kind] * share));
  }
  // Stretches of one size; which kind most payloads were of.
  Stores most_of(std::size_t bytes, int stretches) {
    ordinary = streaming = 0;
    for (std::size_t i = 0; i < stretches * Pace::kStretch / bytes; ++i) send(bytes);
    return streaming > ordinary ? Stores::streaming : Stores::ordinary;
  }
};

}  // namespace

TEST_CASE("the kind whose slower end is faster is taken", "[pace]") {
  const std::size_t bytes = GENERATE(512, 1024, 5000, 8192, 32768, 65536);
  Ends distant;  // the reader pulls what was written line by line
  distant.reads[0] = 14000;
  distant.writes[1] = 3000;
  CHECK(distant.most_of(bytes, kLearning) == Stores::streaming);
  Ends near;  // halves of one core
  near.writes[1] = near.reads[1] = 2500;
  CHECK(near.most_of(bytes, kLearning) == Stores::ordinary);
  CHECK(near.streaming > 0);  // tried
}

TEST_CASE("each size is judged by itself", "[pace]") {
  Ends ends;
  ends.reads[0] = 9000;
  CHECK(ends.most_of(8192, kLearning) == Stores::streaming);
  ends.reads[0] = 500;
  ends.reads[1] = 5000;
  CHECK(ends.most_of(32768, kLearning) == Stores::ordinary);
  CHECK(ends.most_of(8192, 10) == Stores::streaming);  // not measured again yet
}

TEST_CASE("one disturbed copy changes nothing", "[pace]") {
  Ends ends;
  ends.reads[0] = 9000;
  REQUIRE(ends.most_of(8192, kLearning) == Stores::streaming);
  for (int i = 0; i < 400; ++i) {
    const bool is_first_of_some = i % 40 == 0;
    ends.send(8192, is_first_of_some ? 1000 : 1);
  }
  CHECK(ends.most_of(8192, 40) == Stores::streaming);
}

TEST_CASE("what was better once is found out when it is not any more", "[pace]") {
  Ends ends;
  ends.reads[0] = 1500;
  REQUIRE(ends.most_of(32768, kLearning) == Stores::streaming);
  ends.reads[0] = 400;  // the rank was moved to another core
  ends.writes[0] = 400;
  ends.most_of(32768, 3000);
  CHECK(ends.most_of(32768, 40) == Stores::ordinary);
}

TEST_CASE("a trial is rarer the more it costs", "[pace]") {
  Ends close, far;
  close.reads[0] = 1100;
  far.reads[0] = 10000;
  close.most_of(8192, 1000);
  far.most_of(8192, 1000);
  CHECK(close.ordinary > 5 * far.ordinary);
}

TEST_CASE("a reader that says nothing is no reason to judge", "[pace]") {
  Pace pace;
  const ReadPaces silent{};
  for (int i = 0; i < 1000; ++i) {
    const Pace::Way way = pace.way_for(32768, silent);
    REQUIRE(way.stores == Stores::ordinary);
    if (way.is_timed) pace.took(32768, 32768, 100);
  }
}

TEST_CASE("copies past the caches and by registers write what they should and nothing beside it",
          "[pace]") {
  const auto copy = GENERATE(&stream_copy_anywhere, &register_copy);
  constexpr std::size_t kMost = 400, kLine = 64;
  std::vector<std::byte> from(kMost + kLine), to(kMost + 3 * kLine);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i % 251);
  for (std::size_t at = 0; at < kLine; ++at)
    for (std::size_t bytes = 0; bytes < kMost; bytes += 1 + at % 7) {
      std::ranges::fill(to, std::byte{0xff});
      copy(to.data() + at, from.data() + at / 2, bytes);
      const auto begin = to.begin() + static_cast<std::ptrdiff_t>(at);
      const auto end = begin + static_cast<std::ptrdiff_t>(bytes);
      const auto is_untouched = [](std::byte one) { return one == std::byte{0xff}; };
      REQUIRE(std::equal(begin, end, from.begin() + static_cast<std::ptrdiff_t>(at / 2)));
      REQUIRE(std::all_of(to.begin(), begin, is_untouched));
      REQUIRE(std::all_of(end, to.end(), is_untouched));
    }
}
