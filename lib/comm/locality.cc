// Localities: my threads on the machine that the daemon described, and everyone's gathered.
#include "comm/locality.h"

#include <sched.h>

#include <algorithm>

#include "comm/agree.h"
#include "topo/topo.h"

namespace tutti::comm {
namespace {

constexpr const char* kNames[kLevels] = {"Machine", "Package", "NUMANode", "L3Cache", "Core", "PU"};
// Across hosts, packages, NUMA nodes, caches, cores, threads: each several times the next.
constexpr int kDistances[kLevels] = {64, 8, 4, 2, 1, 1};

void meet(std::int32_t& common, int mine) {
  constexpr std::int32_t kUnset = -2;
  if (common == kUnset) common = mine;
  if (common != mine) common = -1;
}

}  // namespace

Locality my_locality(World& world) {
  Locality mine{{world.wireup.host(), -2, -2, -2, -2, -2}};
  const std::string xml(world.wireup.segment().topology());
  const auto machine = xml.empty() ? topo::read_this_machine() : topo::from_xml(xml);
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (machine && ::sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    for (const topo::Thread& thread : machine->threads) {
      if (!CPU_ISSET(static_cast<std::size_t>(thread.os_index), &allowed)) continue;
      const int places[] = {thread.package, thread.numa, thread.l3, thread.core, thread.os_index};
      for (int level = 1; level < kLevels; ++level) meet(mine.at[level], places[level - 1]);
    }
  for (std::int32_t& place : mine.at) place = std::max(place, -1);
  return mine;
}

Result<std::vector<Locality>> localities_of(Communicator& comm) {
  std::vector<Locality> all(static_cast<std::size_t>(comm.size()));
  all[static_cast<std::size_t>(comm.rank())] = my_locality(comm.world());
  const Code code = meeting_on(comm).gather(std::as_writable_bytes(std::span(all)));
  if (code != Code::ok) return fail(code, "members could not say where they are");
  return all;
}

Result<CommRef> split_by(Communicator& comm, Level level, int key) {
  TUTTI_TRY(all, localities_of(comm));
  const auto differs = [level](const Locality& a, const Locality& b) {
    return !std::equal(a.at, a.at + static_cast<int>(level) + 1, b.at);
  };
  const Locality& mine = all[static_cast<std::size_t>(comm.rank())];
  int color = 0;  // the first rank at the same place
  while (differs(all[static_cast<std::size_t>(color)], mine)) ++color;
  return split(comm, mine.on(level) < 0 ? kUndefined : color, key);
}

Result<std::optional<Level>> inside(Communicator& comm) {
  TUTTI_TRY(all, localities_of(comm));
  for (int level = 0; level < kLevels; ++level)
    for (const Locality& one : all)
      if (one.at[level] != all[0].at[level]) return std::optional(static_cast<Level>(level));
  return std::optional<Level>();
}

int distance(const Locality& a, const Locality& b) {
  for (int level = 0; level < kLevels; ++level)
    if (a.at[level] != b.at[level]) return kDistances[level];
  return 0;
}

std::optional<Level> level_named(std::string_view name) {
  constexpr std::string_view kScheme = "hwloc://";
  if (name.starts_with(kScheme)) name.remove_prefix(kScheme.size());
  for (int level = 0; level < kLevels; ++level)
    if (name == kNames[level]) return static_cast<Level>(level);
  return std::nullopt;
}

const char* name_of(Level level) {
  return kNames[static_cast<int>(level)];
}

}  // namespace tutti::comm
