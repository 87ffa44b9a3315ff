// A child is heard to its end, and gone afterwards: one that ends, crashes, hangs, says much.
#include "base/child_output.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "catch.h"

using tutti::child_output;

namespace {

constexpr std::int64_t kPatienceNs = 60'000'000'000;

void say(int out, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t put = ::write(out, text.data() + at, text.size() - at);
    if (put < 0 && errno != EINTR) return;
    if (put > 0) at += static_cast<std::size_t>(put);
  }
}

bool no_child_is_left() {
  return ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD;
}

TEST_CASE("what a child says is given whole", "[base]") {
  const std::string much(300'000, 'x');  // more than a pipe holds
  CHECK(child_output(kPatienceNs, [&](int out) { say(out, much); }) == much);
  CHECK(child_output(kPatienceNs, [](int) {}) == std::string());
  CHECK(no_child_is_left());
}

TEST_CASE("a child that crashes has said what it said", "[base]") {
  const auto heard = child_output(kPatienceNs, [](int out) {
    say(out, "first");
    ::raise(SIGKILL);
  });
  CHECK(heard == "first");
  CHECK(no_child_is_left());
}

TEST_CASE("a child that hangs is ended at the limit and has said nothing", "[base]") {
  const auto heard = child_output(50'000'000, [](int out) {
    say(out, "half");
    for (;;) ::pause();
  });
  CHECK_FALSE(heard.has_value());
  CHECK(no_child_is_left());
}

TEST_CASE("a child that closes its end and lives on does not hold up", "[base]") {
  const auto heard = child_output(kPatienceNs, [](int out) {
    say(out, "all");
    ::close(out);
    for (;;) ::pause();
  });
  CHECK(heard == "all");
  CHECK(no_child_is_left());
}

}  // namespace
