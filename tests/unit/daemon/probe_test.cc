// Probes of prun --check: bytes and packets arrive, strangers get nothing.
#include "daemon/probe.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <csignal>
#include <cstring>
#include <functional>
#include <vector>

#include "catch.h"
#include "daemon/background.h"

using namespace tutti;
using namespace tutti::launch;
using namespace tutti::launch::daemon;

namespace {

const std::string kToken(kTokenBytes, 't');

// Sends from a child, as the daemon does, while the listener's loop runs.
control::Probed probe_from_child(control::Loop& loop, const control::Probe& wish) {
  Background background(loop);
  control::Probed answer;
  background.run([wish] { return control::encode(send_probes(wish)); }, std::chrono::seconds{50},
                 [&](const Result<std::string>& bytes) {
                   if (auto message = control::decode(*bytes))
                     answer = std::get<control::Probed>(*message);
                   loop.stop();
                 });
  loop.run();
  return answer;
}

control::Probe to_myself(int port, const std::string& token) {
  control::Probe wish;
  wish.to = 7;
  wish.token = token;
  wish.port = port;
  wish.mine = wish.theirs = {{"lo", "127.0.0.1", 1500}};
  return wish;
}

}  // namespace

TEST_CASE("a probe says who answers, the longest packet and the rate", "[daemon][check]") {
  control::Loop loop;
  ProbeListener listener(loop);
  const int port = listener.listen(7, kToken);
  REQUIRE(port > 0);
  const control::Probed answer = probe_from_child(loop, to_myself(port, kToken));
  REQUIRE(answer.pairs.size() == 1);
  CHECK(answer.pairs[0].problem == "");
  CHECK(answer.pairs[0].reached == 7);
  CHECK(answer.pairs[0].mtu == 1500);
  CHECK(answer.pairs[0].bytes_per_s > 0);
}

TEST_CASE("a stranger without the token is dropped", "[daemon][check]") {
  control::Loop loop;
  ProbeListener listener(loop);
  const int port = listener.listen(7, kToken);
  const control::Probed answer =
      probe_from_child(loop, to_myself(port, std::string(kTokenBytes, 's')));
  REQUIRE(answer.pairs.size() == 1);
  CHECK(answer.pairs[0].problem == "connects, but somebody else answers");
  CHECK(answer.pairs[0].reached == -1);
}

TEST_CASE("who says nothing, or drips, does not stay", "[daemon][check]") {
  control::Loop loop;
  ProbeListener listener(loop);
  const int port = listener.listen(7, kToken);
  std::vector<UniqueFd> callers;
  for (int i = 0; i < 2; ++i) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
    callers.push_back(std::move(fd));
  }
  std::size_t gone = 0;
  for (const UniqueFd& each : callers)
    loop.on_readable(each.get(), [&, fd = each.get()] {
      loop.forget(fd);
      if (++gone == callers.size()) loop.stop();
    });
  std::function<void()> drip = [&] {
    (void)!::send(callers[1].get(), "t", 1, MSG_NOSIGNAL);
    loop.after(std::chrono::milliseconds{1500}, drip);
  };
  drip();
  const auto limit = loop.after(std::chrono::seconds{60}, [&] { loop.stop(); });
  loop.run();
  loop.cancel(limit);
  CHECK(gone == callers.size());
}

TEST_CASE("nobody listens: the reason is the system's", "[daemon][check]") {
  control::Loop loop;
  int port = 0;
  {
    ProbeListener listener(loop);
    port = listener.listen(7, kToken);
  }
  const control::Probed answer = probe_from_child(loop, to_myself(port, kToken));
  REQUIRE(answer.pairs.size() == 1);
  CHECK(answer.pairs[0].problem == std::strerror(ECONNREFUSED));
}

TEST_CASE("work that gives no answer says why", "[daemon][check]") {
  const auto why = [](std::function<std::string()> work, std::chrono::milliseconds limit) {
    control::Loop loop;
    Background background(loop);
    std::string said = "nothing yet";
    background.run(std::move(work), limit, [&](const Result<std::string>& answer) {
      said = answer ? *answer : answer.error().text;
      loop.stop();
    });
    loop.run();
    return said;
  };
  const auto never = [] {
    for (;;) ::pause();
    return std::string();
  };
  CHECK(why(never, std::chrono::milliseconds{1020}) == "it took longer than 1 s");
  const auto killed = [] { return std::to_string(::raise(SIGKILL)); };
  CHECK(why(killed, std::chrono::minutes{5}) == "the process that was to do it was killed");
  CHECK(why([] { return std::string("done"); }, std::chrono::minutes{5}) == "done");
}
