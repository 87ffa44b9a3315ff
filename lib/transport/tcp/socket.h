// socket: the few system calls around sockets that attempts, strangers and the transport share.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "transport/tcp/congestion.h"
#include "transport/tcp/interfaces.h"
#include "transport/tcp/wire.h"

namespace tutti::transport::tcp {

// A non-blocking socket that listens at this address alone, and the port it got.
Result<UniqueFd> listen_at(const SocketAddress& at, const Congestion& congestion,
                           std::uint16_t& port);
// A non-blocking socket on its way to `address`, or an error when that is hopeless at once.
Result<UniqueFd> start_connecting(const SocketAddress& address, const Congestion& congestion);
// Whether the connection stands; an error when it never will.
Result<bool> is_connected(int fd);
// The next connection, if there is one; errno says why not.
UniqueFd accept_from(int listener, SocketAddress& from);
// No delay, probes of silent links.
void tune(int fd);
// What to do where a socket is not to be had for want of something of our own; of files for ever.
std::string advice_on_files();
std::string advice_on_shortage();
bool send_whole(int fd, BlobView bytes);  // short messages on a fresh socket

// A message of known length that arrives piece by piece.
class ArrivingMessage {
 public:
  enum class State : std::uint8_t { more, whole, ended };
  State read(int fd, std::size_t wanted);
  BlobView bytes() const { return {bytes_.data(), got_}; }
  void clear() { got_ = 0; }

 private:
  std::array<std::byte, kLongestMessage> bytes_{};
  std::size_t got_ = 0;
};

}  // namespace tutti::transport::tcp
