// A Machine as a text of numbers, one hardware thread a line. Not hwloc's XML: its reader trusts
// what it reads, and ends the process over some of what it should refuse.
#include "base/text.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "topo/topo.h"

namespace tutti::topo {
namespace {

constexpr int kFields = 7;
constexpr int kMostIndex = 1 << 20;  // of anything in a machine
constexpr std::size_t kMostNames = 64;

bool is_index(std::int64_t number) {
  return number >= 0 && number < kMostIndex;
}

bool is_sound(const Thread& t) {
  return is_index(t.os_index) && is_index(t.core) && is_index(t.l3) && is_index(t.numa) &&
         is_index(t.package) && is_index(t.l2) && is_index(t.l1);
}

bool is_sound(const PciDevice& device) {
  return (device.kind == PciDevice::Kind::gpu || device.kind == PciDevice::Kind::nic) &&
         !device.names.empty() && device.names.size() < kMostNames &&
         std::all_of(device.near.begin(), device.near.end(), is_index);
}

int cores_in(const Machine& machine) {
  std::set<int> cores;
  for (const Thread& thread : machine.threads) cores.insert(thread.core);
  return static_cast<int>(cores.size());
}

}  // namespace

bool is_sound(const Machine& machine) {
  const auto good = [](const auto& each) { return is_sound(each); };
  return !machine.threads.empty() && machine.threads.size() < kMostIndex &&
         std::is_sorted(machine.threads.begin(), machine.threads.end(),
                        [](const Thread& a, const Thread& b) { return a.core < b.core; }) &&
         machine.cores == cores_in(machine) && std::isfinite(machine.cpu_quota) &&
         machine.cpu_quota >= 0 && machine.cpu_quota < kMostIndex &&
         std::all_of(machine.threads.begin(), machine.threads.end(), good) &&
         std::all_of(machine.devices.begin(), machine.devices.end(), good);
}

std::string text_of(const Machine& machine) {
  std::string text;
  for (const Thread& t : machine.threads) {
    for (const int number : {t.os_index, t.core, t.l3, t.numa, t.package, t.l2, t.l1})
      text += std::to_string(number) + " ";
    text.back() = '\n';
  }
  return text;
}

Result<Machine> from_text(const std::string& text) {
  const auto senseless = [] { return fail(Code::arg, "this is not a machine's description"); };
  Machine machine;
  for (const std::string& line : text::split(text, '\n')) {
    if (line.empty()) continue;
    int numbers[kFields] = {};
    const auto words = text::split(line, ' ');
    if (words.size() != kFields) return senseless();
    for (std::size_t i = 0; i < kFields; ++i) {
      const auto number = text::parse_int(words[i]);
      if (!number || !is_index(*number)) return senseless();
      numbers[i] = static_cast<int>(*number);
    }
    const auto [os_index, core, l3, numa, package, l2, l1] = numbers;
    machine.threads.push_back({os_index, core, l3, numa, package, l2, l1});
  }
  machine.cores = cores_in(machine);
  if (!is_sound(machine)) return senseless();
  return machine;
}

}  // namespace tutti::topo
