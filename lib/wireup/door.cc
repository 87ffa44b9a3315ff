// A rank whose inherited descriptors were closed on the way (Python's subprocess, sudo, a
// container) gets them again from its daemon. The key decides, not the user: sudo and containers
// change that.
#include "wireup/door.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/pass_fd.h"
#include "wireup/protocol.h"

namespace tutti::wireup {
namespace {

// Why this process asks.
std::string why(DoorWish wish) {
  return wish == DoorWish::next ? "this rank has run an MPI program before"
                                : "the descriptors that prun passed are closed in this process";
}

// Two hexadecimal digits a byte. False: it is not that.
bool unhex(const std::string& text, std::array<std::uint8_t, 2 * kDoorSecretBytes>* out) {
  if (text.size() != 2 * out->size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
    const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
    std::uint8_t& byte = (*out)[i / 2];
    byte = static_cast<std::uint8_t>(i % 2 == 0 ? digit << 4 : byte | digit);
  }
  return true;
}

// Why the door cannot be reached, and what to try.
tl::unexpected<Error> unreachable(const std::string& path, DoorWish wish, int error) {
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
  return fail(Code::other,
              what + " does not answer: " + std::strerror(error) + "; has the job ended?");
}

// The connection waits this long for anything; 0: for ever.
void limit(int fd, int seconds) {
  const timeval span{seconds, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &span, sizeof span);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &span, sizeof span);
}

}  // namespace

Result<Entered> enter_door(const std::string& path, const std::string& key, int local,
                           DoorWish wish) {
  std::array<std::uint8_t, 2 * kDoorSecretBytes> secrets{};
  sockaddr_un address{};
  if (!unhex(key, &secrets) || path.size() >= sizeof address.sun_path)
    return fail(Code::other, why(wish) + ", and " + kDoorVariable + " or " + kDoorKeyVariable +
                                 " is not as prun set it; a wrapper must keep both");
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  Entered entered;
  entered.control.reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const int fd = entered.control.get();
  if (fd < 0) return unreachable(path, wish, errno);
  limit(fd, 60);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return unreachable(path, wish, errno);
  DoorAsk ask{};
  ask.wish = static_cast<std::uint32_t>(wish);
  ask.local = local;
  std::memcpy(ask.secret, secrets.data(), kDoorSecretBytes);
  if (!send_with_fd(fd, {reinterpret_cast<const char*>(&ask), sizeof ask}, -1))
    return unreachable(path, wish, errno);
  std::array<char, sizeof(DoorAnswer) + kDoorMostText> room{};
  const ssize_t got = receive_with_fd(fd, room.data(), room.size(), &entered.segment);
  if (got < 0) return unreachable(path, wish, errno);
  DoorAnswer answer{};
  const auto bytes = static_cast<std::size_t>(got);
  if (bytes >= sizeof answer) std::memcpy(&answer, room.data(), sizeof answer);
  // Only the daemon knows the second half of the key: nobody else's segment is mapped.
  if (bytes < sizeof answer || answer.magic != kDoorMagic ||
      std::memcmp(answer.secret, secrets.data() + kDoorSecretBytes, kDoorSecretBytes) != 0 ||
      !entered.segment.is_open())
    return fail(Code::other, why(wish) + ", and the daemon at " + path +
                                 " does not let it in: is " + kLocalRankVariable +
                                 " as prun set it, and of the same Tutti?");
  limit(fd, 0);
  return entered;
}

}  // namespace tutti::wireup
