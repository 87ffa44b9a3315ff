#include "base/own_end.h"

#include <sys/socket.h>

#include <cstring>

namespace tutti {

bool reaches_itself(int socket) {
  sockaddr_storage own{}, other{};
  socklen_t own_bytes = sizeof own, other_bytes = sizeof other;
  return ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_bytes) == 0 &&
         ::getpeername(socket, reinterpret_cast<sockaddr*>(&other), &other_bytes) == 0 &&
         (own.ss_family == AF_INET || own.ss_family == AF_INET6) && own_bytes == other_bytes &&
         std::memcmp(&own, &other, own_bytes) == 0;
}

}  // namespace tutti
