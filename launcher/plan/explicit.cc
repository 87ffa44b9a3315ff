// Hosts given rank by rank: a rankfile, or a list of hosts in sequence.
//
//   rank 0=a slot=0-1        cores 0 and 1 of host a
//   rank 1=b slot=1:0        core 0 of package 1
//   rank 2=+n1               any place on the second host
#include "plan/explicit.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "wireup/protocol.h"

namespace tutti::launch::plan {
namespace {

tl::unexpected<Error> wrong(int line, const std::string& what) {
  return fail(Code::arg,
              "rankfile:" + std::to_string(line) + ": " + what + "; write 'rank 0=host slot=0-1'");
}

Result<int> host_named(const hosts::Allocation& allocation, const std::string& name, int line) {
  if (name.starts_with("+n")) {
    const auto number = text::parse_int(name.substr(2));
    if (number && *number >= 0 && *number < static_cast<std::int64_t>(allocation.hosts.size()))
      return static_cast<int>(*number);
  }
  for (std::size_t h = 0; h < allocation.hosts.size(); ++h)
    if (allocation.hosts[h].name == name || (!allocation.given && name == "localhost"))
      return static_cast<int>(h);
  return wrong(line, "host " + name + " is not among the job's hosts");
}

struct Place {
  int host = 0;
  std::string slot;
};

Result<std::map<int, Place>> read_rankfile(const std::string& file,
                                           const hosts::Allocation& allocation) {
  std::map<int, Place> places;
  int number = 0;
  for (const std::string& line : text::split(file, '\n')) {
    ++number;
    const std::string said(text::trim(line.substr(0, line.find('#'))));
    if (said.empty()) continue;
    const auto equals = said.find('=');
    if (!said.starts_with("rank") || equals == std::string::npos)
      return wrong(number, "'" + said + "'");
    const auto rank = text::parse_int(text::trim(said.substr(4, equals - 4)));
    if (!rank || *rank < 0 || *rank >= wireup::kMostRanks) return wrong(number, "'" + said + "'");
    const std::string rest(text::trim(said.substr(equals + 1)));
    const auto space = rest.find_first_of(" \t");
    TUTTI_TRY(host, host_named(allocation, rest.substr(0, space), number));
    Place place{host, ""};
    if (space != std::string::npos) {
      const std::string more(text::trim(rest.substr(space)));
      const auto at = more.find('=');
      if (!more.starts_with("slot") || at == std::string::npos)
        return wrong(number, "'" + more + "'");
      place.slot = text::trim(more.substr(at + 1));
    }
    if (!places.emplace(static_cast<int>(*rank), place).second)
      return wrong(number, "rank " + std::to_string(*rank) + " stands there twice");
  }
  if (places.empty()) return wrong(number, "names no rank");
  return places;
}

Result<std::map<int, Place>> read_rank_map(const std::vector<int>& map,
                                           const hosts::Allocation& allocation) {
  std::map<int, Place> places;
  for (const int host : map) {
    if (static_cast<std::size_t>(host) >= allocation.hosts.size())
      return fail(Code::arg, "--rankmap: there is no host " + std::to_string(host) +
                                 "; the job's hosts are 0 to " +
                                 std::to_string(allocation.hosts.size() - 1));
    places.emplace(static_cast<int>(places.size()), Place{host, ""});
  }
  return places;
}

int ranks_of(const cli::JobSpec& job, std::size_t natural) {
  int ranks = 0;
  for (const cli::AppSpec& app : job.apps)
    ranks += app.ranks > 0 ? app.ranks : job.apps.size() == 1 ? static_cast<int>(natural) : 1;
  return ranks;
}

// Which app a rank belongs to: one after the other.
int app_of(const cli::JobSpec& job, int rank) {
  int first = 0;
  for (std::size_t a = 0; a + 1 < job.apps.size(); ++a) {
    first += std::max(1, job.apps[a].ranks);
    if (rank < first) return static_cast<int>(a);
  }
  return static_cast<int>(job.apps.size()) - 1;
}

}  // namespace

bool is_given_by_rank(const cli::Placement& placement) {
  return placement.map_by == cli::MapBy::rankfile || placement.map_by == cli::MapBy::seq;
}

Result<std::vector<PlannedRank>> ranks_given(const cli::JobSpec& job,
                                             const hosts::Allocation& allocation) {
  std::vector<PlannedRank> ranks;
  const bool by_file = job.placement.map_by == cli::MapBy::rankfile;
  const bool has_map = !job.placement.rank_map.empty();
  std::map<int, Place> places;
  if (by_file) {
    if (!has_map && job.placement.rankfile.empty())
      return fail(Code::arg, "--map-by rankfile needs its file: rankfile:FILE=...");
    TUTTI_TRY(read, has_map ? read_rank_map(job.placement.rank_map, allocation)
                            : read_rankfile(job.placement.rankfile, allocation));
    places = std::move(read);
  }
  const auto& sequence = allocation.sequence;
  const std::size_t natural = by_file ? places.size() : std::max<std::size_t>(1, sequence.size());
  for (int r = 0; r < ranks_of(job, natural); ++r) {
    PlannedRank rank;
    rank.rank = r;
    rank.app = app_of(job, r);
    if (by_file) {
      const auto place = places.find(r);
      if (place == places.end())
        return fail(Code::arg, std::string(has_map ? "--rankmap" : "rankfile") + ": rank " +
                                   std::to_string(r) + " is not in it");
      rank.host = place->second.host;
      rank.slot = place->second.slot;
    } else if (!sequence.empty()) {
      const std::string& name = sequence[static_cast<std::size_t>(r) % sequence.size()];
      const auto found =
          std::find_if(allocation.hosts.begin(), allocation.hosts.end(),
                       [&](const hosts::HostSlots& host) { return host.name == name; });
      if (found != allocation.hosts.end())
        rank.host = static_cast<int>(found - allocation.hosts.begin());
    }
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

}  // namespace tutti::launch::plan
