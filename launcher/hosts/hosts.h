// hosts: hostfiles, -H, (later) allocations of batch systems -> Allocation. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tutti::launch {

struct HostSlots {
  std::string name;  // as the user wrote it; what ssh is given
  int slots = 1;
  int max_slots = 0;  // 0: no limit
  bool slots_given = false;
  std::string source;   // "-H", "hostfiles/two-hosts:3", "this machine"
  std::string user;     // empty: ssh decides
  int port = 0;         // 0: ssh decides
  bool joined = false;  // it came by itself: its daemon is there
};

struct Allocation {
  std::vector<HostSlots> hosts;
  bool given = false;                 // by the user or a batch system; false: this machine alone
  std::vector<std::string> sequence;  // names as listed, repeats and all: for --map-by seq
};

using ReadFile = std::function<Result<std::string>(const std::string& path)>;

// Both syntaxes: "host slots=2 max_slots=4" and "host:2". Errors name file, line and word.
Result<Allocation> parse_hostfile(const std::string& path, const std::string& text);
Result<Allocation> parse_dash_host(const std::vector<std::string>& words);
// -H filters a hostfile's hosts when both are given, as in Open MPI.
Result<Allocation> allocate(const std::vector<std::string>& dash_hosts,
                            const std::vector<std::string>& hostfiles, const ReadFile& read,
                            const std::string& this_host, int this_host_cores);

}  // namespace tutti::launch
