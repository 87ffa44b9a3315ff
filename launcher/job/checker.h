// What `prun --check` has found out, and what to probe next. Pure: messages in, words out.
//
// Every pair of hosts is probed in both directions, in rounds in which no host takes part twice,
// so that rates do not disturb each other.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "control/messages.h"

namespace tutti::launch::job {

class HostChecker {
 public:
  // token: by which probes of this check know each other.
  HostChecker(std::vector<std::string> names, std::string token);

  // What a host is asked, by this clock of the head.
  control::Examine examination(std::int64_t head_clock_ms) const;
  // How a host was reached; noise: what its shell printed before the daemon.
  void reached(int host, const std::string& way, const std::string& noise);
  void unreachable(int host, int status, const std::string& reason);
  void examined(int host, const control::Findings& findings);
  void probed(int host, const control::Probed& probed);

  bool has_failed(int host) const { return hosts_.at(at(host)).status != 0; }
  bool all_examined() const;
  // The next round, by the host that is to send; none: everything is known. Empty while the last
  // round is under way is not asked for: call it when round_is_over().
  std::vector<std::pair<int, control::Probe>> next_round();
  bool round_is_over() const { return under_way_ == 0; }

  std::string report() const;
  int status() const;  // prun's: of the first host that fails

 private:
  struct Host {
    std::string name;
    int status = 0;  // not 0: not reached, or lost
    bool is_examined = false;
    bool sends = false;  // a probe is under way
    std::vector<control::Finding> lines;
    control::Findings findings;
  };
  using Pairs = std::vector<std::pair<int, int>>;
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  void plan_rounds();
  void judge_names(Host& host);
  void judge_pair(int from, const control::ProbedPair& pair);
  void compare_rates();
  std::string title(int from, int to, const control::ProbedPair& pair) const;
  std::string why_not(int from, const control::ProbedPair& pair) const;
  const std::string& name_of(int host) const { return hosts_.at(at(host)).name; }

  std::vector<Host> hosts_;
  std::string token_;
  bool planned_ = false;
  std::deque<Pairs> rounds_;
  int under_way_ = 0;
  std::vector<control::Finding> pairs_;
  std::vector<std::pair<double, std::string>> rates_;
};

}  // namespace tutti::launch::job
