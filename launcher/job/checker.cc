// Judging what hosts say about themselves and about each other.
#include "job/checker.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/numbers.h"
#include "base/printable.h"
#include "base/text.h"
#include "status/status.h"

namespace tutti::launch::job {
namespace {

constexpr std::size_t kMostGoodPairs = 40;
constexpr double kSlow = 4;  // so many times slower than the middle one is worth a remark

// Of what hosts, their login shells and name servers have said.
std::string line_of(const control::Finding& finding) {
  constexpr std::array kGrades{"good", "note", "BAD "};
  const auto grade = static_cast<std::size_t>(std::clamp(finding.grade, 0, 2));
  std::string line = "    " + std::string(kGrades[grade]) + "  " + text::printable(finding.what) +
                     ": " + text::printable(finding.text) + "\n";
  if (finding.grade != control::kGood && !finding.cure.empty())
    line += "          cure: " + text::printable(finding.cure) + "\n";
  return line;
}

std::string rate_text(double bytes_per_s) {
  char text[48];
  std::snprintf(text, sizeof text, bytes_per_s < 1e7 ? "%.2f MB/s" : "%.0f MB/s",
                bytes_per_s / 1e6);
  return text;
}

std::string short_name(const std::string& name) {
  return name.substr(0, name.find('.'));
}

std::string first_line(const std::string& text) {
  std::string line(text::trim(text.substr(0, text.find('\n'))));
  return line.size() > 60 ? line.substr(0, 60) + "..." : line;
}

// A reason of the spawner, "what happened; what to do", as a finding.
control::Finding of_reason(const std::string& reason) {
  std::size_t cut = reason.rfind("; ");
  if (const std::size_t end = reason.rfind("); "); end != std::string::npos) cut = end + 1;
  if (cut == std::string::npos)
    return {"reached", control::kBad, reason, "try the same by hand: ssh HOST true"};
  return {"reached", control::kBad, reason.substr(0, cut), reason.substr(cut + 2)};
}

}  // namespace

HostChecker::HostChecker(std::vector<std::string> names, std::string token)
    : token_(std::move(token)) {
  for (std::string& name : names) hosts_.emplace_back().name = std::move(name);
}

control::Examine HostChecker::examination(std::int64_t head_clock_ms) const {
  control::Examine wish;
  wish.head_clock_ms = head_clock_ms;
  for (const Host& host : hosts_) wish.hosts.push_back(host.name);
  wish.token = token_;
  return wish;
}

void HostChecker::reached(int host, const std::string& way, const std::string& noise) {
  auto& lines = hosts_.at(at(host)).lines;
  lines.push_back({"reached", control::kGood, way, ""});
  if (noise.empty()) return;
  lines.push_back({"login shell", control::kRemark,
                   "prints before every command: \"" + first_line(noise) + "\"",
                   "prun skips it, scp and rsync do not: print in ~/.bashrc only where [ -t 1 ]"});
}

void HostChecker::unreachable(int index, int status, const std::string& reason) {
  Host& host = hosts_.at(at(index));
  if (host.status != 0) return;
  host.status = status;
  host.lines.push_back(of_reason(reason));
  if (std::exchange(host.sends, false)) --under_way_;
}

void HostChecker::examined(int index, const control::Findings& findings) {
  Host& host = hosts_.at(at(index));
  if (std::exchange(host.is_examined, true)) return;
  host.findings = findings;
  host.lines.insert(host.lines.end(), findings.all.begin(), findings.all.end());
}

bool HostChecker::all_examined() const {
  return std::all_of(hosts_.begin(), hosts_.end(),
                     [](const Host& one) { return one.is_examined || one.status != 0; });
}

// A tournament: the first stays, the others turn around it; then the same with senders and
// receivers exchanged.
void HostChecker::plan_rounds() {
  planned_ = true;
  for (Host& host : hosts_)
    if (host.status == 0) judge_names(host);
  std::vector<int> ring;
  for (std::size_t i = 0; i < hosts_.size(); ++i)
    if (hosts_[i].status == 0 && hosts_[i].findings.port > 0) ring.push_back(static_cast<int>(i));
  if (ring.size() % 2 == 1) ring.push_back(-1);
  for (std::size_t turn = 0; turn + 1 < ring.size(); ++turn) {
    Pairs there, back;
    for (std::size_t i = 0; i < ring.size() / 2; ++i) {
      const int one = ring[i], other = ring[ring.size() - 1 - i];
      if (one < 0 || other < 0) continue;
      there.emplace_back(std::min(one, other), std::max(one, other));
      back.emplace_back(std::max(one, other), std::min(one, other));
    }
    rounds_.push_back(there);
    rounds_.push_back(back);
    std::rotate(ring.begin() + 1, ring.end() - 1, ring.end());
  }
}

std::vector<std::pair<int, control::Probe>> HostChecker::next_round() {
  if (!planned_) plan_rounds();
  std::vector<std::pair<int, control::Probe>> round;
  while (round.empty() && !rounds_.empty()) {
    for (const auto& [from, to] : rounds_.front()) {
      Host &sender = hosts_[at(from)], &other = hosts_[at(to)];
      if (sender.status != 0 || other.status != 0) continue;
      sender.sends = true;
      const control::Findings& its = other.findings;
      round.emplace_back(
          from, control::Probe{to, token_, sender.findings.addresses, its.addresses, its.port});
    }
    rounds_.pop_front();
  }
  under_way_ = static_cast<int>(round.size());
  if (round.empty()) compare_rates();
  return round;
}

// Every name leads to its host, and back.
void HostChecker::judge_names(Host& host) {
  std::string wrong, names;
  for (std::size_t i = 0; i < host.findings.names.size() && i < hosts_.size(); ++i) {
    const control::KnownName& known = host.findings.names[i];
    const Host& named = hosts_[i];
    const auto is_its = [&named](const std::string& address) {
      return std::any_of(named.findings.addresses.begin(), named.findings.addresses.end(),
                         [&address](const auto& one) { return one.address == address; });
    };
    const bool judged = !known.addresses.empty() && &named != &host;
    std::string problem;
    if (named.status != 0) continue;
    if (known.addresses.empty())
      problem = known.name + " is not known";
    else if (judged && std::none_of(known.addresses.begin(), known.addresses.end(), is_its))
      problem = known.name + " leads to " + known.addresses[0] + ", none of its addresses";
    else if (judged && !known.back.empty() && known.addresses[0] != known.name &&
             short_name(known.back) != short_name(known.name))
      problem = known.addresses[0] + " of " + known.name + " leads back to " + known.back;
    if (!problem.empty()) wrong.append(wrong.empty() ? "" : "; ").append(problem);
  }
  if (wrong.empty())
    host.lines.push_back(
        {"names", control::kGood, "every host's leads to it, and back where it can", ""});
  else
    host.lines.push_back({"names", control::kRemark, wrong,
                          "prun does without, programs may not: put them right in /etc/hosts or "
                          "the name server"});
}

void HostChecker::probed(int host, const control::Probed& probed) {
  if (!std::exchange(hosts_.at(at(host)).sends, false)) return;
  --under_way_;
  if (probed.to < 0 || at(probed.to) >= hosts_.size()) return;
  const auto works = [&probed](const control::ProbedPair& one) {
    return one.problem.empty() && one.reached == probed.to;
  };
  const bool any = std::any_of(probed.pairs.begin(), probed.pairs.end(), works);
  std::string reasons;
  for (const control::ProbedPair& pair : probed.pairs) {
    if (works(pair)) {
      judge_pair(host, pair);
      continue;
    }
    const std::string why = why_not(host, pair);
    if (any)
      pairs_.push_back(
          {title(host, probed.to, pair), control::kRemark, why, "another pair works and is used"});
    else
      reasons += (reasons.empty() ? " (" : "; ") + pair.from.name + " -> " + pair.to.name + " " +
                 pair.to.address + ": " + why;
  }
  if (any) return;
  if (reasons.empty()) reasons = " (they have no addresses of one family";
  pairs_.push_back({name_of(host) + " -> " + name_of(probed.to), control::kBad,
                    "cannot be reached" + reasons + ")",
                    "let the hosts open TCP connections to each other's ports (see 'ports'): look "
                    "at routes (ip route) and firewalls"});
}

std::string HostChecker::title(int from, int to, const control::ProbedPair& pair) const {
  return name_of(from) + " " + pair.from.name + " -> " + name_of(to) + " " + pair.to.name + " (" +
         pair.to.address + ")";
}

std::string HostChecker::why_not(int from, const control::ProbedPair& pair) const {
  if (!pair.problem.empty()) return pair.problem;
  if (pair.reached == from) return "leads back to " + name_of(from) + " itself";
  if (pair.reached < 0 || at(pair.reached) >= hosts_.size()) return "leads to another host";
  return "leads to " + name_of(pair.reached);
}

void HostChecker::judge_pair(int from, const control::ProbedPair& pair) {
  const std::string what = title(from, pair.reached, pair);
  char trip[48] = "";
  if (pair.round_trip_us > 0)
    std::snprintf(trip, sizeof trip, ", round trip %.0f us", pair.round_trip_us);
  const std::string text =
      "MTU " + std::to_string(pair.mtu) + ", " + rate_text(pair.bytes_per_s) + std::string(trip);
  const int least = std::min(pair.from.mtu, pair.to.mtu);
  if (pair.bytes_per_s > 0) rates_.emplace_back(pair.bytes_per_s, what);
  if (pair.round_trip_us > 0 && pair.mtu < least) {
    const std::string most = std::to_string(pair.mtu);
    pairs_.push_back({what, control::kBad,
                      "packets of MTU " + std::to_string(least) + " are lost, " +
                          (pair.mtu > 0 ? "of " + most + " arrive" : "and shorter ones") + "; " +
                          text,
                      "one MTU on both hosts and all between: ip link set " + pair.from.name +
                          " mtu " + (pair.mtu > 0 ? most : "1280")});
  } else if (pair.from.mtu != pair.to.mtu) {
    pairs_.push_back({what, control::kRemark,
                      "MTU " + std::to_string(pair.from.mtu) + " here, " +
                          std::to_string(pair.to.mtu) + " there; " + text,
                      "give both the same: ip link set NAME mtu N"});
  } else {
    pairs_.push_back({what, control::kGood, text, ""});
  }
}

void HostChecker::compare_rates() {
  if (rates_.size() < 6) return;
  std::sort(rates_.begin(), rates_.end());
  const auto& [slowest, what] = rates_.front();
  const double middle = rates_[rates_.size() / 2].first;
  if (slowest * kSlow < middle)
    pairs_.push_back({what, control::kRemark,
                      rate_text(slowest) + ", where the middle pair has " + rate_text(middle),
                      "look at its cable and speed (ethtool), or at what else runs there"});
}

std::string HostChecker::report() const {
  std::string text;
  int bad = 0;
  const auto add = [&text, &bad](const control::Finding& one) {
    text += line_of(one);
    bad += one.grade == control::kBad ? 1 : 0;
  };
  for (const Host& host : hosts_) {
    text += "host " + host.name + "\n";
    for (const control::Finding& one : host.lines) add(one);
  }
  if (!pairs_.empty()) text += "between hosts\n";
  std::size_t hidden = 0;
  for (const control::Finding& one : pairs_) {
    if (one.grade == control::kGood && pairs_.size() > kMostGoodPairs)
      ++hidden;
    else
      add(one);
  }
  if (hidden > 0)
    text += "    good  " + std::to_string(hidden) + " pairs, " + rate_text(rates_.front().first) +
            " to " + rate_text(rates_.back().first) + "\n";
  const std::string count = text::counted(hosts_.size(), "host");
  text += bad == 0 ? count + ": jobs can run\n"
                   : count + ": " + text::counted(bad, "line") + (bad == 1 ? " is" : " are") +
                         " BAD; each has its cure\n";
  return text;
}

int HostChecker::status() const {
  for (const Host& host : hosts_)
    if (host.status != 0) return host.status;
  const auto is_bad = [](const control::Finding& one) { return one.grade == control::kBad; };
  for (const Host& host : hosts_)
    if (std::any_of(host.lines.begin(), host.lines.end(), is_bad))
      return status::of(status::ExitStatus::no_resources);
  return std::any_of(pairs_.begin(), pairs_.end(), is_bad)
             ? status::of(status::ExitStatus::host_unreachable)
             : 0;
}

}  // namespace tutti::launch::job
