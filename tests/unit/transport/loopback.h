// Sockets on the loopback that are nobody's of ours.
#pragma once

#include <sys/socket.h>

#include "catch.h"
#include "transport/tcp/interfaces.h"

// Where that socket is from now on: at a port of its own.
inline tutti::transport::tcp::SocketAddress bind_to_loopback(int fd) {
  tutti::transport::tcp::SocketAddress at;
  at.bytes = {127, 0, 0, 1};
  sockaddr_storage storage{};
  socklen_t bytes = at.fill(storage);
  REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&storage), bytes) == 0);
  REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &bytes) == 0);
  return tutti::transport::tcp::SocketAddress::of(storage);
}
