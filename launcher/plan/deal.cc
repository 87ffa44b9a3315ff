// Dealing out the units of a host.
//
//   slot, core, ...   in order               numa, package, caches   alternating over the objects
//   ppr:N:object      N on each object       --rank-by fill          the same counts, object by
//   object pe-list           all of the list each; ORDERED: one each, in its order
//   --rank-by object         numbered in turn over objects, whatever was mapped by
#include "plan/deal.h"

#include <algorithm>
#include <climits>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "plan/near.h"

namespace tutti::launch::plan {
namespace {

using topo::Machine;
using topo::Thread;

// Hands out units, `each` at a time, from the objects in turn; starts over when all are taken.
class Dealer {
 public:
  // `block`: units taken from an object before it is the next one's turn.
  Dealer(NearGroups from, int block) : turns_(std::move(from.turns)), block_(std::max(1, block)) {
    for (Units& group : from.groups) groups_.push_back({std::move(group), 0});
  }

  std::size_t largest() const {
    std::size_t most = 0;
    for (const Group& group : groups_) most = std::max(most, group.units.size());
    return most;
  }

  // Some group must hold `each` units (see largest).
  Units take(std::size_t each) {
    for (;;) {
      for (std::size_t tried = 0; tried < turns_.size(); ++tried) {
        Group& group = groups_[turns_[next_]];
        Units units = free_of(group, each);
        last_turn_ = next_;
        if (units.empty() || ++dealt_ >= block_) {
          dealt_ = 0;
          next_ = (next_ + 1) % turns_.size();
        }
        if (units.empty()) continue;
        for (const Unit& unit : units) taken(unit) = 1;
        return units;
      }
      ++rounds_;
      next_ = 0;
      taken_.clear();
      for (Group& group : groups_) group.first_free = 0;
    }
  }

  int rounds() const { return rounds_; }
  // Whose turn the last take() was.
  std::size_t last_turn() const { return last_turn_; }

 private:
  struct Group {
    Units units;
    std::size_t first_free = 0;
  };

  // By its first thread: units may be in the groups of several devices.
  char& taken(const Unit& unit) {
    const auto at = static_cast<std::size_t>(unit[0].os_index);
    if (at >= taken_.size()) taken_.resize(at + 1, 0);
    return taken_[at];
  }

  // The next `each` of the group; empty: it has not so many left.
  Units free_of(Group& group, std::size_t each) {
    while (group.first_free < group.units.size() && taken(group.units[group.first_free]) != 0)
      ++group.first_free;
    Units units;
    for (std::size_t i = group.first_free; i < group.units.size() && units.size() < each; ++i)
      if (taken(group.units[i]) == 0) units.push_back(group.units[i]);
    if (units.size() < each) units.clear();
    return units;
  }

  std::vector<Group> groups_;
  std::vector<char> taken_;         // by OS index
  std::vector<std::size_t> turns_;  // groups in turn; devices may share one
  std::size_t next_ = 0, last_turn_ = 0;
  int block_ = 1, dealt_ = 0;
  int rounds_ = 0;
};

// The units of each object, and the objects in turn.
Result<NearGroups> groups_of(const Machine& machine, const cli::Placement& placement) {
  if (is_by_device(placement.map_by)) return near_groups(machine, placement);
  std::map<int, Units> by_object;
  for (Unit& unit : units_of(machine, counts_threads(placement)))
    by_object[object_of(unit[0], placement.map_by)].push_back(std::move(unit));
  NearGroups found;
  for (auto& [object, group] : by_object) {
    found.turns.push_back(found.groups.size());
    found.groups.push_back(std::move(group));
  }
  return found;
}

Result<Dealt> deal_list(const Machine& machine, const cli::Placement& placement, int count) {
  TUTTI_TRY(units, units_named(machine, placement.cpu_set, counts_threads(placement)));
  Dealt dealt;
  for (int i = 0; i < count; ++i) {
    if (placement.ordered)
      dealt.units.push_back({units[static_cast<std::size_t>(i) % units.size()]});
    else
      dealt.units.push_back(units);
  }
  dealt.rounds = placement.ordered && static_cast<std::size_t>(count) > units.size() ? 1 : 0;
  return dealt;
}

// The number of the object of this kind that a thread is in.
int number_in(const Thread& thread, cli::MapBy kind) {
  return kind == cli::MapBy::core       ? thread.core
         : kind == cli::MapBy::hwthread ? thread.os_index
                                        : object_of(thread, kind);
}

// What one rank took, and the object that it is numbered by.
struct Taken {
  Units units;
  int turn = 0;
  int object = 0;
  int before = 0;  // ranks that are on this object already
};

// Object by object (fill), or in turn over them.
void number_by_objects(std::vector<Taken>& taken, const cli::Placement& placement) {
  std::map<int, int> count;
  for (Taken& rank : taken) {
    if (placement.rank_object != cli::MapBy::slot)
      rank.object = number_in(rank.units[0][0], placement.rank_object);
    rank.before = placement.rank_by == cli::RankBy::fill ? 0 : count[rank.object]++;
  }
  std::stable_sort(taken.begin(), taken.end(), [](const Taken& a, const Taken& b) {
    return std::tie(a.before, a.object) < std::tie(b.before, b.object);
  });
}

}  // namespace

bool counts_threads(const cli::Placement& placement) {
  return placement.use_hwthreads || placement.map_by == cli::MapBy::hwthread;
}

Units units_of(const Machine& machine, bool by_thread) {
  Units units;
  for (const Thread& thread : machine.threads) {
    if (by_thread || units.empty() || units.back()[0].core != thread.core) units.emplace_back();
    units.back().push_back(thread);
  }
  return units;
}

int object_of(const Thread& thread, cli::MapBy map_by) {
  switch (map_by) {
    case cli::MapBy::numa:
      return thread.numa;
    case cli::MapBy::package:
      return thread.package;
    case cli::MapBy::l3cache:
      return thread.l3;
    case cli::MapBy::l2cache:
      return thread.l2;
    case cli::MapBy::l1cache:
      return thread.l1;
    default:
      return 0;
  }
}

int objects_of(const Machine& machine, cli::MapBy map_by) {
  if (is_by_device(map_by))
    if (const int devices = devices_of(machine, map_by); devices > 0) return devices;
  if (is_by_device(map_by)) map_by = cli::MapBy::numa;
  std::set<int> seen;
  for (const Thread& thread : machine.threads) seen.insert(number_in(thread, map_by));
  return static_cast<int>(seen.size());
}

Result<Dealt> deal(const Machine& machine, const cli::Placement& placement, int count) {
  if (placement.map_by == cli::MapBy::pe_list) return deal_list(machine, placement, count);
  TUTTI_TRY(groups, groups_of(machine, placement));
  const bool until_full = placement.map_by == cli::MapBy::device;
  Dealer dealer(std::move(groups), until_full ? count : placement.ranks_per_object);
  const auto each = static_cast<std::size_t>(placement.cpus_per_rank);
  if (each > dealer.largest())
    return fail(Code::arg, std::to_string(each) +
                               " processors for each rank were asked for, but at most " +
                               std::to_string(dealer.largest()) + " are there together; lower PE=");
  Dealt dealt;
  std::vector<Taken> taken;
  for (int i = 0; i < count; ++i) {
    Units units = dealer.take(each);
    const auto turn = static_cast<int>(dealer.last_turn());
    taken.push_back({std::move(units), turn, turn});
  }
  dealt.rounds = dealer.rounds();
  if (placement.rank_by == cli::RankBy::fill || placement.rank_by == cli::RankBy::object ||
      (placement.rank_by == cli::RankBy::span && placement.rank_object != cli::MapBy::slot))
    number_by_objects(taken, placement);
  for (Taken& rank : taken) {
    dealt.units.push_back(std::move(rank.units));
    dealt.turns.push_back(rank.turn);
  }
  return dealt;
}

Result<Units> units_named(const Machine& machine, const std::string& text, bool by_thread) {
  const Units all = units_of(machine, by_thread);
  Units named;
  const auto none = [&](const std::string& word) {
    return fail(Code::arg, "'" + word + "' names no processor: there are " +
                               std::to_string(all.size()) + ", numbered from 0");
  };
  int package = -1;
  for (const std::string& word : text::split(text, ',')) {
    std::string range = word;
    if (const auto colon = word.find(':'); colon != std::string::npos) {
      const auto number = text::parse_int(word.substr(word.starts_with('p') ? 1 : 0, colon));
      if (!number || *number < 0 || *number > INT_MAX) return none(word);
      package = static_cast<int>(*number);
      range = word.substr(colon + 1);
    }
    Units within;
    for (const Unit& unit : all)
      if (package < 0 || unit[0].package == package) within.push_back(unit);
    const auto dash = range.find('-');
    const auto from = range == "*" ? 0 : text::parse_int(range.substr(0, dash));
    const auto to = range == "*"                ? static_cast<std::int64_t>(within.size()) - 1
                    : dash == std::string::npos ? from
                                                : text::parse_int(range.substr(dash + 1));
    if (!from || !to || *from < 0 || *to < *from || *to >= static_cast<std::int64_t>(within.size()))
      return none(word);
    named.insert(named.end(), within.begin() + *from, within.begin() + *to + 1);
  }
  if (named.empty()) return none(text);
  return named;
}

}  // namespace tutti::launch::plan
