// congestion: by which of the kernel's rules a connection sends.
//
// A host's default may be one that paces (bbr): the kernel then sends by a timer, at a rate that it
// probes for. Over a long way that pays; inside a cluster, where a round trip takes microseconds,
// the timer is slower than the wire: an exchange of 64 KiB takes 34 us for 15 (record 0059). So
// there a socket begins with a rule that does not pace, and a connection whose way turns out to be
// long gets the host's default back. The other order does not work: the kernel goes on pacing a
// connection that once did.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace tutti::transport::tcp {

struct Congestion {
  std::string wanted;        // empty: the host's default
  std::string for_long_way;  // empty: the same

  // TUTTI_TCP_CONGESTION: auto, system, or a rule's name. An error where this host does not let us.
  static Result<Congestion> named(const std::string& wish);
  // What auto does on a host with this default.
  static Congestion beside(const std::string& host_default);

  // Before a socket connects or listens, whose connections are then the same.
  void begin(int fd) const;
  // When the connection stands, whose shortest round trip took so long.
  void settle(int fd, std::uint32_t round_trip_us) const;
};

std::string congestion_of(int fd);       // its name
std::uint32_t round_trip_us_of(int fd);  // the shortest so far; 0: not known

}  // namespace tutti::transport::tcp
