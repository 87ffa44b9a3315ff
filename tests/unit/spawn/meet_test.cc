// How many may wait at a meeting, and how much they may say before they are taken.
#include "spawn/meet.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <thread>
#include <vector>

#include "catch.h"
#include "control/control.h"

namespace {

using namespace tutti;
using launch::spawn::HostAndPort;
using launch::spawn::HostMeeting;
using launch::spawn::JoiningHost;
using launch::spawn::MeetingKey;

constexpr int kSeats = 256;
constexpr std::size_t kMostOfStranger = 64U << 10;

MeetingKey no_key() {
  return {.secret = {}, .is_open = true, .job = "a job"};
}

MeetingKey with_key() {
  return {.secret = {7}, .is_open = false, .job = "a job"};
}

// The meeting side in this thread until `guests` has ended in its own.
void meet(const MeetingKey& key, const std::function<void(const HostAndPort&)>& guests,
          const std::function<void(HostMeeting&)>& judge) {
  launch::control::Loop loop;
  auto meeting = HostMeeting::open({"127.0.0.1", 0}, key);
  REQUIRE(meeting);
  (*meeting)->attach(loop, [] {});
  std::thread others([&] {
    guests({"127.0.0.1", (*meeting)->port()});
    loop.post([&loop] { loop.stop(); });
  });
  loop.run();
  others.join();
  judge(**meeting);
}

JoiningHost come(const HostAndPort& where, const MeetingKey& key) {
  JoiningHost self;
  self.name = "guest";
  if (!launch::spawn::go_to_meeting(where, key, 60, &self)) self.channel.reset();
  return self;
}

// Waits until the meeting has closed the connection; what it says before that is left.
bool was_sent_away(int fd) {
  std::array<char, 4096> buffer;
  for (;;) {
    pollfd one{fd, POLLIN, 0};
    if (::poll(&one, 1, 60'000) != 1) return false;
    if (::recv(fd, buffer.data(), buffer.size(), 0) <= 0) return true;
  }
}

// Sealed as a joining host's own words are. False once the meeting has closed the connection.
bool talk(JoiningHost& self, std::size_t bytes) {
  std::string sealed;
  self.stream->seal(std::string(bytes, 'x'), sealed);
  std::size_t sent = 0;
  while (sent < sealed.size()) {
    const ssize_t now =
        ::send(self.channel.get(), sealed.data() + sent, sealed.size() - sent, MSG_NOSIGNAL);
    if (now <= 0) return false;
    sent += static_cast<std::size_t>(now);
  }
  return true;
}

// Who says all the words and knows no key.
UniqueFd guess(const HostAndPort& where) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(static_cast<std::uint16_t>(where.port));
  REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
  const secure::Exchange own(secure::Side::caller, {8});
  const auto say = [&fd](const std::string& line) {
    REQUIRE(::send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL) > 0);
  };
  say("TUTTI join " + secure::text_of(own.own_public()) + " key " + launch::control::version() +
      " id 1 -1 guest\n");
  std::array<char, 4096> answer;
  REQUIRE(::recv(fd.get(), answer.data(), answer.size(), 0) > 0);
  say("TUTTI proof " + secure::text_of({}) + "\n");
  return fd;
}

}  // namespace

TEST_CASE("those who guess wrongly keep nobody out while they wait for a no", "[spawn]") {
  bool is_in = false;
  meet(
      with_key(),
      [&](const HostAndPort& where) {
        std::vector<UniqueFd> guesses;
        for (int i = 0; i < kSeats; ++i) guesses.push_back(guess(where));
        JoiningHost self;
        self.name = "guest";
        is_in = launch::spawn::go_to_meeting(where, with_key(), 0, &self).has_value();  // at once
      },
      [](HostMeeting&) {});
  CHECK(is_in);
}

TEST_CASE("without a key so many wait at most, and who comes later moves none of them", "[spawn]") {
  std::vector<JoiningHost> seated;
  bool is_late_one_away = false;
  meet(
      no_key(),
      [&](const HostAndPort& where) {
        for (int i = 0; i < kSeats; ++i) seated.push_back(come(where, no_key()));
        const JoiningHost late = come(where, no_key());
        is_late_one_away = late.channel.is_open() && was_sent_away(late.channel.get());
      },
      [&](HostMeeting& meeting) { CHECK(meeting.waiting().size() == kSeats); });
  for (const JoiningHost& one : seated) REQUIRE(one.channel.is_open());
  CHECK(is_late_one_away);
}

TEST_CASE("a stranger's words are kept up to a bound, a proved host's up to a larger one",
          "[spawn]") {
  for (const bool is_open : {true, false}) {
    const MeetingKey key = is_open ? no_key() : with_key();
    JoiningHost chatty, brief;
    bool is_chatty_away = false;
    meet(
        key,
        [&](const HostAndPort& where) {
          brief = come(where, key);
          talk(brief, kMostOfStranger / 2);
          chatty = come(where, key);
          const std::size_t most = is_open ? kMostOfStranger : 1U << 20;
          while (talk(chatty, most / 4)) {
          }
          is_chatty_away = was_sent_away(chatty.channel.get());
        },
        [&](HostMeeting& meeting) {
          const auto& waiting = meeting.waiting();
          const auto is_there = [&](const JoiningHost& who) {
            return std::any_of(waiting.begin(), waiting.end(),
                               [&](const auto& one) { return one->id == who.id; });
          };
          CHECK(is_there(brief));
          CHECK_FALSE(is_there(chatty));
        });
    CHECK(is_chatty_away);
  }
}
