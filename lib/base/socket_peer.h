// Whose process is at the other end of a Unix socket, by the kernel's word: who connected,
// listened, or made the pair.
#pragma once

#include <sys/socket.h>

#include <optional>

namespace tutti {

// Nothing: it is no such socket.
std::optional<ucred> socket_peer(int socket);
// It is this process's effective user's.
bool is_of_own_user(int socket);

}  // namespace tutti
