// Whose process is at the other end.
#include "base/socket_peer.h"

#include <unistd.h>

namespace tutti {

std::optional<ucred> socket_peer(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return std::nullopt;
  return peer;
}

bool is_of_own_user(int socket) {
  const auto peer = socket_peer(socket);
  return peer && peer->uid == ::geteuid();
}

}  // namespace tutti
