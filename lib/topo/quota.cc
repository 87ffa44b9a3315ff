// Reads the processor quota of our control group.
//
// v2: /proc/self/cgroup has one line "0::/a/b"; cpu.max may stand in /a/b, in /a and in the
// root, and the tightest counts. v1: the line whose controllers hold "cpu", and two files.
// Inside a container the path often names a folder that is not visible there; then only the
// mount's own root is left, which is the container's group.
#include "topo/quota.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/text.h"

namespace tutti::topo {
namespace {

double ratio(double quota, double period) {
  return quota > 0 && period > 0 ? quota / period : 0;
}

double number(const std::string& text) {
  return std::strtod(text.c_str(), nullptr);
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

double walk_up(const ReadText& read, const std::string& mount, std::string path, bool v1) {
  double quota = 0;
  while (!path.empty() && path != "/") {
    quota = tighter(quota, quota_in(read, mount + path, v1));
    path.erase(path.rfind('/'));
  }
  return tighter(quota, quota_in(read, mount, v1));
}

bool names_cpu(const std::string& controllers) {
  const auto names = text::split(controllers, ',');
  return std::find(names.begin(), names.end(), "cpu") != names.end();
}

}  // namespace

double parse_cpu_max(const std::string& text) {
  const auto words = text::split(text::trim(text), ' ');
  return words.size() == 2 ? ratio(number(words[0]), number(words[1])) : 0;
}

double cpu_quota(const ReadText& read) {
  double quota = 0;
  for (const std::string& line : text::split(read("/proc/self/cgroup").value_or(""), '\n')) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos || line.compare(second + 1, 1, "/") != 0) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty())
      quota = tighter(quota, walk_up(read, "/sys/fs/cgroup", path, false));
    else if (names_cpu(controllers))
      quota = tighter(quota, walk_up(read, "/sys/fs/cgroup/cpu", path, true));
  }
  return quota;
}

}  // namespace tutti::topo
