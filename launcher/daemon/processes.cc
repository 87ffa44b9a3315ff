// Reading /proc.
#include "daemon/processes.h"

#include <dirent.h>

#include <string>

#include "base/file.h"
#include "base/text.h"

namespace tutti::launch::daemon {

// The name in field two may contain anything, ')' included.
std::optional<ProcessStat> read_process(pid_t pid) {
  const std::string line = file_text("/proc/" + std::to_string(pid) + "/stat").value_or("");
  const std::size_t after = line.rfind(')');
  if (after == std::string::npos) return {};
  const auto fields = text::split(line.substr(after + 1), ' ');  // "", state, parent, group
  if (fields.size() < 4 || fields[1].empty()) return {};
  const auto number = [&fields](std::size_t field) {
    return static_cast<pid_t>(text::parse_int(fields[field]).value_or(0));
  };
  return ProcessStat{pid, number(2), number(3), fields[1].front()};
}

std::vector<ProcessStat> all_processes() {
  std::vector<ProcessStat> found;
  DIR* all = ::opendir("/proc");
  if (all == nullptr) return found;
  while (const dirent* entry = ::readdir(all))
    if (const auto pid = text::parse_int(entry->d_name))
      if (const auto one = read_process(static_cast<pid_t>(*pid))) found.push_back(*one);
  ::closedir(all);
  return found;
}

bool descends(pid_t pid, pid_t ancestor) {
  constexpr int kMostParents = 1000;  // numbers may be used again while we go up
  for (int i = 0; i < kMostParents && pid > 1; ++i) {
    if (pid == ancestor) return true;
    const auto process = read_process(pid);
    if (!process) return false;
    pid = process->parent;
  }
  return false;
}

bool is_pmix_server(pid_t pid) {
  const auto name = file_text("/proc/" + std::to_string(pid) + "/comm");
  return name && text::trim(*name) == "prun-pmix";
}

}  // namespace tutti::launch::daemon
