// The parts of a round, and who hears whom.
#include "job/head.h"

#include <cerrno>
#include <csignal>
#include <utility>

#include "daemon/daemon.h"
#include "job/launching.h"
#include "status/status.h"

namespace tutti::launch::job {
namespace {

// How long the end at a time limit waits for where the ranks are, and for stacks that are being
// taken.
constexpr std::chrono::seconds kLastLook{5};
constexpr std::chrono::seconds kLastStacks{20};

}  // namespace

RoundOutcome run_round(Round round) {
  return Head(std::move(round)).run();
}

Head::Head(Round round)
    : round_(std::move(round)),
      streams_(loop_, round_, streams_calls()),
      hosts_(loop_, round_, course_, hosts_calls()),
      machine_(loop_, round_, course_, hosts_, streams_.terminal(), machine_calls()),
      observation_(loop_, round_.request, course_, streams_.terminal(), observation_calls()),
      exchange_(loop_, round_.request.plan, course_, hosts_),
      rank_ends_(loop_, round_.request, course_, machine_, streams_),
      last_words_(loop_, streams_, observation_, machine_.ending()),
      signals_(loop_, course_, machine_, hosts_, last_words_, streams_.terminal()) {
  if (std::holds_alternative<cli::CheckHosts>(round_.request.spec.command))
    checking_ =
        std::make_unique<Checking>(round_.request, course_, machine_, hosts_, streams_.terminal());
}

Streams::Calls Head::streams_calls() {
  Streams::Calls calls;
  // A reader that has seen enough (head, less) ends the job without a word. Of all else the last
  // words speak, when it is known how much was lost.
  calls.broke = [this](int error) {
    machine_.fail(
        error == EPIPE ? status::of_signal(SIGPIPE) : status::of(status::ExitStatus::no_resources),
        "");
  };
  calls.written = [this] { last_words_.on_written(); };
  calls.send = [this](int host, const control::Message& message) { hosts_.send(host, message); };
  return calls;
}

Hosts::Calls Head::hosts_calls() {
  Hosts::Calls calls;
  calls.said = [this](int host, const control::Message& message) { hear(host, message); };
  calls.failed = [this](int host, int status, const std::string& reason, bool is_gone) {
    host_failed(host, status, reason, is_gone);
  };
  calls.left = [this](int host) {
    streams_.host_left(host);
    machine_.host_left(host);
  };
  calls.changed = [this] { machine_.look_for_end(); };
  calls.note = [this](const std::string& text) { streams_.terminal().say(text); };
  return calls;
}

StateMachine::Calls Head::machine_calls() {
  StateMachine::Calls calls;
  calls.is_late = [this](const std::string& limit) {
    if (checking_) checking_->start_is_late(limit);
    return checking_ != nullptr;
  };
  calls.failed_late = [this] { last_words_.hurry(); };
  calls.done = [this] { last_words_.say(); };
  calls.went_on = [this] { observation_.go_on(); };
  return calls;
}

Observation::Calls Head::observation_calls() {
  Observation::Calls calls;
  calls.ask = [this](const control::Look& look) { return hosts_.ask(look); };
  calls.is_far = [this](int host) { return hosts_[host].over_network; };
  calls.settle = [this] { machine_.settle_soon(); };
  calls.may_fail = [this] { return !machine_.ending().has_failed(); };
  calls.fail = [this](status::ExitStatus status, const std::string& line) {
    machine_.fail(status::of(status), line, Cause::rank);
  };
  calls.lost = [this] { machine_.ending().blemish(status::of(status::ExitStatus::no_resources)); };
  return calls;
}

RoundOutcome Head::run() {
  signals_.start();
  streams_.terminal().write(2, round_.unsaid);
  machine_.begin();
  if (round_.ends_ns > 0) loop_.after(time_left(round_.ends_ns), [this] { end_at_limit(); });
  if (!checking_) observation_.start();
  const auto& meeting = round_.request.meeting;
  if (meeting && round_.elastic) meeting->attach(loop_, [this] { machine_.on_newcomer(); });
  hosts_.start(/*by_tree=*/!checking_);
  loop_.run();
  last_words_.tell_loss();
  if (meeting) meeting->detach();
  hosts_.close();
  const Ending& ending = machine_.ending();
  if (ending.status() != 0)  // all of a host were killed
    daemon::sweep_leftovers(round_.request.environment);
  return {ending.status(), ending.cause(), ending.lost()};
}

// At --timeout: one last look, bounded, then the end.
void Head::end_at_limit() {
  const auto finish = [this] {
    machine_.fail(status::of(status::ExitStatus::time_limit),
                  time_limit_words(round_.request.spec.timeout_s));
  };
  if (course_.state == State::leaving) hosts_.send_all(control::End{0});
  if (course_.state != State::running) return finish();
  const auto finish_once = [this, finish] {
    if (course_.state == State::running) finish();
  };
  observation_.report_at_limit(finish_once);
  loop_.after(kLastLook, [this, finish_once] {
    if (!observation_.waits_for_stacks()) finish_once();
  });
  loop_.after(kLastStacks, finish_once);
}

void Head::host_failed(int host, int status, const std::string& reason, bool is_gone) {
  if (hosts_[host].left) return;
  if (checking_ && course_.state != State::leaving)
    return checking_->host_failed(host, status, reason);
  machine_.host_failed(host, status, reason);
  if (is_gone) hosts_.leave(host);
}

// Every host is there: bind, and tell each what to start.
void Head::launch() {
  const auto launching = Launching::bind(round_, hosts_, streams_.terminal());
  if (!launching)
    return machine_.fail(status::of(status::ExitStatus::too_few_slots), launching.error().text);
  if (const auto opened = observation_.open_usage(); !opened)
    return machine_.fail(status::of(status::ExitStatus::no_resources), opened.error().text);
  for (int host = 0; host < static_cast<int>(hosts_.count()); ++host) {
    control::Launch launch = launching->launch(host);
    streams_.direct(launch);
    // Its own command line says what a node of a torchrun starts.
    if (hosts_[host].has_joined && round_.request.spec.torch.used)
      hosts_.send(host, *daemon::numbers_only(std::move(launch)));
    else
      hosts_.send(host, launch);
  }
  machine_.launched(launching->job_id());
  if (round_.request.spec.pty) streams_.terminal().raw().take();
  streams_.open_files();
  observation_.open_desk();
  machine_.enter(State::launching);
  streams_.feed_input();
}

}  // namespace tutti::launch::job
