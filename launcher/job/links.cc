// The matrix of links.
#include "job/links.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "job/watcher.h"

namespace tutti::launch::job {
namespace {

constexpr std::size_t kWidestMatrix = 32;
constexpr std::size_t kMostNames = 8, kLongestName = 32;  // of one rank's links

struct Report {
  std::map<std::pair<int, int>, std::string> link;          // (rank, peer) -> name
  std::map<std::string, std::map<std::string, int>> pairs;  // name -> why -> how many
  std::set<std::string> left_out;
  LinkNames names;
};

void read_line(Report& report, int rank, const std::string& line, std::size_t ranks) {
  const auto parts = text::split(line, '\t');
  if (parts.size() != 3) return;
  if (parts[0] == "-") {
    report.left_out.insert(parts[2]);
    return;
  }
  const auto peer = text::parse_int(parts[0]);
  if (!peer || *peer < 0 || static_cast<std::size_t>(*peer) >= ranks) return;
  if (!report.names.takes(rank, parts[1])) return;
  report.link[{rank, static_cast<int>(*peer)}] = parts[1];
  ++report.pairs[parts[1]][parts[2]];
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

std::string by_host(const Report& report, const std::vector<std::string>& hosts) {
  std::map<std::pair<std::string, std::string>, std::map<std::string, int>> between;
  for (const auto& [pair, name] : report.link) {
    const auto [rank, peer] = pair;
    if (rank == peer) continue;
    ++between[{hosts[static_cast<std::size_t>(rank)], hosts[static_cast<std::size_t>(peer)]}][name];
  }
  std::string table;
  for (const auto& [pair, names] : between) {
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
  return (refused_.size() == 1 ? "rank " : "ranks ") +
         fold_ranks({refused_.begin(), refused_.end()}) + " named links that are none (more than " +
         std::to_string(kMostNames) + ", or of more than " + std::to_string(kLongestName) +
         " bytes): they are left out\n";
}

std::string link_matrix(const std::map<int, std::string>& said,
                        const std::vector<std::string>& hosts) {
  Report report;
  for (const auto& [rank, lines] : said)
    for (const std::string& line : text::split(lines, '\n'))
      read_line(report, rank, line, hosts.size());
  std::string out = "links (row sends to column)\n";
  out += hosts.size() <= kWidestMatrix ? by_rank(report, hosts) : by_host(report, hosts);
  for (const auto& [name, reasons] : report.pairs)
    for (const auto& [why, count] : reasons)
      out += name + ": " + why + " (" + std::to_string(count) + ")\n";
  for (const std::string& each : report.left_out) out += "not used: " + each + "\n";
  return out + report.names.complaint();
}

}  // namespace tutti::launch::job
