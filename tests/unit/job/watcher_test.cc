// From looks at watch records to sentences.
#include "job/watcher.h"

#include "catch.h"
#include "seen.h"
#include "watch/watch.h"

using namespace tutti;
using namespace tutti::launch;
using namespace tutti::launch::job;

namespace {

std::string host_of(int) {
  return "a";
}

}  // namespace

TEST_CASE("a standstill needs somebody in MPI and nobody who moves", "[watch]") {
  Watcher watcher(0);
  watcher.take(computing(0), 0);
  watcher.take(computing(1), 0);
  CHECK_FALSE(watcher.is_still(9000, 1000));
  watcher.take(in_collective(1, "MPI_Barrier", 3), 1000);
  CHECK_FALSE(watcher.is_still(1500, 1000));
  watcher.take(in_collective(1, "MPI_Barrier", 3), 2500);
  CHECK(watcher.is_still(2500, 1000));
  control::SeenRank moved = computing(0);
  CHECK_FALSE(watcher.all_wait(2500, 1000));  // rank 0 computes
  moved.calls = 6;
  watcher.take(moved, 2600);
  CHECK_FALSE(watcher.is_still(3000, 1000));
  watcher.take(in_collective(0, "MPI_Barrier", 3), 3000);
  CHECK_FALSE(watcher.all_wait(3500, 1000));
  CHECK(watcher.all_wait(4000, 1000));
}

TEST_CASE("a rank whose GPU's driver does not answer stands still, and is told why", "[watch]") {
  Watcher watcher(0);
  watcher.take(computing(0), 0);
  control::SeenRank asking = computing(1);
  for (const std::int64_t now_ms : {0, 500, 900}) {
    asking.asked += wireup::kQuestion;  // it has its answers: only the looks find it asking
    asking.asked |= wireup::kAsks;
    watcher.take(asking, now_ms);
  }
  CHECK_FALSE(watcher.is_still(1000, 1000));
  CHECK(watcher.unanswered(1000).empty());
  watcher.take(asking, 3000);
  CHECK(watcher.is_still(3000, 1000));
  CHECK(watcher.unanswered(3000) == std::vector{1});
  const std::string words = watcher.report(3000, host_of);
  CHECK(words.find("rank 1 had no answer of the GPU's driver") != std::string::npos);
  CHECK(words.find("cudaFree") == std::string::npos);  // nobody knows that
  asking.asked |= wireup::kIsBarred;
  watcher.take(asking, 3000);
  CHECK(watcher.report(5000, host_of).find("cudaFree") != std::string::npos);
  asking.asked &= ~(wireup::kAsks | wireup::kIsBarred);
  watcher.take(asking, 9000);
  CHECK(watcher.unanswered(20000).empty());
  CHECK_FALSE(watcher.is_still(20000, 1000));
}

TEST_CASE("the report names the call, its number, and who is missing", "[watch]") {
  Watcher watcher(0);
  for (const int rank : {0, 1, 2}) watcher.take(in_collective(rank, "MPI_Barrier", 17), 0);
  watcher.take(computing(3), 0);
  watcher.take(in_collective(4, "MPI_Barrier", 17), 0);
  CHECK(watcher.missing() == std::vector{3});
  const std::string report = watcher.report(61000, host_of);
  CHECK(report.find("ranks 0-2,4: MPI_Barrier on MPI_COMM_WORLD, its collective number 17, for "
                    "61 s") != std::string::npos);
  CHECK(report.find("rank 3 on host a: not in MPI") != std::string::npos);
  CHECK(report.find("waited for: rank 3\n") != std::string::npos);
}

TEST_CASE("who is in MPI_Init waits for those that have not come to it", "[watch]") {
  Watcher watcher(0);
  control::SeenRank starts = computing(0);
  starts.function = number_of("MPI_Init");
  control::SeenRank late;
  late.rank = 2;
  watcher.take(starts, 0);
  watcher.take(computing(1), 0);
  watcher.take(late, 0);
  CHECK(watcher.is_still(2000, 1000));
  CHECK(watcher.missing() == std::vector<int>{2});
  late.joined = true;
  watcher.take(late, 2000);
  CHECK(watcher.missing().empty());
  late.ended = true;  // with an earlier program
  watcher.take(late, 3000);
  CHECK(watcher.missing() == std::vector<int>{2});
}

TEST_CASE("a rank that was never in MPI has been where it is since the job began", "[watch]") {
  Watcher watcher(1000);
  control::SeenRank seen;
  seen.rank = 0;
  watcher.take(seen, 4000);
  CHECK(watcher.report(6000, host_of).find("not in MPI yet (before MPI_Init), for 5 s") !=
        std::string::npos);
}

TEST_CASE("a chain of receives ends at the rank that waits for nobody", "[watch]") {
  Watcher watcher(0);
  control::SeenRank first = in_collective(0, "MPI_Recv", 0);
  first.context = 0;
  first.peer = 1;
  first.tag = 7;
  first.bytes = 16;
  control::SeenRank second = first;
  second.rank = 1;
  second.peer = 2;
  watcher.take(first, 0);
  watcher.take(second, 0);
  watcher.take(computing(2), 0);
  CHECK(watcher.missing() == std::vector{2, 1});
  CHECK(watcher.report(0, host_of).find("MPI_Recv on MPI_COMM_WORLD, for rank 1, tag 7, 16 B") !=
        std::string::npos);
}

TEST_CASE("a circle of ranks that wait is called a deadlock", "[watch]") {
  Watcher watcher(0);
  const auto waits = [&watcher](int rank, const std::string& name, int peer) {
    control::SeenRank seen = in_collective(rank, name, 0);
    seen.context = 0;
    seen.peer = peer;
    watcher.take(seen, 0);
  };
  const auto says = [&watcher](const std::string& words) {
    return watcher.report(10'000, host_of).find(words) != std::string::npos;
  };
  waits(0, "MPI_Send", 1);
  waits(1, "MPI_Recv", 2);
  watcher.take(computing(2), 0);
  CHECK_FALSE(says("deadlock"));  // rank 2 may come
  waits(1, "MPI_Send", 0);
  CHECK(says("    a deadlock: ranks 0-1 wait for each other; such sends wait for their receives"));
  CHECK(watcher.report(9'000, host_of).find("    perhaps a deadlock: ranks 0-1 wait") !=
        std::string::npos);  // a message may be on its way
  waits(1, "MPI_Recv", 2);
  waits(2, "MPI_Recv", 0);
  CHECK(says("    a deadlock: ranks 0-2 wait in a circle\n"));
  waits(1, "MPI_Recv", 1);
  CHECK(says("    a deadlock: rank 1 waits for itself\n"));
  waits(0, "MPI_Recv", 1);  // of a message that it sends once it is in the others' collective
  watcher.take(in_collective(1, "MPI_Barrier", 4), 0);
  watcher.take(in_collective(2, "MPI_Barrier", 4), 0);
  CHECK(says("    a deadlock: ranks 0-1 wait for each other\n"));
}

TEST_CASE("a rank that is stopped is said to be, and is waited for first", "[watch]") {
  Watcher watcher(0);
  const auto says = [&watcher](const std::string& words) {
    return watcher.report(0, host_of).find(words) != std::string::npos;
  };
  const auto is_in_barrier = [&watcher](int rank, char state) {
    control::SeenRank seen = in_collective(rank, "MPI_Barrier", 7);
    seen.state = state;
    seen.pid = 4710 + rank;
    for (int look = 0; look < 2; ++look) watcher.take(seen, 0);
  };
  is_in_barrier(0, 'S');
  is_in_barrier(1, 'R');
  is_in_barrier(2, 'R');
  CHECK(watcher.all_wait(9000, 1000));
  CHECK_FALSE(says("stopped"));
  is_in_barrier(1, 'T');
  CHECK_FALSE(watcher.all_wait(9000, 1000));  // it goes on with more, once it may
  CHECK(watcher.is_still(9000, 1000));
  CHECK(
      says("    rank 1 on host a is stopped by a signal (kill -CONT 4711 there lets it go on)\n"));
  CHECK(says("    waited for: rank 1, which is stopped\n"));
  watcher.take(computing(3), 0);
  CHECK(watcher.missing() == std::vector{1, 3});
  CHECK(says("    waited for: rank 1, which is stopped; and rank 3\n"));
  is_in_barrier(2, 'T');
  CHECK(
      says("    ranks 1-2 on host a are stopped by a signal (kill -CONT 4711 4712 there lets them "
           "go on)\n"));
  CHECK(says("    waited for: ranks 1-2, which are stopped; and rank 3\n"));
  is_in_barrier(2, 't');
  CHECK(says("    rank 2 on host a is stopped by a debugger\n"));
  is_in_barrier(2, 'D');
  CHECK(says("    rank 2 on host a waits in the kernel for a disk or device\n"));
  is_in_barrier(2, 'Z');
  CHECK(says("    rank 2 on host a has no main thread any more\n"));
  is_in_barrier(2, 'X');
  CHECK(says("    rank 2 on host a has died, and what started it goes on\n"));
}

TEST_CASE("a rank is stopped where two looks in turn say so of the same call", "[watch]") {
  Watcher watcher(0);
  const auto says = [&watcher](const std::string& words) {
    return watcher.report(0, host_of).find(words) != std::string::npos;
  };
  control::SeenRank seen = in_collective(0, "MPI_Barrier", 7);
  seen.state = 't';
  watcher.take(seen, 0);
  CHECK_FALSE(says("stopped"));  // each system call is such a moment, under strace
  ++seen.calls;
  watcher.take(seen, 0);
  CHECK_FALSE(says("stopped"));
  CHECK_FALSE(watcher.all_wait(9000, 1000));
  watcher.take(seen, 0);
  CHECK(says("    rank 0 on host a is stopped by a debugger\n"));
  CHECK(says("    waited for: rank 0, which is stopped\n"));
  seen.state = 'S';
  watcher.take(seen, 0);
  CHECK_FALSE(says("stopped"));
}

TEST_CASE("a stopped rank is waited for where somebody waits for it", "[watch]") {
  Watcher watcher(0);
  control::SeenRank stopped = computing(1);
  stopped.state = 'T';
  const auto says_missing = [&watcher] { return watcher.missing() == std::vector{1}; };
  for (int look = 0; look < 2; ++look) watcher.take(stopped, 0);
  watcher.take(computing(0), 0);
  CHECK(watcher.missing().empty());
  CHECK(watcher.report(0, host_of).find("waited for") == std::string::npos);
  control::SeenRank receives = in_collective(0, "MPI_Recv", 0);
  receives.context = 0;
  receives.peer = 1;
  watcher.take(receives, 0);
  CHECK(says_missing());
  watcher.take(in_collective(0, "MPI_Barrier", 7), 0);
  CHECK(says_missing());
}

TEST_CASE("ranks that are all stopped outside MPI stand still", "[watch]") {
  Watcher watcher(0);
  control::SeenRank seen = computing(0);
  watcher.take(seen, 0);
  CHECK_FALSE(watcher.is_still(9000, 1000));
  seen.state = 'T';
  for (const std::int64_t now_ms : {9000, 9500}) watcher.take(seen, now_ms);
  CHECK_FALSE(watcher.is_still(9500, 1000));  // not for so long
  watcher.take(seen, 10000);
  CHECK(watcher.is_still(10000, 1000));
}

TEST_CASE("while a rank is stopped its GPU's driver owes it nothing", "[watch]") {
  Watcher watcher(0);
  control::SeenRank asking = computing(0);
  asking.asked = 1;
  asking.state = 'T';
  for (const std::int64_t now_ms : {0, 5000, 9000}) watcher.take(asking, now_ms);
  asking.state = 'S';
  watcher.take(asking, 9500);
  CHECK(watcher.unanswered(9500).empty());
  watcher.take(asking, 12000);
  CHECK(watcher.unanswered(12000) == std::vector{0});
}

TEST_CASE("a rank that is stopped is no part of a deadlock", "[watch]") {
  Watcher watcher(0);
  for (const int rank : {0, 1}) {
    control::SeenRank seen = in_collective(rank, "MPI_Recv", 0);
    seen.context = 0;
    seen.peer = 1 - rank;
    seen.state = rank == 0 ? 'S' : 'T';
    watcher.take(seen, 0);
  }
  CHECK(watcher.report(0, host_of).find("deadlock") == std::string::npos);
}

TEST_CASE("stacks lose their addresses", "[watch]") {
  CHECK(shorten_stack("PID 7\n#0  0x00007f12 - 1 pause\n#1 0x00aa main\n").find("0x") ==
        std::string::npos);
  CHECK(shorten_stack("#0  0x00ab f () from /lib/libc.so.6\n#1  0x00cd in g () at g.c:3\n") ==
        "      #1  g () at g.c:3\n      #0  f () from /lib/libc.so.6\n");
  CHECK(shorten_stack("#0  0x00ab f - /lib/libc.so.6\n#1  0x00cd g - /home/u/a\n") ==
        "      #1  g - /home/u/a\n      #0  f - /lib/libc.so.6\n");
  CHECK(shorten_stack("To enable this\nThread 1 (LWP 7)\n#0  f (a=0x12) at f.c:1\n#1 \n") ==
        "      Thread 1 (LWP 7)\n      #0  f (a=0x12) at f.c:1\n      #1 \n");
  CHECK(shorten_stack("#0  f () at ../sysdeps/unix/f.S:38\n#1  0x00cd in g () at g.c:3\n") ==
        "      #1  g () at g.c:3\n      #0  f () at ../sysdeps/unix/f.S:38\n");
  CHECK(shorten_stack("#0  f () at ../sysdeps/unix/f.S:38\n#1  0x00cd in ?? ()\n") ==
        "      #0  f () at ../sysdeps/unix/f.S:38\n      #1  ?? ()\n");  // stripped
  CHECK(shorten_stack("#0  f () at f.c:1\n\n(the tool says more than 250 KiB)") ==
        "      #0  f () at f.c:1\n      (the tool says more than 250 KiB)\n");
  CHECK(shorten_stack("cannot attach\n") == "      cannot attach\n");
  CHECK(shorten_stack("cannot attach\nprun: no\n") == "      cannot attach\n      prun: no\n");
}

TEST_CASE("who called MPI is read off a debugger's stack", "[watcher]") {
  const std::string gdb =
      "Thread 1 (LWP 7):\n#0  0x00ab in poll () from /lib/libc.so.6\n"
      "#1  0x00cd in PMPI_Bcast (count=1) from /x/libmpi_abi.so.1\n"
      "#2  0x00ef in step (a=0x12) at /src/app/step.c:3\n#3  main () at main.c:9\n";
  CHECK(caller_in_stack(gdb) == "step at step.c:3");
  CHECK(caller_in_stack("#0  0x00ab MPI_Bcast - /x/libmpi.so\n#1  0x00cd main - /home/u/a\n") ==
        "main");
  CHECK(caller_in_stack("#0  0x00ab in PMPI_Bcast ()\n#1  0x00cd in ?? ()\n").empty());
  CHECK(caller_in_stack("#0  0x00ab in PMPI_Bcast ()\n#1  0x00cd in solve () at MPI_solver.c:7\n"
                        "#2  0x00ef in main () at a.c:3\n") == "solve at MPI_solver.c:7");
  CHECK(caller_in_stack("#0  compute () at a.c:1\n#1  main () at a.c:2\n").empty());
  CHECK(
      caller_in_stack("#0  0x00ab in PMPI_Bcast ()\n#1  0x00cd in (anonymous namespace)::step<int, "
                      "void (*)(int)> (a=...) at /src/step.cc:3\n") ==
      "(anonymous namespace)::step<int, void (*)(int)> at step.cc:3");
  CHECK(caller_in_stack(
            "#0  0x00ab in PMPI_Bcast ()\n#1  0x00cd in A::operator< (this=0x1) at a.cc:3\n") ==
        "A::operator< at a.cc:3");
  CHECK(caller_in_stack("#0  0x00ab PMPI_Bcast - /x/libmpi.so\n#1  0x00cd void step<int>(void "
                        "(*)(int), int) - /a\n") == "void step<int>(void (*)(int), int)");
  CHECK(caller_in_stack("no eu-stack (elfutils) and no gdb on its host").empty());
}
