// A rank that waits beside programs of others sleeps with a short time slice, which nothing else
// ever has: not the program between two calls, not its threads, not its children.
//
//   shared_cores asked   with TUTTI_SHARED_CORES=on
//   shared_cores found   by itself, since this program starts busy loops on the cores of rank 0
//   shared_cores never   with TUTTI_SHARED_CORES=off
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <thread>

#include "check.h"

using namespace ranks;

namespace {

constexpr std::uint64_t kShortNs = 100'000;

// Of a thread; 0: the kernel has none for ordinary threads.
std::uint64_t slice_of(long thread) {
  std::uint64_t words[6] = {};  // sched_attr: the runtime is the fourth
  return ::syscall(SYS_sched_getattr, thread, words, sizeof words, 0) == 0 ? words[3] : 0;
}

// Two for each core that this rank may use.
std::vector<pid_t> start_loops() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  ::sched_getaffinity(0, sizeof cores, &cores);
  std::vector<pid_t> loops;
  for (int i = 0; i < 2 * CPU_COUNT(&cores); ++i) {
    const pid_t loop = ::fork();
    if (loop > 0) loops.push_back(loop);
    if (loop != 0) continue;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (volatile bool on = true; on;) {
    }
  }
  return loops;
}

void end_loops(const std::vector<pid_t>& loops) {
  for (const pid_t loop : loops) {
    ::kill(loop, SIGKILL);
    ::waitpid(loop, nullptr, 0);
  }
}

bool child_has(std::uint64_t slice) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(slice_of(0) == slice ? 0 : 1);
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

// Rank 0 waits for rank 1 again and again, while another thread of it looks at its slice.
void wait_often(const std::string& how) {
  const std::uint64_t before = slice_of(0);
  const long waiter = ::gettid();
  std::atomic<bool> is_seen{false}, is_over{false};
  std::uint64_t of_thread = 0;
  std::thread watcher([&] {
    of_thread = slice_of(0);
    while (!is_over) {
      if (slice_of(waiter) == kShortNs) is_seen = true;
      ::usleep(200);
    }
  });
  const auto loops = how == "found" ? start_loops() : std::vector<pid_t>{};
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(4);
  int more = 1;
  for (int rounds = 1; more != 0; ++rounds) {
    if (how == "never" ? rounds == 200 : is_seen.load()) more = 0;
    if (before == 0 || std::chrono::steady_clock::now() > limit) more = 0;
    MPI_Send(&more, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(&more, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(slice_of(0) == before);
  }
  end_loops(loops);
  is_over = true;
  watcher.join();
  CHECK(of_thread == before);
  CHECK(child_has(before));
  if (before == 0)
    std::puts("this kernel has no time slices for ordinary threads: none can be seen here");
  else
    CHECK(is_seen == (how != "never"));
}

void answer_late() {
  for (int more = 1; more != 0;) {
    MPI_Recv(&more, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ::usleep(3000);
    MPI_Send(&more, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
}

}  // namespace

int main(int argc, char** argv) {
  begin(MPI_THREAD_FUNNELED);
  if (rank == 0) wait_often(argc > 1 ? argv[1] : "");
  if (rank == 1) answer_late();
  return done();
}
