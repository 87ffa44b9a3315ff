// Bells and handed segments, where somebody else of this machine is at the other end.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <string>

#include "catch.h"
#include "wireup/doorbell.h"
#include "wireup/handover.h"

using namespace tutti::wireup;  // NOLINT(google-build-using-namespace): a test of one room

namespace {

bool rings(const tutti::UniqueFd& bell) {
  pollfd look{bell.get(), POLLIN, 0};
  return ::poll(&look, 1, 0) == 1;
}

}  // namespace

TEST_CASE("whoever rings without end holds no sleeper up", "[wireup]") {
  SegmentFacts facts = plan_segment({});
  facts.job_id = static_cast<std::uint64_t>(::getpid());
  const auto segment = Segment::create(facts);
  REQUIRE(segment);
  const tutti::UniqueFd bell = open_doorbell(*segment, 0);
  REQUIRE(bell.is_open());
  drain_doorbell(bell.get());  // nobody rang: it returns
  ring_doorbell(*segment, 0);
  CHECK(rings(bell));
  drain_doorbell(bell.get());
  CHECK_FALSE(rings(bell));
  // More than one look takes away is there, as if others went on and on: what is left wakes again.
  for (int i = 0; i < 10; ++i) ring_doorbell(*segment, 0);
  drain_doorbell(bell.get());
  CHECK(rings(bell));
  for (int i = 0; i < 10; ++i) drain_doorbell(bell.get());
  CHECK_FALSE(rings(bell));
}

TEST_CASE("the next program of a rank has a doorbell though somebody holds the last one's",
          "[wireup]") {
  SegmentFacts facts = plan_segment({});
  facts.job_id = static_cast<std::uint64_t>(::getpid());
  const auto first = Segment::create(facts);
  facts.generation = 1;
  const auto second = Segment::create(facts);
  REQUIRE(first);
  REQUIRE(second);
  const tutti::UniqueFd held = open_doorbell(*first, 0);
  const tutti::UniqueFd bell = open_doorbell(*second, 0);
  REQUIRE(held.is_open());
  REQUIRE(bell.is_open());
  ring_doorbell(*second, 0);
  CHECK(rings(bell));
  CHECK_FALSE(rings(held));
}

TEST_CASE("who holds a segment's place and says nothing is not waited for without end",
          "[wireup]") {
  const std::string name = "tutti-silent-" + std::to_string(::getpid());
  const tutti::UniqueFd silent(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  name.copy(at.sun_path + 1, sizeof at.sun_path - 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  REQUIRE(::bind(silent.get(), reinterpret_cast<const sockaddr*>(&at), length) == 0);
  REQUIRE(::listen(silent.get(), 8) == 0);
  const auto taken = take_from(name, std::chrono::seconds(1));
  REQUIRE_FALSE(taken);
  CHECK(taken.error().text.find("no job segment in 1 s") != std::string::npos);
}
