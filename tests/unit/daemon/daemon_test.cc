// What a daemon does with its ranks, from their start to their end.
#include "daemon/daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "driver.h"

namespace tutti::launch::daemon {
namespace {

TEST_CASE("ranks run, what they write comes before their end", "[daemon]") {
  Driver driver;
  driver.launch("echo rank $RANK of $WORLD_SIZE; exit 3", 2);
  for (int i = 0; i < 2; ++i) {
    const control::RankEnded ended = driver.wait_for<control::RankEnded>();
    CHECK(WEXITSTATUS(ended.wait_status) == 3);
    CHECK(driver.output_.find("rank " + std::to_string(ended.rank) + " of 2\n") !=
          std::string::npos);
    CHECK_FALSE(ended.joined);
  }
  driver.leave();
}

TEST_CASE("ranks find their machine in the segment as it was said", "[daemon]") {
  Driver driver;
  const auto machine = topo::synthetic("core:4 pu:2");
  REQUIRE(machine);
  control::Prepare prepare;
  prepare.machine = machine_part(*machine);
  driver.send(prepare);
  driver.launch("head -c 100000 /proc/self/fd/$TUTTI_SEGMENT_FD | tr -d '\\000'");
  driver.wait_for<control::RankEnded>();
  CHECK(driver.output_.find(topo::text_of(*machine)) != std::string::npos);
  driver.leave();
}

TEST_CASE("stdin reaches its rank and ends; the other reads end of file", "[daemon]") {
  Driver driver;
  driver.launch("cat; echo end of $RANK", 2, true);
  driver.send(control::Input{"hello\n", false});
  CHECK(driver.wait_for<control::InputTaken>().bytes == 6);
  driver.send(control::Input{"", true});
  driver.wait_for<control::RankEnded>();
  driver.wait_for<control::RankEnded>();
  CHECK(driver.output_.find("hello\n") != std::string::npos);
  CHECK(driver.output_.find("end of 0\n") != std::string::npos);
  CHECK(driver.output_.find("end of 1\n") != std::string::npos);
  driver.leave();
}

TEST_CASE("a program that cannot start is reported for each of its ranks", "[daemon]") {
  Driver driver;
  control::Launch launch;
  launch.job_key.assign(32, 'k');
  launch.hosts = {"here"};
  launch.host_of = {0, 0};
  control::AppPart app;
  app.argv = {"/nowhere/program"};
  app.working_directory = "/";
  launch.apps.push_back(app);
  launch.ranks = {{0, 0, false, {}}, {1, 0, false, {}}};
  driver.send(launch);
  for (int i = 0; i < 2; ++i) {
    const control::RankEnded ended = driver.wait_for<control::RankEnded>();
    CHECK(ended.launch_status == 127);
    CHECK(ended.reason.find("/nowhere/program") != std::string::npos);
  }
  driver.leave();
}

TEST_CASE("a plan that makes no sense is refused in words", "[daemon]") {
  Driver driver;
  control::Launch launch;
  launch.job_key.assign(32, 'k');
  launch.hosts = {"here"};
  launch.host_of = {0};
  launch.ranks = {{0, 7, false, {}}};
  driver.send(launch);
  CHECK(driver.wait_for<control::DaemonFailed>().reason.find("makes no sense") !=
        std::string::npos);
  driver.leave();
}

TEST_CASE("output that nobody takes holds its writer, and nothing else", "[daemon]") {
  Driver driver;
  driver.takes_output_ = false;
  driver.launch("trap 'exit 7' USR1; if [ $RANK = 0 ]; then yes; fi; while :; do sleep 0.1; done",
                2);
  const std::size_t room = control::output_room(1);
  while (driver.output_.size() < room) driver.wait_for<control::Output>();
  // What was on its way comes, and then no more.
  while (driver.has_more() && driver.output_.size() < 16 * room) driver.wait_for<control::Output>();
  const std::size_t held_at = driver.output_.size();
  CHECK(held_at < 2 * room);
  driver.send(control::OutputTaken{held_at});
  while (driver.output_.size() < held_at + room) driver.wait_for<control::Output>();
  // Held again, and yet its ranks are heard, and it hears.
  driver.send(control::Signal{SIGUSR1});
  for (int i = 0; i < 2; ++i)
    CHECK(WEXITSTATUS(driver.wait_for<control::RankEnded>().wait_status) == 7);
  CHECK(driver.output_.size() < held_at + 2 * room);
  driver.leave();
}

TEST_CASE("ending is kind first, then certain", "[daemon]") {
  Driver driver;
  driver.launch("if [ $RANK = 0 ]; then trap '' TERM; fi; echo up; while :; do sleep 1; done", 2);
  while (driver.output_.size() < 6) driver.wait_for<control::Output>();
  driver.send(control::End{300});
  int killed = 0, terminated = 0;
  for (int i = 0; i < 2; ++i) {
    const control::RankEnded ended = driver.wait_for<control::RankEnded>();
    REQUIRE(WIFSIGNALED(ended.wait_status));
    killed += WTERMSIG(ended.wait_status) == SIGKILL ? 1 : 0;
    terminated += WTERMSIG(ended.wait_status) == SIGTERM ? 1 : 0;
  }
  CHECK(killed == 1);
  CHECK(terminated == 1);
  driver.leave();
}

TEST_CASE("a daemon whose channel closes kills its ranks and leaves", "[daemon]") {
  Driver driver;
  driver.launch("trap '' TERM HUP; setsid sleep 1000 & echo $! $$; wait; sleep 1000");
  driver.wait_for<control::Output>();
  int first = 0, second = 0;
  REQUIRE(std::sscanf(driver.output_.c_str(), "%d %d", &first, &second) == 2);
  driver.fd_.reset();
  int status = -1;
  REQUIRE(::waitpid(driver.pid_, &status, 0) == driver.pid_);
  driver.pid_ = 0;
  CHECK(WIFEXITED(status));
  CHECK(::kill(first, 0) != 0);
  CHECK(::kill(second, 0) != 0);
}

// A rank that stands in the kernel (state D) from one byte that it reads to the next, or reads.
TEST_CASE("a rank of the test below", "[.stands]") {
  char byte = 0;
  while (::read(0, &byte, 1) == 1)
    if (::syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0) == 0) {
      (void)!::read(0, &byte, 1);
      ::_exit(0);
    }
}

TEST_CASE("a rank that waits for a disk for a moment shows its stack", "[daemon]") {
  Driver driver;
  driver.launch("exec '" + std::filesystem::read_symlink("/proc/self/exe").string() +
                    "' 'a rank of the test below'",
                1, true);
  const auto look = [&driver](const std::vector<int>& stacks) {
    driver.send(control::Look{1, stacks});
    return driver.wait_for<control::Seen>().ranks.at(0).state;
  };
  const auto wait_until_in = [&look](int state) {
    for (int tries = 0; tries < 30'000 && look({}) != state; ++tries) ::usleep(1000);
  };
  bool is_shown = false;
  for (int i = 0; i < 50 && !is_shown; ++i) {  // where the machine is busy the moment is long
    wait_until_in('S');
    driver.send(control::Input{"1", false});
    wait_until_in('D');
    look({0});
    ::usleep(20'000);
    driver.send(control::Input{"2", false});
    is_shown = driver.wait_for<control::Stack>().text.find("state D") == std::string::npos;
  }
  CHECK(is_shown);
  driver.send(control::Input{"", true});
  driver.wait_for<control::RankEnded>();
  driver.leave();
}

TEST_CASE("a node whose reader is slow ends with its job's status, also when prun has gone",
          "[daemon]") {
  const bool was_to_come_again = GENERATE(false, true);  // until the user ended the job
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  const UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  while (::write(to.get(), "x", 1) == 1) continue;  // it has no room for more
  Driver driver(to);
  to.reset();
  driver.launch("echo last");
  driver.wait_for<control::RankEnded>();
  if (was_to_come_again) driver.send(control::Bye{0, true});
  driver.send(control::Bye{3, false});
  driver.fd_.reset();
  int status = -1;
  CHECK(::waitpid(driver.pid_, &status, 0) == driver.pid_);
  driver.pid_ = 0;
  CHECK(WEXITSTATUS(status) == 3);
}

TEST_CASE("a long output loses nothing when the head reads late", "[daemon]") {
  Driver driver;
  driver.launch(
      "i=0; while [ $i -lt 20000 ]; do echo line $i of many to fill the way; "
      "i=$((i+1)); done");
  ::usleep(200'000);
  driver.wait_for<control::RankEnded>();
  std::size_t lines = 0;
  for (const char c : driver.output_) lines += c == '\n' ? 1 : 0;
  CHECK(lines == 20000);
  CHECK(driver.output_.find("line 19999 ") != std::string::npos);
  driver.leave();
}

}  // namespace
}  // namespace tutti::launch::daemon
