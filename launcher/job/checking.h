// The course of `prun --check`: hosts are examined as they come, then every pair is probed. Daemons
// are started as for a job, which proves the way to each host; instead of ranks they examine their
// host and send probes to each other. HostChecker judges.
//
// Owner: the Head, where the round is a check and no job.
#pragma once

#include "control/terminal.h"
#include "job/checker.h"
#include "job/course.h"
#include "job/hosts.h"
#include "job/state_machine.h"

namespace tutti::launch::job {

class Checking {
 public:
  Checking(const JobRequest& request, const Course& course, StateMachine& machine, Hosts& hosts,
           control::Terminal& terminal);

  // Each host is examined as soon as it is there: one that never comes holds nobody up.
  void host_is_here(int host);
  void take(int host, const control::Findings& findings);
  void take(int host, const control::Probed& probed);
  void host_failed(int host, int status, const std::string& reason);
  void start_is_late(const std::string& limit);

 private:
  std::string way_to(int host) const;
  void go_on();

  const JobRequest& request_;
  const Course& course_;
  StateMachine& machine_;
  Hosts& hosts_;
  control::Terminal& terminal_;
  HostChecker checker_;
};

}  // namespace tutti::launch::job
