// The states of a job and what moves it from one to the next.
#include "job/head.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <utility>

#include "status/status.h"

namespace tutti::launch::job {
namespace {

constexpr int kGraceMs = 700;  // between SIGTERM and SIGKILL when the job ends by a failure
constexpr std::chrono::seconds kSignalGrace{5};  // after the user's SIGINT or SIGTERM
constexpr std::chrono::seconds kCollect{1};      // for other hosts' reasons to come in
constexpr std::chrono::seconds kQuietStart{3};
constexpr std::chrono::milliseconds kLastLook{1500};
constexpr int kMostSignals = 3;  // that end: then prun ends at once

// "2.5", "120"
std::string seconds_text(double seconds) {
  std::string text = std::to_string(seconds);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

std::string time_limit_words(double seconds) {
  return "the time limit of " + seconds_text(seconds) + " s (--timeout) is over; the job was ended";
}

Outcome run_round(Round round) {
  return Head(std::move(round)).run();
}

Head::Head(Round round)
    : round_(std::move(round)),
      request_(round_.request),
      streams_(loop_, round_,
               {[this](int error) { stream_broke(error); }, [this] { on_written(); },
                [this](int host, const control::Message& message) { send(host, message); }}),
      observation_(loop_, request_, course_, streams_.terminal(), observers_calls()) {
  hosts_.resize(request_.plan.hosts.size());
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    hosts_[i].via = static_cast<int>(i);
    hosts_[i].ranks_left = request_.plan.hosts[i].local_ranks;
  }
  course_.ranks_left = request_.plan.ranks.size();
  course_.rank_ended.resize(course_.ranks_left);
  if (std::holds_alternative<cli::CheckHosts>(request_.spec.command)) start_checking();
}

Observation::Calls Head::observers_calls() {
  Observation::Calls calls;
  calls.ask = [this](const control::Look& look) {
    send_all(look);
    return static_cast<int>(std::count_if(hosts_.begin(), hosts_.end(), [](const Host& host) {
      return !host.left && !host.is_stranger;
    }));
  };
  calls.is_far = [this](int index) { return host(index).over_network; };
  calls.settle = [this] { settle_soon(); };
  calls.may_fail = [this] { return !ending_.has_failed(); };
  calls.mismatch = [this](const std::string& line) {
    fail(status::of(status::ExitStatus::mismatch), line, Cause::rank);
  };
  calls.lost = [this] { ending_.blemish(status::of(status::ExitStatus::no_resources)); };
  return calls;
}

Outcome Head::run() {
  loop_.on_signals(
      {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGUSR1, SIGUSR2, SIGALRM, SIGABRT},
      [this](int number) { on_signal(number); });
  streams_.terminal().write(2, round_.unsaid);
  enter(State::starting);
  if (round_.ends_ns > 0)
    loop_.after(time_left(round_.ends_ns), [this] {
      if (course_.state == State::leaving) send_all(control::End{0});
      report_and_fail(status::of(status::ExitStatus::time_limit),
                      time_limit_words(request_.spec.timeout_s));
    });
  loop_.after(kQuietStart, [this] { show_progress(); });
  if (!checker_) observation_.start();
  if (request_.meeting && round_.elastic)
    request_.meeting->attach(loop_, [this] { on_newcomer(); });
  start_hosts();
  loop_.run();
  tell_loss();
  if (request_.meeting) request_.meeting->detach();
  for (Host& host : hosts_) host.channel.reset();
  spares_.clear();
  starters_ = {};             // waits for all that they started, and for nobody else
  if (ending_.status() != 0)  // all of a host were killed
    daemon::sweep_leftovers(request_.environment);
  return {ending_.status(), ending_.cause(), ending_.lost()};
}

void Head::enter(State state) {
  course_.state = state;
  if (request_.spec.verbose)
    streams_.terminal().say(std::string(row_of(state).doing) + ", " +
                            std::to_string((now_ns() - course_.began_ns) / 1'000'000) +
                            " ms after the start");
  loop_.cancel(limit_);
  if (const double limit = limit_of(state); limit > 0)
    limit_ = loop_.after(std::chrono::milliseconds(static_cast<long>(1000 * limit)),
                         [this, state] { on_limit(state); });
  if (state == State::ending) {
    if (!launched_) {
      loop_.after(kCollect, [this] {
        if (course_.state == State::ending) enter(State::leaving);
      });
    } else {
      send_all(control::End{kGraceMs});
    }
  } else if (state == State::running) {
    settle_soon();
  } else if (state == State::leaving) {
    streams_.terminal().stop_input();
    const control::Bye bye{ending_.status(), comes_again()};
    send_all(bye);
    for (const auto& spare : spares_) spare->send(control::kEveryHost, bye);
    for (Host& host : hosts_)
      if (!host.said_hello) host.left = true;  // it never came; its spawner ends with the job
  } else if (state == State::done) {
    finish();
    return;
  }
  look_for_end();
}

void Head::settle_soon() {
  loop_.after(control::kSettled, [this] {
    for (Host& host : hosts_)
      if (host.channel) host.channel->settle();
    control::settle();
  });
}

double Head::limit_of(State state) const {
  const bool starts = state == State::starting || state == State::launching;
  if (starts && request_.spec.start_timeout_s > 0) return request_.spec.start_timeout_s;
  return static_cast<double>(row_of(state).limit.count());
}

void Head::on_limit(State state) {
  if (state != course_.state) return;
  if (checker_ && state == State::starting) {
    for (std::size_t i = 0; i < hosts_.size(); ++i)
      if (!hosts_[i].said_hello)
        check_failed(static_cast<int>(i), status::of(status::ExitStatus::host_unreachable),
                     "no answer in " + seconds_text(limit_of(state)) +
                         " s; is it overloaded, or does its login shell wait for something?");
    return;
  }
  if (state == State::starting || state == State::launching)
    return fail(status::of(status::ExitStatus::host_unreachable),
                std::string(row_of(state).doing) + " took more than " +
                    seconds_text(limit_of(state)) + " s; no answer from " + awaited());
  enter(row_of(state).after_failure);
}

// Whether another round follows this one.
bool Head::comes_again() const {
  const Cause cause = ending_.cause();
  return (cause == Cause::rank && round_.restarts_left) || cause == Cause::newcomer ||
         (cause == Cause::host && round_.elastic);
}

// One more than there are: if there is room for it, all ranks start again.
void Head::on_newcomer() {
  if (course_.state != State::running || request_.meeting->waiting().empty() ||
      hosts_.size() >= static_cast<std::size_t>(request_.spec.torch.max_nodes))
    return;
  fail(0, "", Cause::newcomer);
}

// The first failure is the one that is told.
void Head::fail(int status, const std::string& line, Cause cause) {
  const bool is_first = ending_.fail(cause, status);
  if (course_.state == State::leaving || course_.state == State::done) {
    if (is_finished_) limit_last_words();
    return;
  }
  if (is_first && !line.empty()) streams_.terminal().say(line);
  if (course_.state != State::ending) enter(row_of(course_.state).after_failure);
}

void Head::host_failed(int index, int status, const std::string& reason, bool is_gone) {
  Host& lost = host(index);
  if (lost.left) return;
  if (checker_ && course_.state != State::leaving) return check_failed(index, status, reason);
  const std::string line = "host " + name_of(index) + ": " + reason;
  // While hosts are started every reason counts: each is its own cure.
  if (!launched_ && ending_.has_failed() && course_.state == State::ending &&
      reason != last_reason_)
    streams_.terminal().say(line);
  last_reason_ = reason;
  if (launched_ && course_.state != State::leaving) ending_.lose(name_of(index));
  fail(failure_of(status), line, launched_ ? Cause::host : Cause::ended);
  if (is_gone) host_left(index);
}

void Head::host_left(int index) {
  Host& gone = host(index);
  if (gone.left) return;
  gone.left = true;
  streams_.host_left(index);
  for (const plan::PlannedRank& rank : request_.plan.ranks) {
    if (rank.host != index || course_.rank_ended[at(rank.rank)]) continue;
    course_.rank_ended[at(rank.rank)] = true;
    --course_.ranks_left;
  }
  for (std::size_t i = 0; i < hosts_.size(); ++i)  // those behind it are gone with it
    if (hosts_[i].via == index && static_cast<int>(i) != index && course_.state != State::leaving)
      host_left(static_cast<int>(i));
  look_for_end();
}

void Head::look_for_end() {
  if (course_.state == State::ending && !launched_ &&
      std::all_of(hosts_.begin(), hosts_.end(),
                  [](const Host& one) { return one.left || one.said_hello; }))
    return enter(State::leaving);  // every host's reason is told
  if (launched_ && course_.ranks_left == 0 &&
      (course_.state == State::launching || course_.state == State::running ||
       course_.state == State::ending))
    return enter(State::leaving);
  if (course_.state == State::leaving &&
      std::all_of(hosts_.begin(), hosts_.end(), [](const Host& one) { return one.left; }))
    enter(State::done);
}

void Head::send(int index, const control::Message& message) {
  Host& direct = host(host(index).via);
  if (direct.channel) direct.channel->send(index, message);
}

void Head::send_all(const control::Message& message) {
  const std::string body = control::encode(message);
  for (Host& one : hosts_)
    if (one.channel) one.channel->send_raw(control::kEveryHost, body);
}

void Head::on_signal(int number) {
  if (number == SIGTSTP) return stop();
  if (number == SIGCONT) return go_on();
  const bool ends = number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
  if (ends) ending_.interrupt(number);
  if (ends && (++endings_ >= kMostSignals || is_finished_)) {
    ending_.blemish(status::of_signal(number));
    return loop_.stop();
  }
  if (!launched_) {
    if (ends)
      fail(status::of_signal(number),
           "ended by a signal while " + std::string(row_of(course_.state).doing));
    return;
  }
  if (ends && course_.state == State::leaving)
    return send_all(control::End{0});  // waits for no filter
  if (number == SIGINT && ++interrupts_ > 1) {
    send_all(control::End{0});
    return fail(status::of_signal(number), "interrupted twice; every rank was killed");
  }
  send_all(control::Signal{number});
  if (!ends) return;
  loop_.cancel(signal_timer_);
  signal_timer_ = loop_.after(kSignalGrace, [this, number] {
    send_all(control::End{0});
    fail(status::of_signal(number), "ranks that did not end within 5 s of the signal were killed");
  });
}

// At a time limit: one last look, bounded, then the end.
void Head::report_and_fail(int status, const std::string& line) {
  auto finish = [this, status, line] { fail(status, line); };
  if (course_.state != State::running) return finish();
  observation_.report_at_limit();
  loop_.after(kLastLook, finish);
}

std::string Head::awaited() const {
  std::string names;
  int more = 0;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const bool here = course_.state == State::starting ? hosts_[i].said_hello : hosts_[i].started;
    if (here || hosts_[i].left) continue;
    if (names.size() > 60)
      ++more;
    else
      names.append(names.empty() ? "" : ", ").append(request_.plan.hosts[i].name);
  }
  return more > 0 ? names + " and " + std::to_string(more) + " more" : names;
}

void Head::show_progress() {
  if (course_.state != State::starting && course_.state != State::launching) return;
  const auto seconds = (now_ns() - course_.began_ns) / 1'000'000'000;
  streams_.terminal().status(std::string(row_of(course_.state).doing) + " for " +
                             std::to_string(seconds) + " s, waiting for " + awaited());
  loop_.after(std::chrono::seconds(1), [this] { show_progress(); });
}

}  // namespace tutti::launch::job
