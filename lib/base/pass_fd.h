// Bytes with a descriptor along, over a Unix socket.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string_view>

#include "base/unique_fd.h"

namespace tutti {

// As one message where the socket has messages. fd -1: none goes along. False: errno says why.
bool send_with_fd(int socket, std::string_view bytes, int fd);
// Like recv(); what came along is closed on exec.
ssize_t receive_with_fd(int socket, void* into, std::size_t most, UniqueFd* fd);

}  // namespace tutti
