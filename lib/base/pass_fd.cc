// SCM_RIGHTS, one descriptor at a time: of more than one the kernel closes the rest.
#include "base/pass_fd.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace tutti {

bool send_with_fd(int socket, std::string_view bytes, int fd) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = room.data();
    message.msg_controllen = room.size();
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &fd, sizeof fd);
  }
  for (;;) {
    const ssize_t put = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    return put == static_cast<ssize_t>(bytes.size());
  }
}

ssize_t receive_with_fd(int socket, void* into, std::size_t most, UniqueFd* fd) {
  iovec part{into, most};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room.data();
  message.msg_controllen = CMSG_LEN(sizeof(int));  // in room.size() is place for a second one
  ssize_t got = -1;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return got;
  const cmsghdr* const head = CMSG_FIRSTHDR(&message);
  int came = -1;
  if (head != nullptr && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
      head->cmsg_len == CMSG_LEN(sizeof(int)))
    std::memcpy(&came, CMSG_DATA(head), sizeof came);
  fd->reset(came);
  return got;
}

}  // namespace tutti
