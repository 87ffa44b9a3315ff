// What the daemon writes to the job segment wakes those who wait for it.
#include "daemon/store.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "catch.h"

namespace tutti::launch::daemon {
namespace {

wireup::Segment some_segment() {
  static const std::array<std::uint8_t, 32> key{};
  wireup::JobFacts facts;
  facts.hosts = {"a", "b"};
  facts.host_of = {0, 0, 1};
  facts.key = key;
  auto segment = wireup::make_segment(facts);
  REQUIRE(segment);
  return std::move(*segment);
}

TEST_CASE("an address is there when its waiter wakes", "[daemon]") {
  const auto segment = some_segment();
  auto& epoch = segment.header().addresses_epoch;
  const std::uint32_t before = epoch.load(std::memory_order_acquire);
  std::string seen;
  std::thread waiter([&] {
    while (segment.rank(2).ready.load(std::memory_order_acquire) == 0)
      ::syscall(SYS_futex, &epoch, FUTEX_WAIT, before, nullptr, nullptr, 0);
    seen.assign(reinterpret_cast<const char*>(segment.rank(2).address),
                segment.rank(2).address_bytes);
  });
  publish_address(segment, 2, "somewhere");
  waiter.join();
  CHECK(seen == "somewhere");
}

TEST_CASE("a rank that is gone is marked and every local sleeper's word moves", "[daemon]") {
  const auto segment = some_segment();
  const auto before = segment.local(1).wake_word.load();
  publish_end(segment, 2, ProcessEnd::without_finalizing, true);
  CHECK(segment.rank(2).gone.load() == 1);
  CHECK(segment.rank(1).gone.load() == 0);
  CHECK(segment.local(1).wake_word.load() != before);
}

TEST_CASE("ranks that do not exist are ignored, long addresses cut", "[daemon]") {
  const auto segment = some_segment();
  publish_end(segment, 99, ProcessEnd::without_finalizing, true);
  publish_address(segment, -1, "x");
  publish_address(segment, 0, std::string(1000, 'x'));
  CHECK(segment.rank(0).address_bytes == wireup::kAddressBytes);
}

TEST_CASE("what a rank writes into the segment leads its daemon nowhere else", "[daemon]") {
  const auto segment = some_segment();
  wireup::SegmentHeader& header = segment.header();
  header.ranks_at = header.locals_at = header.hosts_at = std::uint64_t{1} << 46;
  header.ranks = header.local_ranks = 1U << 31;
  publish_address(segment, 2, "somewhere");
  publish_address(segment, 1 << 20, "nowhere");
  publish_end(segment, 1, ProcessEnd::without_finalizing, true);
  publish_abort(segment);
  CHECK(segment.rank(2).address_bytes == 9);
  CHECK(segment.rank(1).gone.load() == 1);
  CHECK(segment.local(1).wake_word.load() == 2);
}

}  // namespace
}  // namespace tutti::launch::daemon
