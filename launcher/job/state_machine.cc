// The states of a job and what moves it from one to the next.
#include "job/state_machine.h"

#include <utility>

#include "status/status.h"

namespace tutti::launch::job {
namespace {

constexpr int kGraceMs = 700;  // between SIGTERM and SIGKILL when the job ends by a failure
constexpr std::chrono::seconds kCollect{1};  // for other hosts' reasons to come in
constexpr std::chrono::seconds kQuietStart{3};

}  // namespace

StateMachine::StateMachine(control::Loop& loop, const Round& round, Course& course, Hosts& hosts,
                           control::Terminal& terminal, Calls calls)
    : loop_(loop),
      round_(round),
      request_(round.request),
      course_(course),
      hosts_(hosts),
      terminal_(terminal),
      calls_(std::move(calls)) {
  course_.ranks_left = request_.plan.ranks.size();
  course_.rank_ended.resize(course_.ranks_left);
}

void StateMachine::begin() {
  enter(State::starting);
  loop_.after(kQuietStart, [this] { show_progress(); });
}

void StateMachine::launched(std::uint64_t job_id) {
  course_.job_id = job_id;
  course_.is_launched = true;
}

void StateMachine::enter(State state) {
  course_.state = state;
  if (request_.spec.verbose)
    terminal_.say(std::string(row_of(state).doing) + ", " + std::to_string(course_.age_ms()) +
                  " ms after the start");
  limit(state);
  if (state == State::ending || state == State::leaving) terminal_.raw().give_back();
  if (state == State::ending) {
    if (!course_.is_launched) {
      loop_.after(kCollect, [this] {
        if (course_.state == State::ending) enter(State::leaving);
      });
    } else {
      hosts_.send_all(control::End{kGraceMs});
    }
  } else if (state == State::running) {
    say_what_hosts_said();
    settle_soon();
  } else if (state == State::leaving) {
    say_what_hosts_said();
    terminal_.stop_input();
    say_bye();
    hosts_.drop_those_that_never_came();
  } else if (state == State::done) {
    return calls_.done();
  }
  look_for_end();
}

void StateMachine::settle_soon() {
  loop_.after(control::kSettled, [this] {
    hosts_.settle();
    control::settle();
  });
}

double StateMachine::limit_of(State state) const {
  const bool starts = state == State::starting || state == State::launching;
  if (starts && request_.spec.start_timeout_s > 0) return request_.spec.start_timeout_s;
  return static_cast<double>(row_of(state).limit.count());
}

void StateMachine::limit(State state) {
  loop_.cancel(limit_);
  if (const double limit = limit_of(state); limit > 0)
    limit_ = loop_.after(std::chrono::milliseconds(static_cast<long>(1000 * limit)),
                         [this, state] { on_limit(state); });
}

void StateMachine::go_on() {
  limit(course_.state);
  calls_.went_on();
}

void StateMachine::on_limit(State state) {
  if (state != course_.state) return;
  const std::string limit = seconds_text(limit_of(state)) + " s";
  if (state == State::starting && calls_.is_late(limit)) return;
  if (state == State::starting || state == State::launching)
    return fail(status::of(status::ExitStatus::host_unreachable),
                std::string(row_of(state).doing) + " took more than " + limit +
                    "; no answer from " + hosts_.awaited());
  enter(row_of(state).after_failure);
}

// Whether another round follows this one.
bool StateMachine::comes_again() const {
  const Cause cause = ending_.cause();
  return (cause == Cause::rank && round_.restarts_left) || cause == Cause::joining ||
         (cause == Cause::host && round_.elastic);
}

// One more than there are: if there is room for it, all ranks start again.
void StateMachine::on_newcomer() {
  if (course_.state != State::running || ending_.signal() != 0 ||
      request_.meeting->waiting().empty() ||
      hosts_.count() >= static_cast<std::size_t>(request_.spec.torch.max_nodes))
    return;
  fail(0, "", Cause::joining);
}

void StateMachine::say_bye() {
  hosts_.say_bye({ending_.status(), comes_again()});
}

void StateMachine::interrupt(int signal) {
  ending_.interrupt(signal, comes_again());
}

void StateMachine::fail(int status, const std::string& line, Cause cause) {
  const bool is_late = course_.state == State::leaving || course_.state == State::done;
  // Whether another round follows was said in the Bye.
  const bool is_first = ending_.fail(is_late ? Cause::ended : cause, status);
  if (is_first && !line.empty()) terminal_.say(line);
  if (is_late) return calls_.failed_late();
  if (course_.state != State::ending) enter(row_of(course_.state).after_failure);
}

void StateMachine::host_failed(int index, int status, const std::string& reason) {
  if (!course_.is_launched) {
    // Every reason counts: each is its own cure.
    if (course_.state != State::leaving) before_run_.add(index, reason);
    return fail(failure_of(status), "");
  }
  const std::string& name = hosts_.name_of(index);
  if (course_.state != State::leaving) ending_.lose(name);
  fail(failure_of(status), reason.empty() ? "" : "host " + name + ": " + reason, Cause::host);
}

void StateMachine::remark_of_host(int index, const std::string& text) {
  before_run_.add(index, text);
  const bool is_before_run = course_.state == State::starting ||
                             course_.state == State::launching ||
                             (course_.state == State::ending && !course_.is_launched);
  if (!is_before_run) say_what_hosts_said();
}

// Now that all have spoken whose words can still be told together.
void StateMachine::say_what_hosts_said() {
  for (const std::string& line :
       before_run_.take([this](int host) { return hosts_.name_of(host); }))
    terminal_.say(line);
}

bool StateMachine::rank_ended(int rank) {
  if (course_.rank_ended[at(rank)]) return false;
  course_.rank_ended[at(rank)] = true;
  --course_.ranks_left;
  return true;
}

void StateMachine::host_left(int host) {
  for (const plan::PlannedRank& rank : request_.plan.ranks)
    if (rank.host == host) rank_ended(rank.rank);
}

void StateMachine::look_for_end() {
  if (course_.state == State::ending && !course_.is_launched &&
      hosts_.all([](const Hosts::Facts& one) { return one.left || one.said_hello; }))
    return enter(State::leaving);  // every host's reason is told
  if (course_.is_launched && course_.ranks_left == 0 &&
      (course_.state == State::launching || course_.state == State::running ||
       course_.state == State::ending))
    return enter(State::leaving);
  if (course_.state == State::leaving &&
      hosts_.all([](const Hosts::Facts& one) { return one.left; }))
    enter(State::done);
}

void StateMachine::show_progress() {
  if (course_.state != State::starting && course_.state != State::launching) return;
  terminal_.status(std::string(row_of(course_.state).doing) + " for " +
                   std::to_string(course_.age_ms() / 1000) + " s, waiting for " + hosts_.awaited());
  loop_.after(std::chrono::seconds(1), [this] { show_progress(); });
}

}  // namespace tutti::launch::job
