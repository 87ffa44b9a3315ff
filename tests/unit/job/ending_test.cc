// The exit status is read off how a job ended.
#include "job/ending.h"

#include <csignal>

#include "catch.h"
#include "status/status.h"

namespace tutti::launch::job {
namespace {

TEST_CASE("a job of which nothing is known ends well", "[job]") {
  const Ending ending;
  CHECK_FALSE(ending.has_failed());
  CHECK(ending.status() == 0);
  CHECK(ending.cause() == Cause::ended);
}

TEST_CASE("the first failure decides, whatever follows from it", "[job]") {
  Ending ending;
  CHECK(ending.fail(Cause::rank, 5));
  CHECK_FALSE(ending.fail(Cause::host, 206));
  ending.blemish(212);
  CHECK(ending.status() == 5);
  CHECK(ending.cause() == Cause::rank);
}

TEST_CASE("a blemish counts when nothing failed, and the first of them", "[job]") {
  Ending ending;
  ending.blemish(3);
  ending.blemish(212);
  CHECK_FALSE(ending.has_failed());
  CHECK(ending.status() == 3);
  CHECK(ending.fail(Cause::rank, 7));
  CHECK(ending.status() == 7);
}

TEST_CASE("of ranks that the others go on without, those that had lost another count last",
          "[job]") {
  Ending ending;
  ending.blemish_after(58);
  ending.blemish_after(3);
  CHECK(ending.status() == 58);
  ending.blemish(139);
  CHECK(ending.status() == 139);
}

TEST_CASE("an end without a status of its own takes a blemish's", "[job]") {
  Ending ending;
  ending.fail(Cause::joining, 0);
  CHECK(ending.status() == 0);
  ending.blemish(212);
  CHECK(ending.status() == 212);
  CHECK(ending.cause() == Cause::joining);
}

TEST_CASE("what the user ends is the user's, and lost hosts are counted once", "[job]") {
  Ending ending;
  ending.fail(Cause::host, 206);
  ending.interrupt(2, false);
  ending.lose("a");
  ending.lose("a");
  CHECK(ending.cause() == Cause::user);
  CHECK(ending.status() == 206);
  CHECK(ending.lost() == std::vector<std::string>{"a"});
}

TEST_CASE("a signal in place of another round is what ends the job", "[job]") {
  Ending ending;
  ending.fail(Cause::rank, 3);
  ending.interrupt(SIGTERM, true);
  CHECK(ending.cause() == Cause::user);
  CHECK(ending.status() == launch::status::of_signal(SIGTERM));
}

TEST_CASE("of ranks that blame another the first is heard, and all are victims", "[job]") {
  Ending ending;
  ending.blame_another(3, {5, "first"});
  ending.blame_another(1, {6, "second"});
  REQUIRE(ending.blamed());
  CHECK(ending.blamed()->line == "first");
  CHECK(ending.is_victim(1));
  CHECK(ending.is_victim(3));
  CHECK_FALSE(ending.is_victim(0));
  CHECK_FALSE(ending.has_failed());
}

TEST_CASE("a rank that was missed is the reason of victims only, and stands before their word",
          "[job]") {
  Ending ending;
  ending.miss({213, "rank 1 was not there"});
  ending.miss({213, "nor rank 2"});
  CHECK_FALSE(ending.blamed());
  CHECK(ending.status() == 0);
  ending.blame_another(3, {58, "rank 3 lost one"});
  REQUIRE(ending.blamed());
  CHECK(ending.blamed()->status == 213);
  CHECK(ending.blamed()->line == "rank 1 was not there; rank 3 lost one");
}

}  // namespace
}  // namespace tutti::launch::job
