// The desk of a prun that has no descriptor left, or more askers than it has room for.
#include "job/desk.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <optional>

#include "catch.h"
#include "job/job.h"
#include "no_descriptors.h"

using namespace tutti;                   // NOLINT(google-build-using-namespace): a test
using namespace tutti::launch::control;  // NOLINT(google-build-using-namespace): a test
using namespace tutti::launch::job;      // NOLINT(google-build-using-namespace): a test
using tutti::test::NoDescriptors;

namespace {

UniqueFd asker() {
  return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

void come(const UniqueFd& fd) {
  const std::string name = kDeskName + std::to_string(::getpid());
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  name.copy(to.sun_path + 1, sizeof to.sun_path - 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  REQUIRE(::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), length) == 0);
}

void run_for(Loop& loop, std::chrono::milliseconds time) {
  loop.after(time, [&loop] { loop.stop(); });
  loop.run();
}

std::string hear(Loop& loop, const UniqueFd& fd) {
  char answer[64] = "";
  for (int i = 0; i < 1000; ++i) {
    const ssize_t got = ::recv(fd.get(), answer, sizeof answer - 1, MSG_DONTWAIT);
    if (got >= 0) return {answer, static_cast<std::size_t>(got)};
    run_for(loop, std::chrono::milliseconds(10));
  }
  return "(nothing)";
}

void ask(const UniqueFd& fd) {
  REQUIRE(::send(fd.get(), "ps\n", 3, MSG_NOSIGNAL) == 3);
}

}  // namespace

TEST_CASE("a desk without descriptors rests until it has some, then answers", "[desk]") {
  Loop loop;
  Desk desk(loop);
  REQUIRE(desk.open([](const std::string&, const Desk::Reply& reply) { reply("answer"); }));
  const UniqueFd fd = asker();
  {
    const NoDescriptors none;
    come(fd);
    ask(fd);
    run_for(loop, std::chrono::seconds(1));
    CHECK(none.spent_us() < 100'000);
  }
  CHECK(hear(loop, fd) == "answer");
}

TEST_CASE("askers who say nothing make room for one who asks, one who waits does not", "[desk]") {
  Loop loop;
  Desk desk(loop);
  std::vector<Desk::Reply> waiting;
  REQUIRE(desk.open([&](const std::string&, Desk::Reply reply) { waiting.push_back(reply); }));
  std::vector<UniqueFd> all;
  for (int i = 0; i < 200; ++i) {
    all.push_back(asker());
    come(all.back());
    if (i == 3) ask(all.back());
    run_for(loop, std::chrono::milliseconds(0));
  }
  const UniqueFd last = asker();
  come(last);
  ask(last);
  for (int i = 0; i < 1000 && waiting.size() < 2; ++i) run_for(loop, std::chrono::milliseconds(1));
  REQUIRE(waiting.size() == 2);
  for (const Desk::Reply& reply : waiting) reply("answer");
  CHECK(hear(loop, all[3]) == "answer");
  CHECK(hear(loop, last) == "answer");
}
