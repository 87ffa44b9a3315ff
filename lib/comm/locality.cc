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

Locality my_locality(Runtime& runtime) {
  Locality mine{{runtime.wireup.host(), -2, -2, -2, -2, -2}};
  const std::string text(runtime.wireup.segment().topology());
  const auto machine = text.empty() ? topo::read_this_machine() : topo::from_text(text);
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
  all[static_cast<std::size_t>(comm.rank())] = my_locality(comm.runtime());
  const Code code = meeting_on(comm).allgather(std::as_writable_bytes(std::span(all)));
  if (code != Code::ok) return fail(code, "members could not say where they are");
  return all;
}

std::vector<Locality> hosts_in(const Communicator& comm) {
  std::vector<Locality> all;
  for (const int member : comm.group().members())
    all.push_back({{comm.runtime().wireup.host_of(member), -1, -1, -1, -1, -1}});
  return all;
}

namespace {

// What members tell each other before they split.
struct Seat {
  Locality place;
  std::int32_t comes_along;
};

// The outermost level at which those who come along differ.
std::optional<Level> inside(const std::vector<Seat>& seats) {
  const auto first = std::ranges::find_if(seats, [](const Seat& s) { return s.comes_along != 0; });
  for (int level = 0; level < kLevels; ++level)
    for (const Seat& seat : seats)
      if (seat.comes_along != 0 && seat.place.at[level] != first->place.at[level])
        return static_cast<Level>(level);
  return std::nullopt;
}

// The first rank at the same place.
int color_at(const std::vector<Seat>& seats, const Locality& mine, Level level) {
  if (mine.on(level) < 0) return kUndefined;
  const auto same = std::ranges::find_if(seats, [&](const Seat& seat) {
    return seat.comes_along != 0 &&
           std::equal(mine.at, mine.at + static_cast<int>(level) + 1, seat.place.at);
  });
  return static_cast<int>(same - seats.begin());
}

}  // namespace

// Whatever a member wants, even to stay away, all make the same calls. Of an intercommunicator the
// members of both groups are looked at together: who sits at one place meets there.
Result<CommRef> split_by(Communicator& comm, const SplitWish& wish, int key,
                         std::optional<Level>* found) {
  std::optional<Level> level = wish.level;
  int color = wish.by == SplitWish::By::color ? wish.color : kUndefined;
  const Meeting meeting = meeting_on(comm);
  std::vector<Seat> seats(static_cast<std::size_t>(meeting.size()));
  Seat& mine = seats[static_cast<std::size_t>(meeting.rank())];
  mine.comes_along = wish.by == SplitWish::By::level || wish.by == SplitWish::By::inside;
  if (mine.comes_along != 0) mine.place = my_locality(comm.runtime());
  const Locality place = mine.place;
  const bool comes_along = mine.comes_along != 0;
  const Code code = meeting.allgather(std::as_writable_bytes(std::span(seats)));
  if (code != Code::ok) return fail(code, "members could not say where they are");
  if (wish.by == SplitWish::By::inside) level = inside(seats);
  if (comes_along && level) color = color_at(seats, place, *level);
  if (found != nullptr) *found = level;
  return split(comm, color, key);
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
