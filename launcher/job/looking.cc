// The head looks at the ranks: for the hang report, for the report at a time limit, and for what
// they say of their calls (--stats, --trace).
#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/printable.h"
#include "job/links.h"
#include "job/observation.h"
#include "wireup/protocol.h"

namespace tutti::launch::job {
namespace {

constexpr std::size_t kMostStacks = 8;
constexpr std::size_t kMostStackBytes = 256U << 10;
constexpr std::int64_t kLongestPause = 5000;
constexpr std::chrono::seconds kCallersLimit{20};  // a debugger takes its time over large programs
constexpr std::int64_t kStandstillMs = 2000;       // all ranks wait in MPI: nobody is on the way

std::int64_t now_ms() {
  return now_ns() / 1'000'000;
}

}  // namespace

Observation::Observation(control::Loop& loop, const JobRequest& request, const Course& course,
                         control::Terminal& terminal, Calls calls)
    : loop_(loop),
      request_(request),
      course_(course),
      terminal_(terminal),
      calls_(std::move(calls)),
      watcher_(now_ms(), request.plan.hosts.size() > 1) {}

void Observation::go_on() {
  watcher_.go_on(now_ms());
}

// Looks some times in the span after which a standstill or the time limit is reported, so that it
// is known for how long; and every few seconds at least. Answers that are slower than that are
// waited for: else the next look would take the place of each.
void Observation::start() {
  std::int64_t pause = kLongestPause;
  for (const double span_s : {request_.spec.hang_report_s, request_.spec.timeout_s})
    if (span_s > 0 && span_s < 3600)
      pause = std::min(pause, static_cast<std::int64_t>(span_s * 1000) / 6);
  pause = std::max<std::int64_t>(pause, 50);
  loop_.after(std::chrono::milliseconds(pause), [this] {
    if (course_.state == State::leaving || course_.state == State::done) return;
    const bool is_due = look_.waiting.empty() || now_ms() - look_.asked_ms >= kLongestPause;
    if (course_.state == State::running && is_due) {
      look({}, [this] {
        check_movement();
        compare_calls();
        look_closer();
      });
      calls_.settle();
    }
    start();
  });
}

// Asks every host; `then` runs when all have answered. A look under way is joined.
void Observation::look(const control::Look& what, std::function<void()> then) {
  ++look_.number;
  look_.asked_ms = now_ms();
  if (then) look_.then.push_back(std::move(then));
  control::Look look = what;
  look.number = look_.number;
  look_.waiting = calls_.ask(look);
}

void Observation::take(int host, const control::Seen& seen) {
  for (const control::SeenRank& one : seen.ranks)
    if (watcher_.take(one, now_ms()) && !one.ended) reported_still_ = judged_still_ = false;
  comparison_.take(seen.calls);
  has_new_calls_ = has_new_calls_ || !seen.calls.empty();
  if (seen.number == 0 && !seen.ranks.empty() && course_.state == State::running) {
    compare_calls();
    look_closer();
  }
  const bool is_awaited = seen.number == look_.number && look_.waiting.erase(host) > 0;
  if (!is_awaited || !look_.waiting.empty()) return;
  const auto waiting = std::exchange(look_.then, {});
  for (const auto& then : waiting) then();
}

// Two calls that differ do so for good; another look tells what all the others did.
void Observation::compare_calls() {
  if (!std::exchange(has_new_calls_, false)) return;
  CallComparison::Difference found = comparison_.difference();
  if (!found.line.empty())
    look_again_and_tell(std::move(found), CallComparison::Order::of_each_kind);
}

void Observation::look_again_and_tell(CallComparison::Difference found,
                                      CallComparison::Order order) {
  control::Look again;
  again.all_calls = true;
  look(again, [this, order, found = std::move(found)] {
    has_new_calls_ = false;
    if (order == CallComparison::Order::of_all && !watcher_.all_wait(now_ms(), kStandstillMs))
      return;
    const CallComparison::Difference now = comparison_.difference(order);
    tell_difference(now.line.empty() ? found : now);
  });
}

// Where every rank waits, the next look comes soon; once they have waited for a while, their calls
// are compared in the order of all of them: nothing that would still match them is on the way.
void Observation::look_closer() {
  if (!watcher_.all_wait(now_ms(), 0)) judged_still_ = false;
  if (looks_closer_ || judged_still_ || !watcher_.all_wait(now_ms(), 0)) return;
  looks_closer_ = true;
  loop_.after(std::chrono::milliseconds(kStandstillMs / 2), [this] {
    looks_closer_ = false;
    if (course_.state != State::running) return;
    look({}, [this] {
      if (watcher_.all_wait(now_ms(), kStandstillMs)) return judge_standstill();
      look_closer();
    });
  });
}

void Observation::judge_standstill() {
  judged_still_ = true;
  CallComparison::Difference found = comparison_.difference(CallComparison::Order::of_all);
  if (!found.line.empty()) look_again_and_tell(std::move(found), CallComparison::Order::of_all);
}

void Observation::tell_difference(const CallComparison::Difference& found) {
  if (found.line.empty() || tells_difference_ || !calls_.may_fail()) return;
  if (found.only_warns) {
    comparison_.overlook(found);
    return terminal_.say(found.line + " (TUTTI_MISMATCH=warn: the job goes on)");
  }
  tells_difference_ = true;
  gather_stacks(found.callers, kCallersLimit, [this, found](const StackWish& stacks) {
    if (calls_.may_fail())
      calls_.fail(status::ExitStatus::mismatch, found.line + places_of(found, stacks) +
                                                    "; TUTTI_MISMATCH=warn lets the job go on");
  });
}

// "; rank 0 on host a is now in main at a.c:3, rank 1 on host b is now in main at a.c:5"
std::string Observation::places_of(const CallComparison::Difference& found,
                                   const StackWish& stacks) const {
  std::string text;
  for (const int rank : found.callers) {
    text += (text.empty() ? "; rank " : ", rank ") + std::to_string(rank) + " on host " +
            host_of_rank(rank);
    const auto stack = stacks.stack_of.find(rank);
    const std::string caller = stack == stacks.stack_of.end() ? "" : caller_in_stack(stack->second);
    text += course_.rank_ended[at(rank)] ? " has ended"
            : caller.empty()             ? ""
                                         : " is now in " + caller;
  }
  return text;
}

void Observation::check_movement() {
  if (request_.spec.hang_report_s <= 0) return;
  const auto span = static_cast<std::int64_t>(request_.spec.hang_report_s * 1000);
  if (!watcher_.is_still(now_ms(), span)) {
    reported_still_ = false;
    return;
  }
  const std::string limit =
      span % 1000 == 0 ? std::to_string(span / 1000) + " s" : std::to_string(span) + " ms";
  const std::optional<int> dead = watcher_.outlived();
  const bool ends = dead && !request_.spec.keep_going && calls_.may_fail();
  // Told once; that the program is dead may be seen later.
  if (std::exchange(reported_still_, true) && !ends) return;
  terminal_.say("no rank has moved for " + limit + " (--hang-report; the job " +
                (ends ? "ends" : "goes on") + "); the ranks are in:");
  if (ends) {
    terminal_.write(2, report());
    return calls_.fail(status::ExitStatus::not_finalized,
                       "the MPI program of rank " + std::to_string(*dead) + " on host " +
                           host_of_rank(*dead) +
                           " ended between MPI_Init and MPI_Finalize, and what started it goes "
                           "on; all others wait in MPI");
  }
  show_places([this](const std::string& text) { terminal_.write(2, text); });
}

std::string Observation::report() const {
  return watcher_.report(now_ms(), [this](int rank) { return host_of_rank(rank); });
}

// The ranks' places now, then the stacks of the first few that wait for a GPU's driver or are
// missing; where nobody is waited for, of those that are outside MPI.
void Observation::show_places(std::function<void(const std::string&)> show) {
  show(report());
  auto wanted = watcher_.unanswered(now_ms());
  for (const int rank : watcher_.missing())
    if (std::ranges::find(wanted, rank) == wanted.end()) wanted.push_back(rank);
  if (wanted.empty()) wanted = watcher_.outside_mpi();
  if (wanted.size() > kMostStacks) wanted.resize(kMostStacks);
  show_stack_ = [this, show](int rank, const std::string& text) {
    show("    stack of rank " + std::to_string(rank) + " on host " + host_of_rank(rank) + ":\n" +
         shorten_stack(text));
  };
  reported_stacks_.insert(wanted.begin(), wanted.end());
  if (!wanted.empty()) look({0, wanted}, nullptr);
}

// The text of another host: it reaches the user's terminal.
void Observation::take(const control::Stack& said) {
  const control::Stack stack{said.rank,
                             text::printable(said.text.substr(0, kMostStackBytes), "\n\t")};
  take_stack(stack);
  // Another prun's --stacks asks for them, too.
  if (reported_stacks_.erase(stack.rank) == 0) return;
  show_stack_(stack.rank, stack.text);
  if (reported_stacks_.empty() && report_done_) std::exchange(report_done_, nullptr)();
}

void Observation::report_at_limit(std::function<void()> done) {
  look({}, [this, done = std::move(done)] {
    check_movement();
    if (reported_still_)  // just above, and nothing has moved since
      return reported_stacks_.empty() ? done() : void(report_done_ = done);
    terminal_.say("the time limit is over; the ranks are in:");
    show_places([this](const std::string& text) { terminal_.write(2, text); });
    if (reported_stacks_.empty()) return done();
    report_done_ = done;
  });
}

void Observation::all_ranks_ended() {
  for (const auto& wish : std::vector(stack_wishes_)) finish_stacks(wish);
  tell_difference(comparison_.difference());
}

void Observation::show_rest() {
  if (!links_.empty()) print_links();
  show_usage();
}

void Observation::take(const control::Links& links) {
  links_[links.rank] += links.text;
}

void Observation::print_links() {
  std::vector<std::string> hosts;
  for (std::size_t rank = 0; rank < course_.rank_ended.size(); ++rank)
    hosts.push_back(host_of_rank(static_cast<int>(rank)));
  terminal_.write(1, text::printable(link_matrix(links_, hosts), "\n\t"));
}

std::string Observation::host_of_rank(int rank) const {
  if (rank < 0 || at(rank) >= request_.plan.ranks.size()) return "?";
  return name_of(request_.plan.ranks[at(rank)].host);
}

Result<void> Observation::open_usage() {
  std::vector<std::string> names, host_names;
  std::vector<int> hosts;
  for (const plan::PlannedRank& rank : request_.plan.ranks) {
    hosts.push_back(rank.host);
    names.push_back(name_of(rank.host));
  }
  for (const plan::PlannedHost& one : request_.plan.hosts) host_names.push_back(one.name);
  if (request_.spec.stats) usage_ = std::make_unique<Usage>(std::move(names));
  if (request_.spec.trace_file.empty()) return {};
  TUTTI_TRY(trace, Trace::open(request_.spec.trace_file, std::move(hosts), host_names));
  trace_ = std::move(trace);
  return {};
}

void Observation::take(const control::Used& used) {
  wireup::CallRecord call{};
  if (static_cast<wireup::RankSays>(used.says) == wireup::RankSays::call &&
      used.bytes.size() == sizeof call) {
    std::memcpy(&call, used.bytes.data(), sizeof call);
    return tell_difference(comparison_.follow(used.rank, call));
  }
  if (usage_) usage_->take(used);
  if (trace_) trace_->take(used);
}

void Observation::show_usage() {
  if (usage_)
    terminal_.write(2, "prun: --stats of this job\n" + text::printable(usage_->report(), "\n\t"));
  usage_.reset();
  if (!trace_) return;
  if (const auto closed = trace_->close(); !closed) {
    terminal_.say(closed.error().text);
    calls_.lost();
  } else {
    terminal_.say("the timeline is in " + request_.spec.trace_file + "; ui.perfetto.dev opens it");
  }
  trace_.reset();
}

}  // namespace tutti::launch::job
