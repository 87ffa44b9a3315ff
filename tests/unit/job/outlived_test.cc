// Ranks whose MPI program has died behind a script, jobs that were stopped, and hosts.
#include "catch.h"
#include "job/watcher.h"
#include "seen.h"

namespace tutti::launch::job {
namespace {

std::string host_of(int /*rank*/) {
  return "a";
}

TEST_CASE("a rank whose program has died is outlived, and waits for nobody", "[watch]") {
  Watcher watcher(0);
  control::SeenRank dead = in_collective(0, "MPI_Barrier", 1);
  dead.state = 'X';
  for (const std::int64_t at : {0, 500}) {
    watcher.take(dead, at);
    watcher.take(computing(1), at);
  }
  CHECK_FALSE(watcher.is_still(2000, 1000));
  CHECK_FALSE(watcher.outlived());  // rank 1 computes
  control::SeenRank waits = in_collective(1, "MPI_Barrier", 2);
  waits.state = 'T';
  watcher.take(waits, 2000);
  CHECK_FALSE(watcher.outlived());  // somebody looks at it, perhaps
  waits.state = 'S';
  watcher.take(waits, 2000);
  CHECK(watcher.is_still(3000, 1000));
  CHECK(watcher.outlived() == 0);
}

TEST_CASE("who has died waits for nobody, and is waited for", "[watch]") {
  Watcher watcher(0);
  control::SeenRank dead = in_collective(0, "MPI_Recv", 0);
  dead.context = 0;
  dead.peer = 1;
  dead.state = 'X';
  control::SeenRank waits = in_collective(1, "MPI_Recv", 0);
  waits.context = 0;
  waits.peer = 0;
  for (const std::int64_t at : {0, 500}) {
    watcher.take(dead, at);
    watcher.take(waits, at);
  }
  CHECK(watcher.missing() == std::vector{0});
  const std::string report = watcher.report(20000, host_of);
  CHECK(report.find("deadlock") == std::string::npos);
  CHECK(report.find("rank 0 on host a: died in MPI_Recv, for 20 s") != std::string::npos);
  dead = in_collective(0, "MPI_Barrier", 7);
  dead.state = 'X';
  watcher.take(dead, 21000);
  watcher.take(in_collective(1, "MPI_Barrier", 7), 21000);
  CHECK(watcher.missing() == std::vector{0});
}

TEST_CASE("the time that a job was stopped is not one in which nobody moved", "[watch]") {
  Watcher watcher(0);
  watcher.take(in_collective(0, "MPI_Barrier", 1), 0);
  watcher.take(computing(1), 0);
  CHECK(watcher.is_still(9000, 1000));
  watcher.go_on(9000);
  CHECK_FALSE(watcher.is_still(9500, 1000));
  CHECK(watcher.is_still(10000, 1000));
}

TEST_CASE("who opens networks in MPI_Init is waited for by those that meet there", "[watch]") {
  Watcher watcher(0);
  control::SeenRank opens = computing(0);
  opens.function = number_of("MPI_Init");
  opens.calls = 1;
  control::SeenRank meets = opens;
  meets.rank = 1;
  meets.calls = 2;
  watcher.take(opens, 0);
  watcher.take(meets, 0);
  CHECK(watcher.is_still(2000, 1000));
  CHECK_FALSE(watcher.all_wait(2000, 1000));
  CHECK(watcher.missing() == std::vector{0});
  CHECK(watcher.outside_mpi() == std::vector{0});
}

TEST_CASE("on one host MPI_Init waits for nobody", "[watch]") {
  Watcher watcher(0, false);
  control::SeenRank starts = computing(0);
  starts.function = number_of("MPI_Init");
  control::SeenRank late;
  late.rank = 1;
  watcher.take(starts, 0);
  watcher.take(late, 0);
  CHECK(watcher.missing().empty());
}

}  // namespace
}  // namespace tutti::launch::job
