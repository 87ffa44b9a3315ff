// Ranks that meet by torchrun's variables, with strangers among them: ranks are threads.
#include "wireup/reception.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "catch.h"
#include "no_descriptors.h"
#include "wireup/board.h"

namespace tutti::wireup {
namespace {

JobRun run_of(const std::string& name, int rank, int size, bool with_key) {
  JobRun run;
  run.name = name + " " + std::to_string(::getpid());
  run.rank = rank;
  run.size = size;
  if (with_key) run.secret.emplace().fill(7);
  return run;
}

// A line that says each thing, and what it hears.
void echo(BoardConnection& line, const std::string& text) {
  line.put(text);
  const auto heard = line.wait_for_text(1U << 20, now_ns() + 20'000'000'000);
  REQUIRE(heard);
  CHECK(*heard == text);
}

bool connect_to_port(int fd, int port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<std::uint16_t>(port));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
}

TEST_CASE("who knows a run and not its key does not know its ports", "[wireup]") {
  JobRun run = run_of("ports", 0, 2, true), same = run, other = run;
  other.secret->fill(8);
  int alike = 0;
  for (int index = 0; index < kBoardPorts; ++index) {
    CHECK(board_port(run, index) == board_port(same, index));
    alike += board_port(run, index) == board_port(other, index) ? 1 : 0;
  }
  CHECK(alike < kBoardPorts / 2);
}

// The first that listens: another's connection may have taken a port.
UniqueFd connect_to_board(const JobRun& run) {
  for (int index = 0; index < kBoardPorts; ++index) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect_to_port(fd.get(), board_port(run, index))) return fd;
  }
  return {};
}

int port_of(const UniqueFd& connection) {
  sockaddr_in at{};
  socklen_t length = sizeof at;
  REQUIRE(::getpeername(connection.get(), reinterpret_cast<sockaddr*>(&at), &length) == 0);
  return ntohs(at.sin_port);
}

UniqueFd connect_to_name(const JobRun& run) {
  for (const std::string& line : text::split(file_text("/proc/self/net/unix").value_or(""), '\n')) {
    const auto cut = line.rfind(" @" + board_name(run));
    if (cut == std::string::npos) continue;
    const std::string name = line.substr(cut + 2);
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path + 1, name.data(), name.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), length) == 0) return fd;
  }
  return {};
}

// Keeps trying until rank 0 listens.
template <class Connect>
UniqueFd visit(Connect&& connect) {
  const std::int64_t until = now_ns() + 20'000'000'000;
  for (;;) {
    UniqueFd fd = connect();
    if (fd.is_open() || now_ns() > until) return fd;
    ::usleep(2000);
  }
}

void say(const UniqueFd& fd, const std::string& bytes) {
  (void)!::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

std::string framed(const std::string& text) {
  const auto bytes = static_cast<std::uint32_t>(text.size());
  return std::string(reinterpret_cast<const char*>(&bytes), sizeof bytes) + text;
}

// Rank 0 with its others; `meanwhile` runs before they come.
template <class Meanwhile>
void meet(const std::string& name, bool with_key, int size, Meanwhile&& meanwhile) {
  std::vector<BoardConnection> members;
  std::string problem;
  std::thread master([&] {
    auto all = receive_ranks(run_of(name, 0, size, with_key));
    if (all)
      members = std::move(*all);
    else
      problem = all.error().text;
  });
  meanwhile();
  std::vector<BoardConnection> lines(static_cast<std::size_t>(size));
  std::vector<std::thread> others;
  for (int rank = 1; rank < size; ++rank)
    others.emplace_back([&, rank] {
      auto line = go_to_rank_0(run_of(name, rank, size, with_key), "127.0.0.1");
      if (line) lines[static_cast<std::size_t>(rank)] = std::move(*line);
    });
  for (std::thread& one : others) one.join();
  master.join();
  CHECK(problem.empty());
  REQUIRE(members.size() == static_cast<std::size_t>(size));
  for (std::size_t rank = 1; rank < members.size(); ++rank) {
    REQUIRE(lines[rank].is_open());
    const std::string text = "to rank " + std::to_string(rank) + std::string(300'000, 'x');
    std::thread back([&] {
      const auto heard = members[rank].wait_for_text(1U << 20, now_ns() + 20'000'000'000);
      members[rank].put(heard.value_or("nothing"));
      while (members[rank].has_queued() && members[rank].move()) ::usleep(100);
    });
    echo(lines[rank], text);
    back.join();
  }
  members.clear();  // rank 0 ends first: its port stays taken for a minute
}

TEST_CASE("ranks meet on one host, and between hosts with a key", "[wireup]") {
  const bool with_key = GENERATE(false, true);
  meet(with_key ? "plain-key" : "plain", with_key, 5, [] {});
}

TEST_CASE("more runs of one name than there are ports meet, one right after another", "[wireup]") {
  for (int i = 0; i < kBoardPorts + 2; ++i) meet("again", true, 2, [] {});
}

TEST_CASE("silence, noise, a trickle, too long a text and wrong claims end only their own visit",
          "[wireup]") {
  const bool with_key = GENERATE(false, true);
  const std::string name = with_key ? "noise-key" : "noise";
  std::vector<UniqueFd> visitors;
  const JobRun run = run_of(name, 1, 3, with_key);
  const auto connect = [&] { return with_key ? connect_to_board(run) : connect_to_name(run); };
  meet(name, with_key, 3, [&] {
    for (int i = 0; i < 40; ++i) visitors.push_back(visit(connect));
    REQUIRE(visitors.back().is_open());
    say(visitors[0], "GET / HTTP/1.0\r\n\r\n");
    say(visitors[1], std::string("\xff\xff\xff\x7f", 4) + "much");
    say(visitors[2], std::string("\x10\0\0\0", 4) + "a trickle");
    say(visitors[3], framed("0 - " + run.name));
    say(visitors[4], framed("99999999999999999999 - " + run.name));
    say(visitors[5], framed("-1 - " + run.name));
    say(visitors[6], framed("1 - another run"));
    say(visitors[7], framed(""));
    say(visitors[8], framed(std::string(4000, ' ')));
    visitors[9].reset();
    if (!with_key) return;
    say(visitors[10], framed("1 " + std::string(64, '0') + " " + run.name));
    say(visitors[11], framed("1 " + std::string(64, '7') + " " + run.name));
    say(visitors[11], framed(std::string(64, '7')));
  });
}

TEST_CASE("more silent visitors than there is room for keep nobody out", "[wireup]") {
  const JobRun run = run_of("crowd", 1, 2, true);
  std::vector<UniqueFd> visitors;
  meet("crowd", true, 2, [&] {
    for (int i = 0; i < 300; ++i) visitors.push_back(visit([&] { return connect_to_board(run); }));
    CHECK(visitors.back().is_open());
  });
}

TEST_CASE("who claimed a rank and left before the answer keeps nobody from it", "[wireup]") {
  const JobRun run = run_of("left", 1, 3, false);
  std::string problem;
  std::thread master([&] {
    const auto all = receive_ranks(run_of("left", 0, 3, false));
    if (!all) problem = all.error().text;
  });
  for (int i = 0; i < 3; ++i)
    say(visit([&] { return connect_to_name(run); }), framed("1 - " + run.name));
  const auto first = go_to_rank_0(run, "127.0.0.1");
  const auto second = go_to_rank_0(run_of("left", 2, 3, false), "127.0.0.1");
  master.join();
  CHECK((first && second));
  CHECK(problem.empty());
}

// Visitors who come and leave as fast as they can.
struct Storm {
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;

  void begin(const sockaddr_un& at, socklen_t length) {
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([this, at, length] {
        while (!is_over.load()) {
          const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
          if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), length) != 0) return;
        }
      });
  }
  ~Storm() {
    is_over.store(true);
    for (std::thread& one : threads) one.join();
  }
};

TEST_CASE("a storm of visitors who leave at once keeps nobody out", "[wireup]") {
  const JobRun run = run_of("storm", 1, 3, false);
  Storm storm;
  meet("storm", false, 3, [&] {
    const UniqueFd there = visit([&] { return connect_to_name(run); });
    sockaddr_un at{};
    socklen_t length = sizeof at;
    REQUIRE(::getpeername(there.get(), reinterpret_cast<sockaddr*>(&at), &length) == 0);
    storm.begin(at, length);
  });
}

TEST_CASE("rank 0 without descriptors rests until it has some, then seats the others", "[wireup]") {
  const JobRun run = run_of("full", 1, 2, true);
  meet("full", true, 2, [&] {
    // It listens; its first visitor has left again.
    const int port = port_of(visit([&] { return connect_to_board(run); }));
    std::vector<UniqueFd> visitors;
    for (int i = 0; i < 10; ++i)
      visitors.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ::usleep(300'000);
    const test::NoDescriptors none;
    for (const UniqueFd& each : visitors) CHECK(connect_to_port(each.get(), port));
    ::usleep(1'000'000);
    CHECK(none.spent_us() < 100'000);
  });
}

TEST_CASE("without the key nobody gets a seat", "[wireup]") {
  const JobRun run = run_of("guess", 1, 2, true);
  meet("guess", true, 2, [&] {
    JobRun guess = run;
    guess.secret->fill(8);
    const UniqueFd there = visit([&] { return connect_to_board(run); });
    BoardConnection line(UniqueFd(::dup(there.get())));
    secure::Exchange exchange(secure::Side::caller, *guess.secret);
    const std::string claim = "1 " + secure::text_of(exchange.own_public()) + " " + run.name;
    line.put(claim);
    const auto answer = line.wait_for_text(kLongestWord, now_ns() + 20'000'000'000);
    REQUIRE(answer);
    const std::string said = said_by_both(claim, *answer);
    REQUIRE(exchange.agree(*secure::key_of(*answer),
                           {reinterpret_cast<const std::byte*>(said.data()), said.size()}));
    line.put(secure::text_of(exchange.proof()));
    CHECK_FALSE(line.wait_for_text(kLongestWord, now_ns() + 20'000'000'000));
  });
}

TEST_CASE("the second of two that are the same rank is told, the first keeps its seat",
          "[wireup]") {
  const bool with_key = GENERATE(false, true);
  const std::string name = with_key ? "twice-key" : "twice";
  std::string problem;
  std::thread master([&] {
    const auto all = receive_ranks(run_of(name, 0, 3, with_key));
    if (!all) problem = all.error().text;
  });
  auto first = go_to_rank_0(run_of(name, 1, 3, with_key), "127.0.0.1");
  REQUIRE(first);
  const auto second = go_to_rank_0(run_of(name, 1, 3, with_key), "127.0.0.1");
  REQUIRE_FALSE(second);
  CHECK(second.error().text.find("two processes say that they are rank 1") == 0);
  CHECK(go_to_rank_0(run_of(name, 2, 3, with_key), "127.0.0.1"));
  master.join();
  CHECK(problem.empty());
}

TEST_CASE("several hosts without a key end at once, with the cure", "[wireup]") {
  const auto look = [](const std::string& local, const std::string& master) {
    return [=](const char* name) -> const char* {
      const std::string_view wanted = name;
      if (wanted == "RANK") return "1";
      if (wanted == "WORLD_SIZE") return "4";
      if (wanted == "LOCAL_WORLD_SIZE") return local.empty() ? nullptr : local.c_str();
      if (wanted == "MASTER_ADDR") return master.c_str();
      return wanted == "HOME" ? "/nonexistent" : nullptr;
    };
  };
  for (const auto& [local, master] : std::vector<std::pair<std::string, std::string>>{
           {"2", "127.0.0.1"}, {"2", "192.0.2.7"}, {"", "192.0.2.7"}, {"4", "192.0.2.7"}}) {
    const auto refused = open_socket_board(look(local, master));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().text.find("TUTTI_JOIN_KEY") != std::string::npos);
    CHECK(refused.error().text.find('\n') == std::string::npos);
  }
}

}  // namespace
}  // namespace tutti::wireup
