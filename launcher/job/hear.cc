// What the head does with each message of a daemon that concerns more than the way to it.
#include "job/head.h"
#include "job/own_ranks.h"
#include "status/status.h"

namespace tutti::launch::job {

void Head::hear(int host, const control::Message& message) {
  if (!is_of_own_ranks(message, round_.request.plan, host))
    return host_failed(host, status::of(status::ExitStatus::host_lost),
                       "its daemon spoke of ranks that it does not run");
  std::visit([this, host](const auto& what) { handle(host, what); }, message);
}

template <class T>
void Head::handle(int host, const T&) {
  host_failed(host, status::of(status::ExitStatus::internal),
              "its daemon said what a daemon does not say");
}

void Head::handle(int host, const control::Hello&) {
  if (checking_) return checking_->host_is_here(host);
  // It may be the last to be waited for.
  if (course_.state == State::ending) return machine_.look_for_end();
  const bool all_here = hosts_.all([](const Hosts::Facts& one) { return one.said_hello; });
  if (all_here && course_.state == State::starting) launch();
}

void Head::handle(int host, const control::Note& note) {
  if (note.is_of_host) return machine_.remark_of_host(host, note.text);
  streams_.terminal().say(note.text);
}

void Head::handle(int, const control::Started&) {
  const bool all_run = hosts_.all([](const Hosts::Facts& one) { return one.started; });
  if (all_run && course_.state == State::launching) machine_.enter(State::running);
}

void Head::handle(int host, const control::RankEnded& report) {
  if (!rank_ends_.take(host, report)) return;
  if (course_.ranks_left == 0) observation_.all_ranks_ended();
  exchange_.take(report);
  machine_.look_for_end();
}

void Head::handle(int host, const control::Addresses& addresses) {
  if (const auto taken = exchange_.take(addresses); !taken)
    host_failed(host, status::of(status::ExitStatus::host_lost), taken.error().text);
}

void Head::handle(int host, const control::Findings& findings) {
  if (checking_) checking_->take(host, findings);
}

void Head::handle(int host, const control::Probed& probed) {
  if (checking_) checking_->take(host, probed);
}

}  // namespace tutti::launch::job
