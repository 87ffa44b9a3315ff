// Ranks that meet by torchrun's variables, one of which never comes, dies or stands still: ranks
// are threads, and the limit is a second.
#include <unistd.h>

#include <atomic>
#include <thread>

#include "catch.h"
#include "wireup/reception.h"

namespace tutti::wireup {
namespace {

JobRun run_of(const std::string& name, int rank, int size) {
  return {name + " " + std::to_string(::getpid()), rank, size, {}, 1'000'000'000};
}

TEST_CASE("who never comes, dies or is stuck before the job is set up is named in time",
          "[wireup]") {
  const JobRun zero = run_of("late", 0, 3), one = run_of("late", 1, 3);
  std::string problem;
  std::thread master([&] {
    const auto board = open_board(zero, "", "127.0.0.1");
    if (!board) problem = board.error().text;
  });
  auto board = open_board(one, "", "127.0.0.1");
  REQUIRE(board);
  const auto alone = (*board)->fence();
  master.join();
  CHECK(problem ==
        "rank 2 of 3 (WORLD_SIZE) did not come to rank 0 within 1 s; see what became "
        "of them");
  REQUIRE_FALSE(alone);
  CHECK(alone.error().text.find("rank 0 left while") == 0);
  const auto nobody = open_board(one, "", "127.0.0.1");
  REQUIRE_FALSE(nobody);
  CHECK(nobody.error().text.find(
            "rank 1 did not find rank 0 at MASTER_ADDR=127.0.0.1 within 1 s") == 0);
}

TEST_CASE("a rank that stands still while the job is set up keeps nobody for ever", "[wireup]") {
  const JobRun zero = run_of("stuck", 0, 2), one = run_of("stuck", 1, 2);
  const bool master_is_stuck = GENERATE(false, true);
  std::atomic<bool> over{false};
  std::string problem;
  std::thread other([&] {
    const auto board = open_board(master_is_stuck ? zero : one, "", "127.0.0.1");
    while (!over) ::usleep(1000);
    if (!board) problem = board.error().text;
  });
  const auto board = open_board(master_is_stuck ? one : zero, "", "127.0.0.1");
  const auto done = board ? (*board)->fence() : fail(Code::other, board.error().text);
  over = true;
  other.join();
  CHECK(problem.empty());
  REQUIRE_FALSE(done);
  CHECK(done.error().text.find(master_is_stuck ? "nothing comes from rank 0 while"
                                               : "nothing comes from rank 1 while") == 0);
}

}  // namespace
}  // namespace tutti::wireup
