// Doors that strangers reach: where hosts come to join, where pruns are asked, where probes arrive.
// Everybody says nonsense, in pieces, and goes. Nobody gets in, and the door works afterwards.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>

#include "catch.h"
#include "daemon/probe.h"
#include "job/desk.h"
#include "job/job.h"
#include "mutate.h"
#include "spawn/meet.h"

using namespace tutti;                   // NOLINT(google-build-using-namespace): a test
using namespace tutti::launch::control;  // NOLINT(google-build-using-namespace): a test
using namespace tutti::launch::daemon;   // NOLINT(google-build-using-namespace): a test
using namespace tutti::launch::job;      // NOLINT(google-build-using-namespace): a test
using namespace tutti::launch::spawn;    // NOLINT(google-build-using-namespace): a test

namespace {

UniqueFd visit(int port, int kind) {
  UniqueFd fd(::socket(AF_INET, kind | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
  return fd;
}

UniqueFd ask() {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const std::string name = kDeskName + std::to_string(::getpid());
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  name.copy(to.sun_path + 1, sizeof to.sun_path - 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  REQUIRE(::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), length) == 0);
  return fd;
}

// What is ready is served; what is not does not hold us up.
void serve(Loop& loop) {
  loop.after(std::chrono::milliseconds(0), [&loop] { loop.post([&loop] { loop.stop(); }); });
  loop.run();
}

// Says it in up to three pieces, and goes, politely or not.
void say(fuzz::Random& random, Loop& loop, const UniqueFd& fd, const std::string& text) {
  serve(loop);
  for (std::size_t at = 0, pieces = 3; at < text.size(); --pieces) {
    const std::size_t left = text.size() - at;
    const std::size_t piece = pieces == 1 ? left : std::min(left, random.below(left) + 1);
    if (::send(fd.get(), text.data() + at, piece, MSG_NOSIGNAL | MSG_DONTWAIT) <= 0) return;
    at += piece;
    serve(loop);
  }
  const linger at_once{1, 0};
  if (random.below(3) == 0) ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

}  // namespace

TEST_CASE("nonsense at a meeting lets nobody in", "[fuzz][meeting]") {
  auto seeds = fuzz::corpus("meeting");
  for (std::string& seed : seeds)
    if (const auto at = seed.find("VERSION"); at != std::string::npos)
      seed.replace(at, 7, version());
  Loop loop;
  MeetingKey key;
  key.secret.fill(7);  // that nobody here knows
  const auto meeting = HostMeeting::open({"127.0.0.1", 0}, key);
  REQUIRE(meeting);
  (*meeting)->attach(loop, [] {});
  fuzz::Rounds rounds("meeting", 2000);
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    const UniqueFd fd = visit((*meeting)->port(), SOCK_STREAM);
    std::string text =
        random.below(2) == 0 ? fuzz::mutate(random, seeds, " \n0a-") : fuzz::bend(random, seeds);
    if (random.below(20) == 0) text += std::string(random.below(20000), 'x');
    say(random, loop, fd, text);
    serve(loop);
    REQUIRE((*meeting)->waiting().empty());
  }
}

TEST_CASE("questions of nonsense at the desk are answered or dropped", "[fuzz][desk]") {
  const auto seeds = fuzz::corpus("desk");
  Loop loop;
  Desk desk(loop);
  std::size_t longest = 0;
  desk.open([&longest](const std::string& question, const Desk::Reply& reply) {
    longest = std::max(longest, question.size());
    reply("answer");
  });
  fuzz::Rounds rounds("desk", 2000);
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    const UniqueFd fd = ask();
    std::string text = fuzz::mutate(random, seeds, "\n 0");
    if (random.below(20) == 0) text += std::string(random.below(5000), 'x');
    say(random, loop, fd, text);
    serve(loop);
  }
  CHECK(longest < 1024);
  const UniqueFd fd = ask();
  fuzz::Random random(1);
  say(random, loop, fd, "ps\n");
  for (int i = 0; i < 5; ++i) serve(loop);
  char answer[16] = "";
  CHECK(::recv(fd.get(), answer, sizeof answer, 0) == 6);
}

TEST_CASE("nonsense at the door of probes is dropped", "[fuzz][probes]") {
  Loop loop;
  ProbeListener listener(loop);
  const int port = listener.listen(0, std::string(kTokenBytes, 't'));
  REQUIRE(port > 0);
  const std::vector<std::string> seeds{std::string(kTokenBytes, 't'),
                                       std::string(kTokenBytes, 't') + "12345678padding",
                                       std::string(kTokenBytes, 'u')};
  fuzz::Rounds rounds("probes", 2000);
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    const UniqueFd fd = visit(port, random.below(2) == 0 ? SOCK_STREAM : SOCK_DGRAM);
    say(random, loop, fd, fuzz::bend(random, seeds));
    serve(loop);
  }
}
