// Signals and sizes of terminals on their way to ranks.
#include <signal.h>

#include "driver.h"

namespace tutti::launch::daemon {
namespace {

TEST_CASE("signals are forwarded to the rank's whole group", "[daemon]") {
  Driver driver;
  driver.launch("trap 'echo got it; exit 5' USR1; echo up; while :; do sleep 0.1; done");
  driver.wait_for<control::Output>();
  driver.send(control::Signal{SIGUSR1});
  const control::RankEnded ended = driver.wait_for<control::RankEnded>();
  CHECK(WEXITSTATUS(ended.wait_status) == 5);
  CHECK(driver.output_.find("got it") != std::string::npos);
  driver.leave();
}

TEST_CASE("a signal that comes before ranks have been started reaches them", "[daemon]") {
  Driver driver;
  driver.send_at_once({Driver::launch_of("exec sleep 10", 2), control::Signal{SIGTERM}});
  for (int i = 0; i < 2; ++i) {
    const int status = driver.wait_for<control::RankEnded>().wait_status;
    CHECK(WIFSIGNALED(status));
  }
  driver.leave();
}

TEST_CASE("a stop that comes before ranks have been started holds them until it is over",
          "[daemon]") {
  Driver driver;
  driver.send_at_once({Driver::launch_of("echo on", 2), control::Signal{SIGTSTP}});
  CHECK_FALSE(driver.has_more());
  driver.send(control::Signal{SIGCONT});
  for (int i = 0; i < 2; ++i) CHECK(driver.wait_for<control::RankEnded>().wait_status == 0);
  driver.leave();
}

TEST_CASE("a job that ends while it is stopped before its start names each rank", "[daemon]") {
  Driver driver;
  driver.send_at_once({Driver::launch_of("echo on", 2), control::Signal{SIGTSTP}});
  CHECK_FALSE(driver.has_more());
  driver.send(control::End{0});
  for (int i = 0; i < 2; ++i) CHECK(driver.wait_for<control::RankEnded>().launch_status != 0);
  driver.leave();
}

TEST_CASE("a size that comes before a rank has been started is its terminal's", "[daemon]") {
  Driver driver;
  control::Launch launch = Driver::launch_of("stty size", 1);
  launch.ranks[0].on_pty = true;
  launch.window = {24, 80};
  driver.send_at_once({launch, control::Window{30, 100}});
  driver.wait_for<control::RankEnded>();
  CHECK(driver.output_.find("30 100") != std::string::npos);
  driver.leave();
}

}  // namespace
}  // namespace tutti::launch::daemon
