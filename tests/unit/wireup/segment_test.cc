// The job segment: layout for many shapes, creation, attaching, refusal of strangers.
#include "wireup/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "catch.h"
#include "wireup/address_wait.h"

using namespace tutti::wireup;  // NOLINT(google-build-using-namespace): a test of one room

namespace {
JobFacts two_hosts(const std::array<std::uint8_t, 32>& key) {
  JobFacts facts;
  facts.hosts = {"a", "b"};
  facts.host_of = {0, 1, 0, 1, 0};
  facts.this_host = 1;
  facts.cores = 3;
  facts.job_id = 7;
  facts.key = key;
  facts.topology = "<xml/>";
  return facts;
}
}  // namespace

TEST_CASE("the parts of a segment do not overlap, whatever the shape", "[wireup]") {
  for (const std::uint32_t local : {1U, 2U, 16U, 33U, 129U, 1000U}) {
    SegmentShape shape;
    shape.ranks = local * 3;
    shape.hosts = 3;
    shape.local_ranks = local;
    shape.topology_bytes = 6000;
    const SegmentFacts header = plan_segment(shape);
    CHECK(header.hosts_at >= sizeof(SegmentHeader));
    CHECK(header.places_at >= header.hosts_at + sizeof(HostRecord) * 3);
    CHECK(header.ranks_of_at >= header.places_at + sizeof(RankPlace) * shape.ranks);
    CHECK(header.topology_at >= header.ranks_of_at + sizeof(std::int32_t) * local);
    CHECK(header.ranks_at >= header.topology_at + 6000);
    CHECK(header.locals_at >= header.ranks_at + sizeof(RankRecord) * shape.ranks);
    CHECK(header.lanes_at >= header.locals_at + sizeof(LocalRecord) * local);
    CHECK(header.areas_at >= header.lanes_at + header.lane_bytes * local * local);
    CHECK(header.bytes >= header.areas_at + header.area_bytes * header.area_count);
  }
}

TEST_CASE("a segment takes a part of few addresses, with fewer areas", "[wireup]") {
  for (const std::uint32_t local : {2U, 32U}) {
    SegmentShape shape;
    shape.ranks = shape.local_ranks = local;
    const SegmentFacts whole = plan_segment(shape);
    const auto others = whole.bytes - whole.area_bytes * whole.area_count;
    shape.address_space = std::uint64_t{1} << 30;
    const SegmentFacts some = plan_segment(shape);
    CHECK(some.bytes <= shape.address_space / 4 + others);
    CHECK(some.area_count >= 8);
    shape.address_space = 1;
    CHECK(plan_segment(shape).area_count == 2);
    shape.address_space = std::uint64_t{1} << 40;
    CHECK(plan_segment(shape).area_count == whole.area_count);
  }
}

TEST_CASE("a made segment states the job and can be attached by its descriptor", "[wireup]") {
  std::array<std::uint8_t, 32> key{};
  key[5] = 99;
  const auto made = make_segment(two_hosts(key));
  REQUIRE(made);
  const auto attached = Segment::attach(::dup(made->fd()));
  REQUIRE(attached);
  const SegmentHeader& header = attached->header();
  CHECK(header.ranks == 5);
  CHECK(header.local_ranks == 2);
  CHECK(header.cores == 3);
  CHECK(header.job_key[5] == 99);
  CHECK(attached->topology() == "<xml/>");
  CHECK(std::strcmp(attached->host(1).name, "b") == 0);
  CHECK(attached->host(0).local_ranks == 3);
  CHECK(attached->place(3).host == 1);
  CHECK(attached->place(3).local_rank == 1);
  CHECK(attached->rank_of(1) == 3);
  made->lane(0, 1)[0] = std::byte{42};  // one memory, two mappings
  CHECK(attached->lane(0, 1)[0] == std::byte{42});
}

TEST_CASE("a segment's size is sealed", "[wireup]") {
  const std::array<std::uint8_t, 32> key{};
  const auto made = make_segment(two_hosts(key));
  REQUIRE(made);
  CHECK(::ftruncate(made->fd(), 4096) != 0);
}

TEST_CASE("a descriptor that is no segment is refused", "[wireup]") {
  const int fd = ::memfd_create("other", MFD_CLOEXEC);
  REQUIRE(::ftruncate(fd, 1 << 20) == 0);
  const auto attached = Segment::attach(fd);
  REQUIRE_FALSE(attached);
  CHECK(attached.error().text.find("not a job segment") != std::string::npos);
  ::close(fd);
}

TEST_CASE("a rank that lives is waited for, however late it calls MPI_Init", "[wireup]") {
  using Next = AddressWait::Next;
  constexpr std::int64_t kHour = 3'600'000'000'000;
  RankRecord record{};
  AddressWait wait(0);
  CHECK(wait.look(record, AddressWait::kLongNs - 1) == Next::wait);
  CHECK(wait.look(record, AddressWait::kLongNs) == Next::say);
  for (int hour = 1; hour < 100; ++hour) CHECK(wait.look(record, hour * kHour) == Next::wait);
  record.ready.store(1);
  CHECK(wait.look(record, 100 * kHour) == Next::take);
}

TEST_CASE("a rank that has ended is not waited for", "[wireup]") {
  using Next = AddressWait::Next;
  RankRecord finalized{}, broken{};
  finalized.left.store(1);  // its address may come behind that
  broken.gone.store(1);
  AddressWait wait(0);
  CHECK(wait.look(finalized, 1) == Next::wait);
  CHECK(wait.look(broken, 1) == Next::fail);
  CHECK(wait.look(finalized, AddressWait::kLongNs) == Next::fail);
}
