// The child that runs on the daemon's memory until its exec.
#include "daemon/child.h"

#include <fcntl.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>

#include "catch.h"

namespace tutti::launch::daemon {
namespace {

constexpr std::chrono::milliseconds kLongerThanAnExec{2};

// Writes it all the while that the child is on its way, as failing calls of the daemon would.
void overwrite_errno(int error) {
  volatile int* const at = &errno;
  const auto end = std::chrono::steady_clock::now() + kLongerThanAnExec;
  while (std::chrono::steady_clock::now() < end) *at = error;
}

TEST_CASE("a child and the daemon do not see each other's errno", "[daemon]") {
  constexpr int kRounds = 20;
  RankStarter starter([](RankProcess&) {});
  const std::vector<std::string> words{"missing"};
  const UniqueFd segment(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  for (int i = 0; i < kRounds; ++i) {
    RankProcess rank;
    RankStart how;
    how.path = "/no/such/program";
    how.directory = "/";
    how.argv = &words;
    how.segment_fd = segment.get();
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &how.open_files) == 0);
    how.as = rank_fds(how.open_files.rlim_cur);
    REQUIRE(starter.make_room());
    REQUIRE(starter.start(rank, std::move(how)).has_value());
    overwrite_errno(EINVAL);
    siginfo_t ended{};
    REQUIRE(::waitid(P_PID, static_cast<id_t>(rank.pid), &ended, WEXITED | WNOWAIT) == 0);
    CHECK(errno == EINVAL);
    while (!starter.drain()) {
    }
    CHECK(rank.exec_error == ENOENT);
    CHECK(::waitpid(rank.pid, nullptr, 0) == rank.pid);
  }
}

}  // namespace
}  // namespace tutti::launch::daemon
