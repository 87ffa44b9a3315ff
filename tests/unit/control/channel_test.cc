// Channels and the loop, on real descriptors in one process.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>

#include "catch.h"
#include "control/control.h"

namespace tutti::launch::control {
namespace {
using namespace std::chrono_literals;

struct Pair {
  enum class Sealed { no, yes };
  explicit Pair(Sealed sealed = Sealed::no, const std::string& already = {}) {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    ChannelEnds of_a{UniqueFd(ends[0]), UniqueFd(::dup(ends[0]))};
    ChannelEnds of_b{UniqueFd(ends[1]), UniqueFd(::dup(ends[1])), already};
    if (sealed == Sealed::yes) {
      secure::Key there{}, back{};
      there.fill(1);
      back.fill(2);
      of_a.stream = std::make_unique<secure::RecordStream>(secure::SessionKeys{there, back});
      of_b.stream = std::make_unique<secure::RecordStream>(secure::SessionKeys{back, there});
    }
    wire = of_a.out.get();
    a = std::make_unique<StartupChannel>(loop, std::move(of_a));
    b = std::make_unique<StartupChannel>(loop, std::move(of_b));
  }
  int wire = -1;  // what is written here comes to b as if from the network
  Loop loop;
  std::unique_ptr<StartupChannel> a, b;
};

TEST_CASE("messages cross a channel in order, many and long", "[control]") {
  Pair pair(GENERATE(Pair::Sealed::no, Pair::Sealed::yes));
  int got = 0;
  pair.b->open(
      [&](Frame&& one) {
        const auto message = decode(one.body);
        REQUIRE(message);
        CHECK(std::get<Output>(*message).rank == got);
        CHECK(one.host == got % 7);
        if (++got == 2000) pair.loop.stop();
      },
      [&](const std::string& why) { FAIL(why); });
  pair.a->open([](Frame&&) {}, [](const std::string&) {});
  for (int i = 0; i < 2000; ++i)
    pair.a->send(i % 7, Output{i, 1, std::string(static_cast<std::size_t>(i), 'x')});
  CHECK(pair.a->queued_bytes() > 0);
  pair.loop.run();
  CHECK(got == 2000);
}

TEST_CASE("a sealed channel says who changed or added a byte, and believes nothing more",
          "[control]") {
  Pair pair(Pair::Sealed::yes);
  int got = 0;
  std::string reason;
  pair.b->open([&](Frame&&) { ++got; },
               [&](const std::string& why) {
                 reason = why;
                 pair.loop.stop();
               });
  pair.a->open([](Frame&&) {}, [](const std::string&) {});
  pair.a->send(0, Heartbeat{});
  const std::string added = frame(0, encode(Heartbeat{})) + std::string(64, 'x');
  REQUIRE(::write(pair.wire, added.data(), added.size()) > 0);
  pair.a->send(0, Heartbeat{});
  pair.loop.run();
  CHECK(got <= 1);
  CHECK(reason.find("not what was sent") != std::string::npos);
}

TEST_CASE("the end of the peer is told once, after its last words", "[control]") {
  Pair pair;
  std::vector<std::string> seen;
  pair.b->open([&](Frame&&) { seen.push_back("message"); },
               [&](const std::string& why) {
                 seen.push_back(why);
                 pair.loop.stop();
               });
  pair.a->open([](Frame&&) {}, [](const std::string&) {});
  pair.a->send(0, Bye{});
  pair.a.reset();
  pair.b->send(0, Heartbeat{});
  pair.loop.run();
  CHECK(seen == std::vector<std::string>{"message", "closed"});
}

TEST_CASE("a message longer than a frame may be is not sent, and the sender says so", "[control]") {
  Pair pair(GENERATE(Pair::Sealed::no, Pair::Sealed::yes));
  int got = 0;
  std::string reason;
  pair.b->open([&](Frame&&) { ++got; }, [&](const std::string&) { pair.loop.stop(); });
  pair.a->open([](Frame&&) {}, [&](const std::string& why) { reason = why; });
  const std::string long_one(kMaxFrameBytes + 1, 'x');
  SECTION("made of a message") {
    pair.a->send(0, Note{long_one});
  }
  SECTION("passed on") {
    pair.a->send_raw(0, long_one);
  }
  pair.loop.run();
  CHECK(got == 0);
  CHECK(reason.find("64 MiB are the most") != std::string::npos);
}

TEST_CASE("bytes that are no frames close the channel with a reason", "[control]") {
  Pair pair(Pair::Sealed::no, "GET / HTTP/1.1\r\nHost: here\r\n\r\n");
  std::string reason;
  pair.b->open([](Frame&&) { FAIL("no message was sent"); },
               [&](const std::string& why) {
                 reason = why;
                 pair.loop.stop();
               });
  pair.loop.run();
  CHECK(reason.find("a frame of") != std::string::npos);
}

TEST_CASE("a silent peer is noticed by its missing heartbeats", "[control]") {
  Pair pair;
  std::string reason;
  pair.b->open([](Frame&&) {},
               [&](const std::string& why) {
                 reason = why;
                 pair.loop.stop();
               });
  pair.b->keep_alive(10ms, 100ms);
  pair.loop.run();
  CHECK(reason.find("silent") != std::string::npos);
}

TEST_CASE("a channel that is held reads nothing, which is no silence, and goes on", "[control]") {
  Pair pair;
  int got = 0;
  std::string reason;
  pair.b->open([&](Frame&&) { ++got; }, [&](const std::string& why) { reason = why; });
  pair.a->open([](Frame&&) {}, [](const std::string&) {});
  pair.b->keep_alive(10ms, 50ms);
  pair.b->hold(true);
  for (int i = 0; i < 100; ++i) pair.a->send(0, Output{i, 1, std::string(100'000, 'x')});
  pair.loop.after(300ms, [&] { pair.loop.stop(); });
  pair.loop.run();
  CHECK((got == 0 && reason.empty()));
  CHECK(pair.a->queued_bytes() > 5'000'000);
  pair.b->keep_alive(0ms, 50ms);
  pair.b->hold(false);
  pair.a->on_drained([&] { pair.loop.post([&] { pair.loop.stop(); }); });
  pair.loop.run();
  while (got < 100 && reason.empty()) {
    pair.loop.after(10ms, [&] { pair.loop.stop(); });
    pair.loop.run();
  }
  CHECK(got == 100);
}

TEST_CASE("a regular file is always ready and stays blocking for its other users", "[control]") {
  Loop loop;
  std::FILE* file = std::tmpfile();
  std::fputs("text", file);
  std::rewind(file);
  const int fd = ::fileno(file);
  std::string got;
  loop.on_readable(fd, [&] {
    char buffer[2];
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n > 0) return static_cast<void>(got.append(buffer, static_cast<std::size_t>(n)));
    loop.forget(fd);
    loop.stop();
  });
  loop.run();
  CHECK(got == "text");
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  loop.on_readable(ends[0], [&] { loop.stop(); });
  loop.post([&] { CHECK(::write(ends[1], "x", 1) == 1); });
  loop.run();
  CHECK((::fcntl(ends[0], F_GETFL) & O_NONBLOCK) == 0);
  loop.forget(ends[0]);
  ::close(ends[0]);
  ::close(ends[1]);
  std::fclose(file);
}

TEST_CASE("signals and timers arrive in the loop; a cancelled timer does not", "[control]") {
  Loop loop;
  std::vector<int> seen;
  loop.on_signals({SIGUSR1}, [&](int signal) {
    seen.push_back(signal);
    loop.stop();
  });
  const auto never = loop.after(1ms, [&] { seen.push_back(-1); });
  loop.cancel(never);
  loop.after(5ms, [] { ::kill(::getpid(), SIGUSR1); });
  loop.run();
  CHECK(seen == std::vector<int>{SIGUSR1});
}

}  // namespace
}  // namespace tutti::launch::control
