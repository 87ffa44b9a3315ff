// Reads what our control group grants.
//
// v2: /proc/self/cgroup has one line "0::/a/b"; cpu.max (memory.max) may stand in /a/b, in /a and
// in the root, and the tightest counts. v1: the line whose controllers hold "cpu" ("memory"), and
// two files (one). Inside a container the path often names a folder that is not visible there; then
// only the mount's own root is left, which is the container's group.
#include "topo/quota.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace tutti::topo {
namespace {

double ratio(double quota, double period) {
  return quota > 0 && period > 0 ? quota / period : 0;
}

// The number that a text begins with; 0 where there is none, or one too large to be a limit (as
// v1 writes "none").
double number(std::string_view text) {
  constexpr double kTooLarge = 1e15;
  const std::string_view word = text::trim(text);
  const auto value = text::parse_int(word.substr(0, word.find(' ')));
  return value && *value > 0 && static_cast<double>(*value) < kTooLarge
             ? static_cast<double>(*value)
             : 0;
}

double tighter(double a, double b) {
  if (a == 0 || b == 0) return std::max(a, b);
  return std::min(a, b);
}

double quota_in(const ReadText& read, const std::string& folder, bool v1) {
  if (!v1) {
    const auto text = read(folder + "/cpu.max");
    return text ? parse_cpu_max(*text) : 0;
  }
  const auto quota = read(folder + "/cpu.cfs_quota_us");
  const auto period = read(folder + "/cpu.cfs_period_us");
  return quota && period ? ratio(number(*quota), number(*period)) : 0;
}

// "max", and what cannot be read, is no limit.
double memory_in(const ReadText& read, const std::string& folder, bool v1) {
  return number(read(folder + (v1 ? "/memory.limit_in_bytes" : "/memory.max")).value_or(""));
}

using LimitIn = double (*)(const ReadText& read, const std::string& folder, bool v1);

double walk_up(const ReadText& read, LimitIn limit_in, const std::string& mount, std::string path,
               bool v1) {
  double limit = 0;
  while (!path.empty() && path != "/") {
    limit = tighter(limit, limit_in(read, mount + path, v1));
    path.erase(path.rfind('/'));
  }
  return tighter(limit, limit_in(read, mount, v1));
}

bool names(const std::string& controllers, const std::string& wanted) {
  const auto all = text::split(controllers, ',');
  return std::find(all.begin(), all.end(), wanted) != all.end();
}

// 0: none.
double tightest(const ReadText& read, const std::string& controller, LimitIn limit_in) {
  double limit = 0;
  for (const std::string& line : text::split(read("/proc/self/cgroup").value_or(""), '\n')) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos || line.compare(second + 1, 1, "/") != 0) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty())
      limit = tighter(limit, walk_up(read, limit_in, "/sys/fs/cgroup", path, false));
    else if (names(controllers, controller))
      limit = tighter(limit, walk_up(read, limit_in, "/sys/fs/cgroup/" + controller, path, true));
  }
  return limit;
}

}  // namespace

double parse_cpu_max(const std::string& text) {
  const auto words = text::split(text::trim(text), ' ');
  return words.size() == 2 ? ratio(number(words[0]), number(words[1])) : 0;
}

double cpu_quota(const ReadText& read) {
  return tightest(read, "cpu", quota_in);
}

std::uint64_t memory_left(const ReadText& read) {
  constexpr std::string_view kName = "MemAvailable:";
  double available = 0;
  for (const std::string& line : text::split(read("/proc/meminfo").value_or(""), '\n'))
    if (line.starts_with(kName))
      available = 1024 * number(std::string_view(line).substr(kName.size()));
  return static_cast<std::uint64_t>(tighter(available, tightest(read, "memory", memory_in)));
}

}  // namespace tutti::topo
