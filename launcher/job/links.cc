// The matrix of links.
#include "job/links.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "base/text.h"
#include "job/fold.h"

namespace tutti::launch::job {
namespace {

constexpr std::size_t kWidestMatrix = 32;
constexpr std::size_t kMostNames = 8, kLongestName = 32;  // of one rank's links

using Pair = std::pair<std::string, std::string>;  // of hosts

struct PeersAlike {
  int first = 0, last = 0;  // peers
  std::string name, why;
};

struct Report {
  std::map<std::pair<int, int>, std::string> link;                   // (rank, peer) -> name
  std::map<Pair, std::map<std::string, std::int64_t>> between;       // of different ranks
  std::map<std::string, std::map<std::string, std::int64_t>> pairs;  // name -> why -> how many
  std::set<std::string> left_out;
  std::int64_t told = 0;
  LinkNames names;
};

// A rank tells of its peers in their order: what begins anew is a later program's, which replaces
// what was said before.
std::vector<PeersAlike> groups_of(int rank, const std::string& lines, std::size_t ranks,
                                  Report& report) {
  std::vector<PeersAlike> groups;
  for (const std::string& line : text::split(lines, '\n')) {
    const auto parts = text::split(line, '\t');
    if (parts.size() != 3) continue;
    if (parts[0] == "-") {
      report.left_out.insert(parts[2]);
      continue;
    }
    const auto dash = parts[0].find('-');
    const auto first = text::parse_int(parts[0].substr(0, dash));
    const auto last =
        dash == std::string::npos ? first : text::parse_int(parts[0].substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || static_cast<std::size_t>(*last) >= ranks)
      continue;
    if (!report.names.takes(rank, parts[1])) continue;
    if (!groups.empty() && *first <= groups.back().last) groups.clear();
    groups.push_back({static_cast<int>(*first), static_cast<int>(*last), parts[1], parts[2]});
  }
  return groups;
}

// For each rank the end of those on its host that follow it.
std::vector<int> ends_of_hosts(const std::vector<std::string>& hosts) {
  std::vector<int> ends(hosts.size());
  for (std::size_t i = hosts.size(); i-- > 0;)
    ends[i] =
        i + 1 < hosts.size() && hosts[i + 1] == hosts[i] ? ends[i + 1] : static_cast<int>(i) + 1;
  return ends;
}

void count(Report& report, int rank, const PeersAlike& group, const std::vector<std::string>& hosts,
           const std::vector<int>& ends) {
  const std::int64_t all = group.last - group.first + 1;
  report.told += all;
  report.pairs[group.name][group.why] += all;
  if (hosts.size() <= kWidestMatrix)
    for (int peer = group.first; peer <= group.last; ++peer) report.link[{rank, peer}] = group.name;
  else
    for (int peer = group.first; peer <= group.last;) {
      const auto at = static_cast<std::size_t>(peer);
      const int end = std::min(ends[at], group.last + 1);
      const bool is_in = peer <= rank && rank < end;
      if (const int others = end - peer - (is_in ? 1 : 0); others > 0)
        report.between[{hosts[static_cast<std::size_t>(rank)], hosts[at]}][group.name] += others;
      peer = end;
    }
}

std::string padded(std::string word, std::size_t width) {
  if (word.size() < width) word.insert(0, width - word.size(), ' ');
  return word;
}

std::string by_rank(const Report& report, const std::vector<std::string>& hosts) {
  std::size_t width = 4;
  for (const auto& [name, reasons] : report.pairs) width = std::max(width, name.size());
  std::size_t label = 4;
  for (const auto& host : hosts) label = std::max(label, host.size() + 5);
  std::string table = std::string(label, ' ');
  for (std::size_t peer = 0; peer < hosts.size(); ++peer)
    table += "  " + padded(std::to_string(peer), width);
  table += "\n";
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    table += padded(hosts[rank] + " " + std::to_string(rank), label);
    for (std::size_t peer = 0; peer < hosts.size(); ++peer) {
      const auto found = report.link.find({static_cast<int>(rank), static_cast<int>(peer)});
      table += "  " + padded(found == report.link.end() ? "?" : found->second, width);
    }
    table += "\n";
  }
  return table;
}

std::string by_host(const Report& report) {
  std::string table;
  for (const auto& [pair, names] : report.between) {
    table += pair.first + " -> " + pair.second + ":";
    for (const auto& [name, count] : names) table += " " + name + " x" + std::to_string(count);
    table += "\n";
  }
  return table;
}

}  // namespace

bool LinkNames::takes(int rank, const std::string& name) {
  auto& known = names_[rank];
  const bool is_good =
      name.size() <= kLongestName && (known.size() < kMostNames || known.count(name) > 0);
  if (is_good)
    known.insert(name);
  else
    refused_.insert(rank);
  return is_good;
}

std::string LinkNames::complaint() const {
  if (refused_.empty()) return "";
  return ranks_text({refused_.begin(), refused_.end()}) + " named links that are none (more than " +
         std::to_string(kMostNames) + ", or of more than " + std::to_string(kLongestName) +
         " bytes): they are left out\n";
}

std::string link_matrix(const std::map<int, std::string>& said,
                        const std::vector<std::string>& hosts) {
  Report report;
  const std::vector<int> ends = ends_of_hosts(hosts);
  for (const auto& [rank, lines] : said)
    for (const PeersAlike& group : groups_of(rank, lines, hosts.size(), report))
      count(report, rank, group, hosts, ends);
  std::string out = "links (row sends to column)\n";
  out += hosts.size() <= kWidestMatrix ? by_rank(report, hosts) : by_host(report);
  for (const auto& [name, reasons] : report.pairs)
    for (const auto& [why, count] : reasons)
      out += name + ": " + why + " (" + std::to_string(count) + ")\n";
  const auto all = static_cast<std::int64_t>(hosts.size() * hosts.size());
  if (report.told < all)
    out += "not told: " + std::to_string(all - report.told) + " of " + std::to_string(all) +
           " links\n";
  for (const std::string& each : report.left_out) out += "not used: " + each + "\n";
  return out + report.names.complaint();
}

}  // namespace tutti::launch::job
