// The joining host's side of a meeting, and what both sides share.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sodium.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/clock.h"
#include "base/hex.h"
#include "base/own_end.h"
#include "base/printable.h"
#include "base/text.h"
#include "control/terminal.h"
#include "control/whose.h"
#include "spawn/meet.h"
#include "spawn/meet_words.h"

namespace tutti::launch::spawn {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::string numeric(const sockaddr_storage& address, socklen_t length) {
  std::array<char, NI_MAXHOST> name{};
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, name.data(), name.size(),
                    nullptr, 0, NI_NUMERICHOST) != 0)
    return "";
  const std::string text = name.data();
  return text.starts_with("::ffff:") ? text.substr(7) : text;
}

// Connected, or why not.
Result<UniqueFd> connect_to(const HostAndPort& where) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(where.port);
  if (const int error = ::getaddrinfo(where.address.c_str(), port.c_str(), &hints, &found);
      error != 0)
    return fail(Code::other, ::gai_strerror(error));
  std::string problem = "no address";
  UniqueFd fd;
  for (const addrinfo* one = found; one != nullptr && !fd.is_open(); one = one->ai_next) {
    UniqueFd each(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!each.is_open()) {
      problem = std::strerror(errno);
      continue;
    }
    const timeval limit{5, 0};
    ::setsockopt(each.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (::connect(each.get(), one->ai_addr, one->ai_addrlen) != 0)
      problem = std::strerror(errno);
    else if (reaches_itself(each.get()))
      problem = std::strerror(ECONNREFUSED);
    else
      fd = std::move(each);
  }
  ::freeaddrinfo(found);
  if (!fd.is_open()) return fail(Code::other, problem);
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

// One line within 10 s; never more than it, so that the channel's bytes stay.
Result<std::string> read_line(int fd) {
  std::string line;
  const std::int64_t deadline = now_ns() + 10 * kSecond;
  while (line.size() < 4096) {
    pollfd look{fd, POLLIN, 0};
    const std::int64_t left_ms = (deadline - now_ns()) / 1'000'000;
    if (left_ms <= 0 || ::poll(&look, 1, static_cast<int>(left_ms)) <= 0)
      return fail(Code::other, "nobody answers in Tutti's words there");
    char c = 0;
    if (::read(fd, &c, 1) <= 0) return fail(Code::other, "the connection was closed");
    if (c == '\n') return line;
    line += c;
  }
  return fail(Code::other, "something else listens there");
}

Result<void> say(int fd, const std::string& line) {
  const std::string whole = line + "\n";
  if (::send(fd, whole.data(), whole.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(whole.size()))
    return {};
  return fail(Code::other, std::strerror(errno));
}

// What follows the word in an answer. Errors: it was refused, or that is not our language.
Result<std::string> answer_of(int fd, std::string_view word) {
  TUTTI_TRY(line, read_line(fd));
  if (line.starts_with(std::string(kRefusedWord) + " "))
    return fail(Code::access, "refused: " + text::printable(line.substr(kRefusedWord.size() + 1)));
  if (!line.starts_with(std::string(word) + " "))
    return fail(Code::other, "something else listens there");
  return line;
}

Result<void> try_once(const HostAndPort& where, const MeetingKey& key, JoiningHost* self) {
  TUTTI_TRY(fd, connect_to(where));
  secure::Exchange exchange(secure::Side::caller, key.secret);
  const std::string join = std::string(kJoinWord) + " " + secure::text_of(exchange.own_public()) +
                           " " + mode_of(key) + " " + control::version() + " " + self->id + " " +
                           std::to_string(self->slots) + " " + std::to_string(self->node_rank) +
                           " " + self->name;
  TUTTI_DO(say(fd.get(), join));
  TUTTI_TRY(meet, answer_of(fd.get(), kMeetWord));
  const auto words = text::split(meet, ' ');
  const auto theirs = words.size() == 4 ? secure::key_of(words[2]) : std::nullopt;
  if (!theirs) return fail(Code::other, "something else listens there");
  if (words[3] != mode_of(key)) return fail(Code::access, "one of both has a key, the other none");
  // Without a key nothing else says who listens there.
  const auto whose = key.is_open ? control::whose_end(fd.get()) : control::Whose::far;
  if (whose == control::Whose::others)
    return fail(Code::access, "another user of this machine listens there");
  if (whose == control::Whose::gone) return fail(Code::other, "the connection was closed");
  if (!exchange.agree(*theirs, bytes_of(said_by_both(key, join, meet))))
    return fail(Code::access, "who listens there has no public key");
  TUTTI_DO(say(fd.get(), std::string(kProofWord) + " " + secure::text_of(exchange.proof())));
  TUTTI_TRY(welcome, answer_of(fd.get(), kWelcomeWord));
  const auto proof = secure::key_of(welcome.substr(kWelcomeWord.size() + 1));
  if (!proof || !exchange.is_proof(*proof))
    return fail(Code::access, "who listens there does not know the key");
  self->stream = std::make_unique<secure::RecordStream>(exchange.keys());
  self->channel = std::move(fd);
  return {};
}

}  // namespace

std::string said_by_both(const MeetingKey& key, const std::string& join, const std::string& meet) {
  return join + "\n" + meet + "\n" + key.job;
}

std::string fresh_id() {
  std::array<unsigned char, 16> bytes{};
  ::randombytes_buf(bytes.data(), bytes.size());
  return text::hex(bytes.data(), bytes.size());
}

std::string own_address(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  return ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0
             ? numeric(address, length)
             : "";
}

std::string peer_address(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  return ::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0
             ? numeric(address, length)
             : "";
}

Result<HostAndPort> parse_host_and_port(const std::string& text, int port) {
  HostAndPort at{text, port};
  const auto colon = text.rfind(':');
  const bool bare_v6 = colon != std::string::npos && text.find(':') != colon &&
                       text.back() != ']' && text.front() != '[';
  const auto whole = text::parse_int(text);
  if (whole) {
    at = {"", static_cast<int>(*whole)};
  } else if (colon != std::string::npos && !bare_v6 && text.back() != ']') {
    const auto number = text::parse_int(text.substr(colon + 1));
    if (!number || *number < 0 || *number > 65535)
      return fail(Code::arg, "'" + text + "' is not ADDRESS:PORT");
    at = {text.substr(0, colon), static_cast<int>(*number)};
  }
  if (at.address.starts_with('[') && at.address.ends_with(']'))
    at.address = at.address.substr(1, at.address.size() - 2);
  if (at.port < 0 || at.port > 65535) return fail(Code::arg, "'" + text + "' is not a port");
  return at;
}

Result<void> go_to_meeting(const HostAndPort& where, const MeetingKey& key, double patience_s,
                           JoiningHost* self) {
  if (::sodium_init() < 0) return fail(Code::other, "libsodium does not start");
  if (self->id.empty()) self->id = fresh_id();
  const std::int64_t begin = now_ns();
  const std::string place = where.address + ":" + std::to_string(where.port);
  bool said = false;
  for (;;) {
    const auto met = try_once(where, key, self);
    if (met) return {};
    const std::string why = met.error().text;
    if (met.error().code == Code::access)
      return fail(Code::access, "cannot join the job at " + place + ": " + why);
    const std::int64_t waited = now_ns() - begin;
    if (static_cast<double>(waited) > patience_s * kSecond)
      return fail(Code::other, "cannot join the job at " + place + " within " +
                                   std::to_string(static_cast<long>(patience_s)) + " s: " + why);
    if (!said && waited > 3 * kSecond) {
      std::fputs(control::own_line("waiting for the job at " + place + " (" + why + ")").c_str(),
                 stderr);
      said = true;
    }
    const timespec moment{0, 200'000'000};
    ::nanosleep(&moment, nullptr);
  }
}

}  // namespace tutti::launch::spawn
