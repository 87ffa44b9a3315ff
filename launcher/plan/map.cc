// Mapping: how many ranks of each program go to which host.
//
// Programs are mapped one after the other, each into what is left. A policy fills slots host by
// host (slot, core, numa, ...) or deals them out in turn (node). What does not fit into slots
// is spread so that every host is equally overfull, where that is allowed at all:
//
//   hosts given with slots     an error, unless --oversubscribe; under Hydra's names from the first
//                              host again
//   a hostfile of bare names   dealt out in turn, with a note: nobody counted slots; so are the
//                              bare names of srun's -w, without one
//   this machine alone         allowed, with a note, unless --nooversubscribe
#include <algorithm>
#include <limits>
#include <numeric>

#include "base/numbers.h"
#include "base/text.h"
#include "plan/deal.h"
#include "plan/explicit.h"
#include "plan/plan.h"
#include "plan/rank.h"
#include "plan/size.h"

namespace tutti::launch::plan {
namespace {

constexpr int kNoLimit = std::numeric_limits<int>::max();

// One host as one program sees it.
struct Share {
  int slots = 0;        // as given: the weight when slots are overfull
  int room = 0;         // slots still free for this program
  int most = kNoLimit;  // never more, overfull or not
  int count = 0;
};

int left_of(const Share& share) {
  return share.most == kNoLimit ? kNoLimit : share.most - share.count;
}

class Mapper {
 public:
  Mapper(const cli::JobSpec& job, const hosts::Allocation& allocation, int objects)
      : job_(job), allocation_(allocation), objects_(objects), used_(allocation.hosts.size(), 0) {}

  // counts[h] for the next program.
  Result<std::vector<int>> map(const cli::AppSpec& app) {
    std::vector<Share> shares = shares_of(app_++);
    const int ranks = ranks_of(app, shares);
    TUTTI_DO(check_per_node(ranks, shares));
    int left = job_.placement.in_turns ? fill_in_turns(shares, ranks) : fill(shares, ranks);
    if (left > 0 && !may_overfill()) return too_few_slots(ranks);
    left = overfill(shares, left);
    if (left > 0) return limit_reached(ranks, left);
    std::vector<int> counts;
    for (std::size_t h = 0; h < shares.size(); ++h) {
      counts.push_back(shares[h].count);
      used_[h] += shares[h].count;
    }
    return counts;
  }

  // The host of each rank of the program that was mapped last, where hosts are filled in turns.
  const std::vector<int>& order() const { return order_; }

  std::vector<std::string> notes() const {
    if (job_.placement.oversubscribe || job_.placement.in_turns || job_.rank.as_srun) return {};
    const int ranks = std::accumulate(used_.begin(), used_.end(), 0);
    if (ranks <= total_slots() || allocation_.hosts.empty()) return {};
    const hosts::HostSlots& first = allocation_.hosts.front();
    const std::string count = std::to_string(ranks) + " ranks ";
    if (!allocation_.given)
      return {count + "on the " + text::counted(first.slots, "core") +
              " of this machine: they take turns"};
    if (no_slots_given())
      return {count + "dealt out in turn over " + text::counted(allocation_.hosts.size(), "host") +
              ": " + first.source.substr(0, first.source.rfind(':')) + " gives no slots"};
    return {};
  }

 private:
  // Ranks that each host gets at most, by -N or ppr; 0: as many as slots.
  int per_host() const {
    const cli::Placement& placement = job_.placement;
    const int by_objects = placement.ranks_per_object * objects_;
    if (placement.ranks_per_node == 0 || by_objects == 0)
      return std::max(placement.ranks_per_node, by_objects);
    return std::min(placement.ranks_per_node, by_objects);
  }

  std::vector<Share> shares_of(std::size_t app) const {
    const std::vector<hosts::HostSlots>* named =
        app < allocation_.of_program.size() ? &allocation_.of_program[app] : nullptr;
    std::vector<Share> shares(allocation_.hosts.size());
    for (std::size_t h = 0; h < shares.size(); ++h) {
      const hosts::HostSlots& host = allocation_.hosts[h];
      int room = host.slots - used_[h];
      if (named != nullptr && !named->empty()) {
        const auto mine =
            std::find_if(named->begin(), named->end(),
                         [&](const hosts::HostSlots& one) { return one.name == host.name; });
        if (mine == named->end()) {
          shares[h].most = 0;
          continue;
        }
        room = std::min(room, mine->slots);
      }
      shares[h].slots = host.slots;
      shares[h].room = std::max(0, room);
      if (host.max_slots > 0) shares[h].most = std::max(0, host.max_slots - used_[h]);
      if (job_.placement.in_turns)
        shares[h].room = kNoLimit;
      else if (per_host() > 0)
        shares[h].most = std::min(shares[h].most, per_host());
    }
    return shares;
  }

  int ranks_of(const cli::AppSpec& app, const std::vector<Share>& shares) const {
    if (app.ranks > 0) return app.ranks;
    int ranks = 0;
    for (const Share& share : shares) {
      if (share.slots == 0) continue;
      const int room = job_.placement.in_turns ? share.slots : share.room;
      ranks += per_host() > 0 ? per_host() : std::min(room, share.most);
    }
    return std::max(1, ranks);
  }

  Result<void> check_per_node(int ranks, const std::vector<Share>& shares) const {
    const int per_node = per_host();
    const auto hosts = std::count_if(shares.begin(), shares.end(),
                                     [](const Share& share) { return share.slots > 0; });
    if (per_node == 0 || job_.placement.in_turns || ranks <= per_node * hosts) return {};
    const int per_object = job_.placement.ranks_per_object;
    const bool by_objects = per_object > 0 && per_object * objects_ == per_node;
    const std::string each =
        std::string("on each ") + (by_objects ? name_of(job_.placement.per_object) : "node");
    return fail(Code::arg, std::to_string(ranks) + " ranks do not fit: " +
                               std::to_string(by_objects ? per_object : per_node) + " " + each +
                               " of " + text::counted(hosts, "host") + " make " +
                               std::to_string(per_node * hosts) + "; lower -np, allow more " +
                               each + ", or name more hosts" +
                               (job_.placement.by_letter && !by_objects
                                    ? "; srun's -N, a number of hosts, is --nodes here"
                                    : ""));
  }

  // Into free slots; returns how many ranks are left over.
  int fill(std::vector<Share>& shares, int left) const {
    const cli::Placement& placement = job_.placement;
    const int step = placement.map_by == cli::MapBy::node ? 1
                     : placement.span                     ? objects_
                                                          : kNoLimit;
    bool moved = true;
    while (left > 0 && moved) {
      moved = false;
      for (Share& share : shares) {
        const int fits = std::min({share.room - share.count, left_of(share), left});
        const int now = std::min(fits, step);
        if (now <= 0) continue;
        share.count += now;
        left -= now;
        moved = true;
      }
    }
    return left;
  }

  // Hydra's way: as many ranks as slots (or -ppn) on each host, then the first again; the next
  // program goes on where this one ends.
  int fill_in_turns(std::vector<Share>& shares, int left) {
    order_.clear();
    for (std::size_t full = 0; left > 0 && full < shares.size();) {
      Share& share = shares[turn_];
      const int block = per_host() > 0 ? per_host() : share.slots;
      const int now = std::min({block - in_turn_, left_of(share), left});
      if (now > 0) {
        share.count += now;
        order_.insert(order_.end(), static_cast<std::size_t>(now), static_cast<int>(turn_));
        in_turn_ += now;
        left -= now;
        full = 0;
      } else {
        ++full;
      }
      if (in_turn_ < block && left_of(share) > 0) continue;  // nothing is left
      turn_ = (turn_ + 1) % shares.size();
      in_turn_ = 0;
    }
    return left;
  }

  bool no_slots_given() const {
    return std::none_of(allocation_.hosts.begin(), allocation_.hosts.end(),
                        [](const hosts::HostSlots& host) { return host.slots_given; });
  }

  bool may_overfill() const {
    const cli::Placement& placement = job_.placement;
    if (placement.oversubscribe) return true;
    if (placement.no_oversubscribe) return false;
    return !allocation_.given || no_slots_given();
  }

  // One rank at a time to the host that is least overfull; returns what no limit lets in.
  static int overfill(std::vector<Share>& shares, int left) {
    while (left > 0) {
      Share* best = nullptr;
      for (Share& share : shares) {
        if (share.slots == 0 || left_of(share) <= 0) continue;
        // (count + 1) / slots, compared without division
        if (best == nullptr || static_cast<long>(share.count + 1) * best->slots <
                                   static_cast<long>(best->count + 1) * share.slots)
          best = &share;
      }
      if (best == nullptr) return left;
      ++best->count;
      --left;
    }
    return 0;
  }

  int total_slots() const {
    return std::accumulate(allocation_.hosts.begin(), allocation_.hosts.end(), 0,
                           [](int sum, const hosts::HostSlots& host) { return sum + host.slots; });
  }

  std::string slots_text() const {
    constexpr std::size_t kShown = 4;
    std::string text;
    for (std::size_t h = 0; h < std::min(kShown, allocation_.hosts.size()); ++h) {
      const hosts::HostSlots& host = allocation_.hosts[h];
      text += (h == 0 ? "" : "; ") + host.name + ": " + std::to_string(host.slots) + " by " +
              host.source;
    }
    if (allocation_.hosts.size() > kShown)
      text += "; " + std::to_string(allocation_.hosts.size() - kShown) + " more hosts";
    return text;
  }

  tl::unexpected<Error> too_few_slots(int ranks) const {
    const int all = ranks + std::accumulate(used_.begin(), used_.end(), 0);
    return fail(
        Code::arg,
        "too few slots: " + std::to_string(all) + " ranks, " +
            text::counted(total_slots(), "slot") + " (" + slots_text() + "); " +
            (allocation_.given ? "raise the slots there, name more hosts, or add --oversubscribe"
                               : "leave out --nooversubscribe to let ranks take turns"));
  }

  tl::unexpected<Error> limit_reached(int ranks, int left) const {
    return fail(Code::arg, "too few slots: " + std::to_string(left) + " of " +
                               std::to_string(ranks) +
                               " ranks do not fit within max_slots or the hosts of this program (" +
                               slots_text() + "); raise max_slots there, or name more hosts");
  }

  const cli::JobSpec& job_;
  const hosts::Allocation& allocation_;
  const int objects_;      // of each host, that a policy counts
  std::vector<int> used_;  // ranks already mapped, by host
  std::size_t app_ = 0;    // the program mapped next
  std::size_t turn_ = 0;   // the host whose turn it is, and how many ranks it has of it
  int in_turn_ = 0;
  std::vector<int> order_;
};

// Only hosts with ranks are kept, in the allocation's order.
void keep_used_hosts(Plan& plan, const hosts::Allocation& allocation) {
  std::vector<int> local(allocation.hosts.size(), 0);
  for (PlannedRank& rank : plan.ranks)
    rank.local_rank = local[static_cast<std::size_t>(rank.host)]++;
  std::vector<int> index(allocation.hosts.size(), -1);
  for (std::size_t h = 0; h < allocation.hosts.size(); ++h) {
    if (local[h] == 0) continue;
    index[h] = static_cast<int>(plan.hosts.size());
    plan.hosts.push_back({allocation.hosts[h].name, allocation.hosts[h].slots, local[h]});
  }
  for (PlannedRank& rank : plan.ranks) rank.host = index[static_cast<std::size_t>(rank.host)];
}

}  // namespace

Result<void> check_streams(const cli::JobSpec& job, const Plan& plan) {
  const auto ranks = static_cast<std::int64_t>(plan.ranks.size());
  const auto is_there = [ranks](const std::string& option, std::int64_t rank) -> Result<void> {
    if (rank >= 0 && rank < ranks) return {};
    return fail(Code::arg, option + " " + std::to_string(rank) + ": the job has ranks 0 to " +
                               std::to_string(ranks - 1));
  };
  for (const std::string& who : job.stdin_to)
    if (const auto rank = text::parse_int(who)) TUTTI_DO(is_there("--stdin", *rank));
  for (const int rank : job.output.only_ranks) TUTTI_DO(is_there("--output-from", rank));
  return {};
}

std::vector<hosts::HostWishes> wishes_of(const cli::JobSpec& job) {
  std::vector<hosts::HostWishes> wishes;
  for (const cli::AppSpec& app : job.apps)
    wishes.push_back({app.hosts, app.hostfiles, !job.rank.as_srun});
  return wishes;
}

Result<Plan> map_ranks(const cli::JobSpec& job, const hosts::Allocation& allocation,
                       const topo::Machine* like) {
  if (allocation.hosts.empty()) return fail(Code::arg, "there is no host to run on");
  const cli::Placement& placement = job.placement;
  TUTTI_DO(check_size(job));
  Plan plan;
  const cli::MapBy counted =
      placement.ranks_per_object > 0 ? placement.per_object : placement.map_by;
  const auto each_has = [like](cli::MapBy kind) {
    return like == nullptr ? 1 : std::max(1, objects_of(*like, kind));
  };
  const int objects = each_has(counted);
  const int numbered =
      placement.rank_object == cli::MapBy::slot ? objects : each_has(placement.rank_object);
  Mapper mapper(job, allocation, objects);
  if (is_given_by_rank(placement)) {
    TUTTI_TRY(given, ranks_given(job, allocation));
    plan.ranks = std::move(given);
  }
  for (std::size_t a = 0; a < job.apps.size() && !is_given_by_rank(placement); ++a) {
    TUTTI_TRY(counts, mapper.map(job.apps[a]));
    const bool is_ordered = placement.in_turns && placement.rank_by == cli::RankBy::unset;
    for (const int host : is_ordered ? mapper.order() : number_ranks(counts, placement, numbered)) {
      PlannedRank rank;
      rank.rank = static_cast<int>(plan.ranks.size());
      rank.app = static_cast<int>(a);
      rank.host = host;
      plan.ranks.push_back(std::move(rank));
    }
  }
  keep_used_hosts(plan, allocation);
  plan.notes = mapper.notes();
  TUTTI_DO(check_size(plan));
  return plan;
}

}  // namespace tutti::launch::plan
