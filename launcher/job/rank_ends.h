// Ranks that end, or end the job: which of them is the reason, and what is said of it.
//
// Owner: the Head.
#pragma once

#include "control/control.h"
#include "job/hosts.h"
#include "job/reasons.h"
#include "job/state_machine.h"
#include "job/streams.h"

namespace tutti::launch::job {

class RankEnds {
 public:
  RankEnds(control::Loop& loop, const JobRequest& request, const Course& course,
           StateMachine& machine, Streams& streams)
      : loop_(loop), request_(request), course_(course), machine_(machine), streams_(streams) {}

  // False: it was told already.
  bool take(int host, const control::RankEnded& report);
  void take(int host, const control::RankAborts& report);

 private:
  const std::string& name_of(int host) const;
  void tell_end(const control::RankEnded& report, const RankVerdict& verdict);
  void blame_another(int victim, RankVerdict verdict);
  void tell_victim();

  control::Loop& loop_;
  const JobRequest& request_;
  const Course& course_;
  StateMachine& machine_;
  Streams& streams_;
};

}  // namespace tutti::launch::job
