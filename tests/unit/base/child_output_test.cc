// What a child says comes whole; one that hangs or crashes does not take us along.
#include "base/child_output.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>

#include "catch.h"

using namespace std::chrono_literals;
using tutti::child_output;
using tutti::write_all;

namespace {

bool has_children() {
  return ::waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD;
}

}  // namespace

TEST_CASE("child output: more than a pipe holds comes whole") {
  const std::string all(1 << 20, 'x');
  CHECK(child_output([&](int out) { write_all(out, all); }, 5min) == all);
  CHECK_FALSE(has_children());
}

TEST_CASE("child output: a child that crashes is heard until then") {
  const auto crash = [](int out) {
    write_all(out, "begun");
    ::kill(::getpid(), SIGKILL);
  };
  CHECK(child_output(crash, 5min) == "begun");
  CHECK_FALSE(has_children());
}

TEST_CASE("child output: a program in place of the child") {
  const auto program = [](int out) {
    ::dup2(out, STDOUT_FILENO);
    ::execl("/bin/echo", "echo", "hello", nullptr);
  };
  CHECK(child_output(program, 5min) == "hello\n");
}

TEST_CASE("child output: one that does not end is ended, and half a text is none") {
  const auto hang = [](int out) {
    write_all(out, "half");
    for (;;) ::pause();
  };
  CHECK(child_output(hang, 50ms).empty());
  CHECK_FALSE(has_children());
}
