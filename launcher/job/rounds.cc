// Rounds: gather hosts, plan, run; again after a failure, as long as restarts are left, and
// whenever hosts come or go between the least and the most that torchrun's --nnodes allows.
//
// A host keeps its place from round to round, and so do its ranks; who comes later takes the
// first place that somebody left.
#include "job/rounds.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <utility>

#include "base/clock.h"
#include "base/numbers.h"
#include "control/terminal.h"
#include "job/alike.h"
#include "job/reasons.h"
#include "status/status.h"

namespace tutti::launch::job {
namespace {

constexpr std::chrono::seconds kReturn{10};  // for the members of the last round to come back
constexpr std::chrono::seconds kQuiet{3};
constexpr std::chrono::seconds kUnsaidWords{5};  // for a reader who takes nothing

class Rounds {
 public:
  explicit Rounds(JobRequest request) : request_(std::move(request)) {
    const cli::TorchSpec& torch = request_.spec.torch;
    if (const double limit = request_.spec.timeout_s; limit > 0)
      ends_ns_ = now_ns() + static_cast<std::int64_t>(limit * 1e9);
    least_ = torch.used ? static_cast<std::size_t>(torch.min_nodes) : 1;
    most_ = torch.used ? static_cast<std::size_t>(torch.max_nodes) : 1U << 20;
    own_hosts_ = request_.allocation.hosts;
    if (!torch.used && request_.meeting) {
      const auto wanted = static_cast<std::size_t>(request_.spec.placement.most_hosts);
      least_ = most_ = wanted + own_hosts_.size();
      by_slots_ = wanted == 0;
    }
  }

  int run();

 private:
  // What ended the wait for hosts: none, or the status to end with and its words.
  struct Stop {
    int status = 0;
    std::string words;
  };
  struct Seat {
    std::string id;
    std::string name;
  };
  Stop gather();
  bool is_over() const { return ends_ns_ > 0 && now_ns() >= ends_ns_; }
  bool enough(bool last_call) const;
  std::string awaited() const;
  void say(const std::string& line) { unsaid_ += control::own_line(line); }
  int end(int status, const std::string& line);
  Result<Round> next_round();
  void take_seats();
  void set_spares_aside(Round& round) const;
  bool goes_on(const RoundOutcome& outcome);
  // In which the hosts that are waited for have to come.
  double time_to_come_s() const {
    const double start_s = request_.spec.start_timeout_s;
    return start_s > 0 ? start_s : request_.spec.torch.join_timeout_s;
  }
  bool elastic() const { return least_ < most_ && request_.spec.torch.used; }
  const topo::Machine* like() const { return request_.machine ? &*request_.machine : nullptr; }
  int ranks_wanted() const {
    int ranks = 0;
    for (const cli::AppSpec& app : request_.spec.apps) ranks += std::max(1, app.ranks);
    return ranks;
  }

  JobRequest request_;
  std::vector<hosts::HostSlots> own_hosts_;  // those that did not join
  std::vector<Seat> seats_;                  // of those that joined, in order of their ranks
  std::size_t least_ = 1, most_ = 1;
  std::size_t expected_ = 0;  // members of the last round that will come back
  bool by_slots_ = false;
  int restarts_ = 0, rounds_ = 0;
  const off_t input_begins_ = ::lseek(STDIN_FILENO, 0, SEEK_CUR);
  // Between two loops nobody can write without waiting for a slow reader: what is said there goes
  // to the next one.
  std::string unsaid_;
  std::int64_t ends_ns_ = 0;  // of all rounds together; 0: no limit
};

bool Rounds::enough(bool last_call) const {
  const auto& waiting = request_.meeting->waiting();
  const std::size_t hosts = own_hosts_.size() + waiting.size();
  if (by_slots_) {
    int slots = 0;
    for (const hosts::HostSlots& host : own_hosts_) slots += host.slots;
    for (const auto& one : waiting) slots += one->slots;
    return slots >= ranks_wanted();
  }
  if (hosts >= most_) return true;
  return hosts >= least_ && (last_call || (expected_ > 0 && waiting.size() >= expected_));
}

std::string Rounds::awaited() const {
  const std::size_t here = own_hosts_.size() + request_.meeting->waiting().size();
  return "waiting for hosts at port " + std::to_string(request_.meeting->port()) + ": " +
         std::to_string(here) + " of " +
         (by_slots_ ? std::to_string(ranks_wanted()) + " slots" : text::counted(least_, "host")) +
         " are here";
}

int Rounds::end(int status, const std::string& line) {
  say(line);
  control::last_words(unsaid_, kUnsaidWords);
  return status;
}

// Until enough hosts are here: all of them; or the least number, and then nobody for a while.
Rounds::Stop Rounds::gather() {
  control::Loop loop;
  control::Terminal terminal(loop, [](int, int) {});  // nothing of a rank's can be lost here
  terminal.write(2, std::exchange(unsaid_, {}));
  control::Loop::TimerId call = 0;
  bool late = false;
  Stop stop;
  const auto end = [&](int status, std::string words) {
    stop = {status, std::move(words)};
    loop.stop();
  };
  loop.on_signals({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGUSR1, SIGUSR2, SIGALRM},
                  [&](int number) {
                    if (number == SIGUSR1 || number == SIGUSR2 || number == SIGALRM)
                      return;  // there is no rank yet
                    end(status::of_signal(number), "ended by a signal while waiting for hosts");
                  });
  if (ends_ns_ > 0)
    loop.after(time_left(ends_ns_), [&] {
      end(status::of(status::ExitStatus::time_limit), time_limit_words(request_.spec.timeout_s));
    });
  const auto look = [&] {
    if (enough(false)) return loop.stop();
    loop.cancel(call);
    if (!enough(true)) return;
    const auto wait =
        expected_ > 0
            ? std::chrono::milliseconds(kReturn)
            : std::chrono::milliseconds(static_cast<long>(1000 * request_.spec.torch.last_call_s));
    call = loop.after(wait, [&loop] { loop.stop(); });
  };
  loop.after(kQuiet, [&] { terminal.say(awaited()); });
  const double limit_s = time_to_come_s();
  loop.after(std::chrono::milliseconds(static_cast<long>(1000 * limit_s)), [&] {
    late = true;
    loop.stop();
  });
  request_.meeting->attach(loop, look);
  loop.post(look);
  loop.run();
  unsaid_ = terminal.take_unsaid();
  request_.meeting->detach();
  if (stop.status != 0 || !late || enough(true)) return stop;
  return {status::of(status::ExitStatus::no_allocation),
          "only " + text::counted(own_hosts_.size() + request_.meeting->waiting().size(), "host") +
              " came to port " + std::to_string(request_.meeting->port()) + " within " +
              seconds_text(limit_s) + " s; needed: " +
              (by_slots_ ? text::counted(ranks_wanted(), "slot") : text::counted(least_, "host"))};
}

// The order of those who wait: --node-rank first, then where they sat, then as they came.
void Rounds::take_seats() {
  auto& waiting = request_.meeting->waiting();
  std::vector<Seat> seats = seats_;
  for (Seat& seat : seats) {
    const bool back = std::any_of(waiting.begin(), waiting.end(),
                                  [&](const auto& one) { return one->id == seat.id; });
    if (!back) seat = {};
  }
  for (const auto& one : waiting) {
    const auto own = [&](const Seat& seat) { return seat.id == one->id; };
    if (std::any_of(seats.begin(), seats.end(), own)) continue;
    auto free =
        std::find_if(seats.begin(), seats.end(), [](const Seat& s) { return s.id.empty(); });
    if (free == seats.end()) free = seats.insert(seats.end(), Seat{});
    *free = {one->id, one->name};
  }
  std::erase_if(seats, [](const Seat& seat) { return seat.id.empty(); });
  const auto place = [&](const std::unique_ptr<spawn::JoiningHost>& one) {
    const auto seat = std::find_if(seats.begin(), seats.end(),
                                   [&](const Seat& each) { return each.id == one->id; });
    return std::pair(one->node_rank < 0 ? 1 << 20 : one->node_rank, seat - seats.begin());
  };
  std::stable_sort(waiting.begin(), waiting.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
  seats_ = std::move(seats);
}

Result<Round> Rounds::next_round() {
  Round round;
  plan::Plan plan = std::exchange(request_.plan, {});  // a further round gets its own
  round.request = request_;
  round.request.plan = std::move(plan);
  round.restarts = restarts_;
  round.restarts_left = restarts_ < request_.spec.rank.max_restarts;
  round.elastic = elastic();
  round.ends_ns = ends_ns_;
  round.number = rounds_++;
  round.input_begins = input_begins_;
  if (!request_.meeting) return round;
  take_seats();
  auto& waiting = request_.meeting->waiting();
  hosts::Allocation& allocation = round.request.allocation;
  allocation.hosts = own_hosts_;
  allocation.given = true;
  std::map<std::string, int> names;
  for (const hosts::HostSlots& host : own_hosts_) ++names[host.name];
  while (!waiting.empty() && allocation.hosts.size() < most_) {
    hosts::HostSlots host;
    host.name = waiting.front()->name;
    // Several may come from one machine: each is a host of its own.
    if (const int before = names[host.name]++; before > 0)
      host.name += "." + std::to_string(before);
    host.slots = waiting.front()->slots;
    host.slots_given = true;
    host.source = "who joined";
    host.joined = true;
    allocation.hosts.push_back(std::move(host));
    round.joined.push_back(std::move(waiting.front()));
    waiting.erase(waiting.begin());
  }
  TUTTI_TRY(newly, plan::map_ranks(round.request.spec, allocation, like()));
  TUTTI_DO(plan::check_streams(round.request.spec, newly));
  round.request.plan = std::move(newly);
  set_spares_aside(round);
  return round;
}

// Who came for nothing: other hosts had slots for all ranks.
void Rounds::set_spares_aside(Round& round) const {
  std::vector<std::unique_ptr<spawn::JoiningHost>> all = std::exchange(round.joined, {});
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string& name = round.request.allocation.hosts[own_hosts_.size() + i].name;
    const auto& planned = round.request.plan.hosts;
    const bool has_ranks =
        std::any_of(planned.begin(), planned.end(),
                    [&name](const plan::PlannedHost& host) { return host.name == name; });
    (has_ranks ? round.joined : round.spares).push_back(std::move(all[i]));
  }
}

// Whether another round follows, and what is said about it.
bool Rounds::goes_on(const RoundOutcome& outcome) {
  if (outcome.cause == Cause::joining) {
    say("a host joins; all ranks start again");
    return true;
  }
  if (outcome.cause == Cause::rank && restarts_ < request_.spec.rank.max_restarts) {
    ++restarts_;
    say("all ranks start again (restart " + std::to_string(restarts_) + " of " +
        std::to_string(request_.spec.rank.max_restarts) + ")");
    return true;
  }
  if (outcome.cause != Cause::host || !elastic()) return false;
  say("all ranks start again without " + (outcome.lost.empty() ? "it" : listed(outcome.lost)));
  return true;
}

int Rounds::run() {
  for (;;) {
    if (request_.meeting) {
      if (const Stop stop = gather(); stop.status != 0) return end(stop.status, stop.words);
      if (request_.meeting_is_port) request_.meeting->close_door();
    }
    auto round = next_round();
    if (!round) return end(status::of(status::ExitStatus::too_few_slots), round.error().text);
    round->unsaid = std::exchange(unsaid_, {});
    const std::size_t joined = round->joined.size() + round->spares.size();
    const RoundOutcome outcome = run_round(std::move(*round));
    if (!goes_on(outcome)) return outcome.status;
    if (is_over())
      return end(status::of(status::ExitStatus::time_limit),
                 time_limit_words(request_.spec.timeout_s));
    const auto is_lost = [&](const auto& host) {
      return std::find(outcome.lost.begin(), outcome.lost.end(), host.name) != outcome.lost.end();
    };
    const std::size_t own = own_hosts_.size();
    std::erase_if(own_hosts_, is_lost);
    if (!request_.meeting) {
      std::erase_if(request_.allocation.hosts, is_lost);
      auto plan = plan::map_ranks(request_.spec, request_.allocation, like());
      if (!plan || !plan::check_streams(request_.spec, *plan) ||
          request_.allocation.hosts.size() < least_)
        return outcome.status;
      request_.plan = std::move(*plan);
      continue;
    }
    expected_ = joined - std::min(joined, outcome.lost.size() - (own - own_hosts_.size())) +
                (outcome.cause == Cause::joining ? 1 : 0);
    if (request_.meeting_is_port)
      if (const auto open = request_.meeting->open_door(); !open)
        return end(status::of(status::ExitStatus::no_resources), open.error().text);
  }
}

}  // namespace

int run_job(JobRequest request) {
  return Rounds(std::move(request)).run();
}

}  // namespace tutti::launch::job
