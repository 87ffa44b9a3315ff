// Whether the machine at the other end of a TCP connection still answers, whatever its processes
// do. A stopped or stalled process is not a lost machine: its kernel goes on acknowledging.
#pragma once

#include <linux/tcp.h>
#include <sys/socket.h>

#include <optional>
#include <string>
#include <vector>

namespace tutti::launch::control {

// Both ends of a connection of this machine.
struct Connection {
  sockaddr_storage own{}, peer{};
};

// From "CLIENT PORT SERVER PORT", as sshd puts it into SSH_CONNECTION. Empty: it is no such text,
// or the client's address is none of `addresses`, or a loopback one: then something else stands
// between (a jump host, a tunnel), whose kernel says nothing of the one behind it.
std::optional<Connection> connection_from(const std::string& words,
                                          const std::vector<std::string>& addresses);

// What was sent is acknowledged, or something was not long ago. False: it is not, or nothing can be
// learned. Asked after a silence of both processes, who send something every few seconds.
bool far_kernel_answers(int socket);
// Of a connection that another process of this machine holds (sock_diag(7)).
bool far_kernel_answers(const Connection& connection);
// What the two above judge by. Pure.
bool is_answered(const tcp_info& info);

}  // namespace tutti::launch::control
