// Addresses as text, and those of this machine.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

namespace tutti::launch::control {

// Numeric, without the port: "10.0.0.2", "fd00::2", "fe80::1%eth0". Of IPv4 or IPv6.
std::string address_text(const sockaddr* address);
// Of all interfaces that are up, loopback included.
std::vector<std::string> own_addresses();
// Of the first of those interfaces that TUTTI_INTERFACES names; empty: it names none of them.
std::string address_among(const std::string& interfaces);
// What to tell where it names none that has an address here; empty: it does, or all are meant.
std::string none_among(const std::string& interfaces);

}  // namespace tutti::launch::control
