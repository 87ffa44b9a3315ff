// The head of a running job: makes the parts of a round and connects them. What a part hears that
// concerns another one passes here; what becomes of it each part decides.
//
// Owner: run_job, for the time of one round.
#pragma once

#include <memory>
#include <string>

#include "job/checking.h"
#include "job/exchange.h"
#include "job/hosts.h"
#include "job/last_words.h"
#include "job/observation.h"
#include "job/rank_ends.h"
#include "job/rounds.h"
#include "job/signals.h"
#include "job/state_machine.h"
#include "job/streams.h"

namespace tutti::launch::job {

class Head {
 public:
  explicit Head(Round round);
  RoundOutcome run();

 private:
  Streams::Calls streams_calls();
  Hosts::Calls hosts_calls();
  StateMachine::Calls machine_calls();
  Observation::Calls observation_calls();

  void host_failed(int host, int status, const std::string& reason, bool is_gone = true);
  void launch();
  void end_at_limit();

  // hear.cc: what a daemon said
  void hear(int host, const control::Message& message);
  void handle(int host, const control::Hello&);
  void handle(int host, const control::Started&);
  void handle(int host, const control::Output& output) { streams_.take(host, output); }
  void handle(int host, const control::InputTaken& taken) { streams_.take(host, taken); }
  void handle(int host, const control::RankEnded& report);
  void handle(int host, const control::RankAborts& report) { rank_ends_.take(host, report); }
  void handle(int, const control::Links& links) { observation_.take(links); }
  void handle(int, const control::Used& used) { observation_.take(used); }
  void handle(int host, const control::Seen& seen) { observation_.take(host, seen); }
  void handle(int, const control::Stack& stack) { observation_.take(stack); }
  void handle(int host, const control::Note& note);
  void handle(int host, const control::Addresses& addresses);
  void handle(int host, const control::Gather& part) { exchange_.take(host, part); }
  void handle(int, const control::Fetch& fetch) { exchange_.pass(fetch); }
  void handle(int, const control::Fetched& fetched) { exchange_.pass(fetched); }
  void handle(int host, const control::Findings& findings);
  void handle(int host, const control::Probed& probed);
  template <class T>
  void handle(int host, const T&);

  Round round_;
  control::Loop loop_;
  Course course_;
  Streams streams_;
  Hosts hosts_;
  StateMachine machine_;
  Observation observation_;
  AddressExchange exchange_;
  RankEnds rank_ends_;
  LastWords last_words_;
  Signals signals_;
  std::unique_ptr<Checking> checking_;  // null: this is a job
};

}  // namespace tutti::launch::job
