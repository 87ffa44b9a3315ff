// machine.cc: on what a figure was measured. A figure without it is worth nothing later.
#include <sched.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <fstream>

#include "harness.h"

namespace bench {

namespace {

// The value of the first line "key ... : value" of a file.
std::string field(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (line.compare(0, key.size(), key) != 0 || colon == std::string::npos) continue;
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "unknown";
}

int cores_online() {
  std::ifstream file("/proc/cpuinfo");
  int cores = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, 9, "processor") == 0) ++cores;
  }
  return cores;
}

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.processor = field("/proc/cpuinfo", "model name");
  machine.cores = cores_online();
  machine.memory_mib = std::strtol(field("/proc/meminfo", "MemTotal").c_str(), nullptr, 10) / 1024;
  utsname names;
  if (uname(&names) == 0) {
    machine.kernel = std::string(names.sysname) + " " + names.release + " " + names.machine;
    machine.host = names.nodename;
  }
  return machine;
}

}  // namespace bench
