// Virtual hosts: user, network, uts, ipc and mount namespaces joined by a bridge. No root.
//
//   switch process: own user + network namespace, a bridge, one veth end per host
//   host process:   joins the switch's user namespace, unshares network, uts, ipc and mount,
//                   gets the other veth end as eth0, a host name and an /etc/hosts of all
//
// Everything lives as long as its processes: nothing is named in any file system, and when the
// last process of a namespace ends the kernel takes links and addresses away. Addresses are
// private to the namespaces and reach no network of the machine.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace tutti::launch::spawn {

struct VirtualLink {
  std::string rate;   // as tc takes it: "10gbit"; empty: unlimited
  std::string delay;  // one way: "50us"; empty: none
};

inline constexpr const char* kSwitchKilled = "the process that held the virtual network was killed";

class VirtualNet {
 public:
  // Forks the switch process. Errors: the kernel or the container forbids namespaces, or `ip`
  // is missing; the text names the cure. At most 65,000 hosts.
  static Result<VirtualNet> create(std::vector<std::string> names, VirtualLink link);
  VirtualNet(VirtualNet&& other) noexcept;
  VirtualNet& operator=(VirtualNet&&) = delete;
  ~VirtualNet();  // ends the switch process, unless this is a forked copy

  // To be called in a freshly forked, single-threaded child: makes it (and what it starts) host
  // number `host`. Blocks for some milliseconds. Resets the parent-death signal (a kernel rule).
  Result<void> enter(int host);

  // Becomes readable when the switch process has ended, and the network with it. Closed where the
  // kernel has no such descriptors.
  UniqueFd switch_ended() const;

  static std::string ipv4(int host);  // "10.77.0.1" for host 0
  static std::string ipv6(int host);

 private:
  VirtualNet() = default;
  Result<void> ask_for_link();

  std::vector<std::string> names_;
  VirtualLink link_;
  pid_t maker_ = 0;
  pid_t switch_ = 0;
  UniqueFd requests_;  // a datagram per host that wants its veth end; each brings its own answer
};

}  // namespace tutti::launch::spawn
