// Sums of what ranks spent in calls, as three tables.
#include "job/usage.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/text.h"
#include "watch/recorder.h"
#include "watch/watch.h"
#include "wireup/protocol.h"

namespace tutti::launch::job {
namespace {

constexpr std::size_t kMostRows = 32;

// Calls that end only when others do their part.
bool waits_for_others(const std::string& name) {
  constexpr std::array kWaiting{"MPI_Wait",   "MPI_Recv",     "MPI_Mrecv",    "MPI_Probe",
                                "MPI_Mprobe", "MPI_Sendrecv", "MPI_Barrier",  "MPI_Bcast",
                                "MPI_Gather", "MPI_Scatter",  "MPI_All",      "MPI_Reduce",
                                "MPI_Scan",   "MPI_Exscan",   "MPI_Neighbor", "MPI_Ssend"};
  if (name == "MPI_Alloc_mem" || name == "MPI_Reduce_local" || name.ends_with("_init"))
    return false;
  return std::any_of(kWaiting.begin(), kWaiting.end(),
                     [&name](const char* each) { return name.starts_with(each); });
}

using Row = std::vector<std::string>;

// The first row is the head. Columns are as wide as their longest word; those that are 'l' in
// `sides` begin alike, the others end alike.
std::string table_of(const std::vector<Row>& rows, std::string_view sides) {
  std::vector<std::size_t> widths(sides.size());
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const Row& row : rows) {
    text += "  ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string fill(widths[i] - row[i].size(), ' ');
      text += "  " + (sides[i] == 'l' ? row[i] + fill : fill + row[i]);
    }
    text += "\n";
  }
  return text;
}

std::string number(double value, const char* form) {
  char text[48];
  std::snprintf(text, sizeof text, form, value);
  return text;
}

std::string seconds(std::uint64_t ns) {
  return number(static_cast<double>(ns) / 1e9, "%.6f");
}

}  // namespace

void Usage::take(const control::Used& used) {
  const auto says = static_cast<wireup::RankSays>(used.says);
  if (says == wireup::RankSays::spent) take_spent(used.rank, used.bytes);
  if (says == wireup::RankSays::sent) take_sent(used.rank, used.bytes);
}

void Usage::take_spent(int rank, std::string_view parcel) {
  for (; parcel.size() >= sizeof(watch::Spent); parcel.remove_prefix(sizeof(watch::Spent))) {
    watch::Spent spent{};
    std::memcpy(&spent, parcel.data(), sizeof spent);
    const std::string name = watch::function_name(spent.function);
    Call& call = calls_[name];
    call.calls += spent.calls;
    call.total_ns += spent.total_ns;
    call.bytes += spent.bytes;
    if (spent.longest_ns >= call.longest_ns) call.slowest = rank;
    call.longest_ns = std::max(call.longest_ns, spent.longest_ns);
    Rank& its = ranks_[rank];
    its.inside_ns += spent.total_ns;
    if (waits_for_others(name)) its.waiting_ns += spent.total_ns;
  }
  if (!parcel.empty()) ++left_out_;
}

void Usage::take_sent(int rank, std::string_view lines) {
  for (const std::string& line : text::split(lines, '\n')) {
    if (line.empty()) continue;
    const auto words = text::split(line, '\t');
    const auto peer = words.size() == 4 ? text::parse_int(words[0]) : std::nullopt;
    if (!peer || *peer < 0 || static_cast<std::size_t>(*peer) >= hosts_.size()) {
      ++left_out_;
      continue;
    }
    if (!names_.takes(rank, words[1])) continue;
    const std::string& from = hosts_[static_cast<std::size_t>(rank)];
    Link& link = links_[from + " -> " + hosts_[static_cast<std::size_t>(*peer)] + "\t" + words[1]];
    link.messages += static_cast<std::uint64_t>(text::parse_int(words[2]).value_or(0));
    link.bytes += static_cast<std::uint64_t>(text::parse_int(words[3]).value_or(0));
  }
}

std::string Usage::calls_table() const {
  std::vector<std::pair<std::string, Call>> rows(calls_.begin(), calls_.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& one, const auto& other) {
    return one.second.total_ns > other.second.total_ns;
  });
  std::vector<Row> table{{"call", "calls", "total s", "mean us", "longest ms", "of rank"}};
  for (const auto& [name, call] : rows) {
    const auto total = static_cast<double>(call.total_ns), calls = static_cast<double>(call.calls);
    table.push_back({name, std::to_string(call.calls), seconds(call.total_ns),
                     number(total / calls / 1e3, "%.2f"),
                     number(static_cast<double>(call.longest_ns) / 1e6, "%.3f"),
                     std::to_string(call.slowest)});
  }
  return table_of(table, "lrrrrr");
}

std::string Usage::ranks_table() const {
  std::vector<std::pair<int, Rank>> rows(ranks_.begin(), ranks_.end());
  if (rows.size() > kMostRows) {
    std::sort(rows.begin(), rows.end(), [](const auto& one, const auto& other) {
      return one.second.waiting_ns > other.second.waiting_ns;
    });
    // Those who wait longest, and those who wait least: the others wait for these.
    rows.erase(rows.begin() + kMostRows / 2, rows.end() - kMostRows / 2);
  }
  std::vector<Row> table{{"rank", "host", "in MPI s", "waiting s"}};
  for (const auto& [rank, its] : rows)
    table.push_back({std::to_string(rank), hosts_[static_cast<std::size_t>(rank)],
                     seconds(its.inside_ns), seconds(its.waiting_ns)});
  return table_of(table, "rlrr");
}

std::string Usage::links_table() const {
  if (links_.empty()) return "";
  std::vector<std::pair<std::string, Link>> rows(links_.begin(), links_.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& one, const auto& other) {
    return one.second.bytes > other.second.bytes;
  });
  if (rows.size() > kMostRows) rows.resize(kMostRows);
  std::vector<Row> table{{"from -> to", "link", "messages", "bytes"}};
  for (const auto& [name, link] : rows) {
    const std::size_t cut = name.find('\t');
    table.push_back({name.substr(0, cut), name.substr(cut + 1), std::to_string(link.messages),
                     std::to_string(link.bytes)});
  }
  return table_of(table, "lrrr");
}

std::string Usage::report() const {
  std::string nonsense = names_.complaint();
  if (left_out_ > 0)
    nonsense += std::to_string(left_out_) +
                " of the parcels and lines in which ranks tell this "
                "made no sense: they are left out\n";
  if (calls_.empty())
    return "    no rank told of any MPI call (it must reach MPI_Finalize)\n" + nonsense;
  return "  time in MPI calls\n" + calls_table() +
         "  by rank (waiting: in calls that end only when " + "others do their part)\n" +
         ranks_table() + (links_.empty() ? "" : "  messages by link\n") + links_table() + nonsense;
}

}  // namespace tutti::launch::job
