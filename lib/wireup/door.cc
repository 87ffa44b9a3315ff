// A rank whose inherited descriptors were closed on the way (Python's subprocess, sudo, a
// container) gets them again from its daemon. The key decides, not the user: sudo and containers
// change that.
#include "wireup/door.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/pass_fd.h"
#include "base/printable.h"
#include "wireup/protocol.h"
#include "wireup/share.h"

namespace tutti::wireup {
namespace {

constexpr int kDoorTries = 5;

// Why this process asks.
std::string why(DoorWish wish) {
  if (wish == DoorWish::next) return "this rank has run an MPI program before";
  if (wish == DoorWish::join) return "the descriptors that prun passed are closed in this process";
  return "files are shared by way of the daemon";
}

// Two hexadecimal digits a byte: the rank's secret, then the daemon's.
std::optional<DoorSecrets> secrets_in(const std::string& text) {
  DoorSecrets secrets{};
  if (text.size() != 4 * kDoorSecretBytes) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return std::nullopt;
    const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
    auto& half = i < 2 * kDoorSecretBytes ? secrets.own : secrets.theirs;
    std::uint8_t& byte = half[i / 2 % kDoorSecretBytes];
    byte = static_cast<std::uint8_t>(i % 2 == 0 ? digit << 4 : byte | digit);
  }
  return secrets;
}

// Nobody answers there. `why_not`: what is known of it.
tl::unexpected<Error> unanswered(const std::string& path, DoorWish wish,
                                 const std::string& why_not) {
  return fail(Code::other, why(wish) + ", and its daemon's " + path +
                               " does not answer: " + why_not + "; has the job ended?");
}

// What is wrong with a connection; that it waited in vain is an error, too.
std::string words_of(int error, int patience_s) {
  if (error == EAGAIN) return "nothing came within " + std::to_string(patience_s) + " s";
  return std::strerror(error);
}

// Why the door cannot be reached, and what to try.
tl::unexpected<Error> unreachable(const DoorWay& way, DoorWish wish, int error) {
  const std::string& path = way.path;
  const std::string folder = path.substr(0, path.rfind('/'));
  const std::string what = why(wish) + ", and its daemon's " + path;
  if (error == ENOENT || error == ENOTDIR)
    return fail(Code::other, what + " is not visible here; bind " + folder +
                                 " into the container (podman run -v " + folder + ":" + folder +
                                 ", bwrap --bind " + folder + " " + folder + ")");
  if (error == EACCES || error == EPERM)
    return fail(Code::other, what +
                                 " may not be reached by this user; let it search the folders "
                                 "above " +
                                 folder + " (TMPDIR of prun chooses another)");
  return unanswered(path, wish, words_of(error, way.patience_s));
}

// The connection waits this long for anything; 0: for ever.
void limit(int fd, int seconds) {
  const timeval span{seconds, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &span, sizeof span);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &span, sizeof span);
}

// Who asks, with the key of its environment. Not open: errno says why.
struct Visit {
  UniqueFd line;
  DoorSecrets secrets;
};
Result<Visit> visit(const DoorWay& way, DoorWish wish) {
  const auto secrets = secrets_in(way.key);
  const std::string& path = way.path;
  sockaddr_un address{};
  if (!secrets || path.size() >= sizeof address.sun_path)
    return fail(Code::other, why(wish) + ", and " + kDoorVariable + " or " + kDoorKeyVariable +
                                 " is not as prun set it; a wrapper must keep both");
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  Visit made{UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)), *secrets};
  if (!made.line.is_open()) return unreachable(way, wish, errno);
  limit(made.line.get(), way.patience_s);
  if (::connect(made.line.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return unreachable(way, wish, errno);
  return made;
}

// Code::pending: the connection ended before an answer.
tl::unexpected<Error> broken(int error, int patience_s) {
  const bool has_ended = error == EPIPE || error == ECONNRESET;
  return has_ended
             ? fail(Code::pending,
                    "who answers there hung up: no rank of this job is known there by this key")
             : fail(Code::other, words_of(error, patience_s));
}

// What whoever answers there says, once it has proved itself. Errors: Code::access, it has not;
// else what is wrong with the connection.
Result<DoorTold> hear_answer(UniqueFd line, const DoorSecrets& secrets, int patience_s,
                             DoorAnswer* answer) {
  std::array<char, sizeof(DoorAnswer) + kDoorMostText> room{};
  DoorTold told;
  const ssize_t got = receive_with_fd(line.get(), room.data(), room.size(), &told.fd);
  if (got <= 0) return broken(got < 0 ? errno : ECONNRESET, patience_s);
  const auto bytes = static_cast<std::size_t>(got);
  if (bytes >= sizeof *answer) std::memcpy(answer, room.data(), sizeof *answer);
  // Only the other side knows the second half of the key: nobody else's file is mapped.
  if (bytes < sizeof *answer || answer->magic != kDoorMagic ||
      answer->bytes != bytes - sizeof *answer ||
      !is_same_secret(answer->secret, secrets.theirs.data(), kDoorSecretBytes))
    return fail(Code::access, "whoever answers there is not who shares");
  told.body.assign(room.data() + sizeof *answer, bytes - sizeof *answer);
  told.line = std::move(line);
  return told;
}

bool say(int fd, DoorAsk ask, const DoorSecrets& secrets, std::string_view body, int along) {
  ask.bytes = static_cast<std::uint32_t>(body.size());
  std::memcpy(ask.secret, secrets.own.data(), kDoorSecretBytes);
  return send_with_fd(
      fd, std::string(reinterpret_cast<const char*>(&ask), sizeof ask) + std::string(body), along);
}

DoorAsk ask_of(int local, DoorWish wish) {
  DoorAsk ask;
  ask.wish = static_cast<std::uint32_t>(wish);
  ask.local = local;
  return ask;
}

}  // namespace

Result<Entered> enter_door(const std::string& path, const std::string& key, int local,
                           DoorWish wish) {
  auto told = ask_daemon({path, key, local}, wish, {}, -1);
  if (!told && told.error().code == Code::other) return tl::unexpected<Error>(told.error());
  if (!told || !told->fd.is_open())
    return fail(Code::other, why(wish) + ", and the daemon at " + path +
                                 " does not let it in: is " + kLocalRankVariable +
                                 " as prun set it, and of the same Tutti?");
  limit(told->line.get(), 0);
  return Entered{std::move(told->fd), std::move(told->line)};
}

Result<DoorTold> ask_daemon(const DoorWay& way, DoorWish wish, std::string_view body, int fd) {
  // A crowd of others at the door may push a visitor out before it is heard.
  for (int tries_left = kDoorTries;; --tries_left) {
    TUTTI_TRY(made, visit(way, wish));
    auto told = ask_over(std::move(made.line), made.secrets, ask_of(way.local, wish), body, fd,
                         way.patience_s);
    if (!told && told.error().code == Code::other)
      return unanswered(way.path, wish, told.error().text);
    if (told || told.error().code != Code::pending || tries_left == 1) return told;
  }
}

Result<DoorTold> ask_over(UniqueFd line, const DoorSecrets& secrets, DoorAsk ask,
                          std::string_view body, int fd, int patience_s) {
  limit(line.get(), patience_s);
  if (!say(line.get(), ask, secrets, body, fd)) return broken(errno, patience_s);
  DoorAnswer answer{};
  TUTTI_TRY(told, hear_answer(std::move(line), secrets, patience_s, &answer));
  if (answer.refused != 0) return fail(Code::arg, text::printable(told.body));
  return told;
}

std::optional<DoorWords> parse_ask(std::string_view datagram) {
  DoorWords words;
  if (datagram.size() < sizeof words.ask) return std::nullopt;
  std::memcpy(&words.ask, datagram.data(), sizeof words.ask);
  words.body = datagram.substr(sizeof words.ask);
  std::size_t wanted = 0;
  switch (static_cast<DoorWish>(words.ask.wish)) {
    case DoorWish::join:
    case DoorWish::next:
      break;
    case DoorWish::share:
      wanted = sizeof(Takers);
      break;
    case DoorWish::take:
      wanted = sizeof(ShareKey);
      break;
    default:
      return std::nullopt;
  }
  static_assert(sizeof(Takers) <= kDoorMostText && sizeof(ShareKey) <= kDoorMostText);
  if (words.ask.magic != kDoorMagic || words.ask.local < 0 || words.ask.bytes != wanted ||
      words.body.size() != wanted)
    return std::nullopt;
  return words;
}

bool is_same_secret(const std::uint8_t* a, const std::uint8_t* b, std::size_t bytes) {
  unsigned differs = 0;
  for (std::size_t i = 0; i < bytes; ++i) differs |= static_cast<unsigned>(a[i] ^ b[i]);
  return differs == 0;
}

bool answer_at_door(int to, DoorAnswer answer, std::string_view body, int fd) {
  body = body.substr(0, kDoorMostText);
  answer.bytes = static_cast<std::uint32_t>(body.size());
  return send_with_fd(
      to, std::string(reinterpret_cast<const char*>(&answer), sizeof answer) + std::string(body),
      fd);
}

}  // namespace tutti::wireup
