// What each host is told to start, once all machines are known. Inside the room only.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "control/terminal.h"
#include "job/hosts.h"
#include "job/parts.h"
#include "job/rounds.h"

namespace tutti::launch::job {

class Launching {
 public:
  // Binds the ranks of the plan, and shows what the user asked to see of that. Errors: they do not
  // fit.
  static Result<Launching> bind(Round& round, const Hosts& hosts, control::Terminal& terminal);

  std::uint64_t job_id() const { return secrets_.job_id; }
  control::Launch launch(int host) const;  // what it is told; made when it is sent: it may be large

 private:
  Launching(const Round& round, const Hosts& hosts, const std::vector<topo::Machine>& machines);

  const Round& round_;
  const Hosts& hosts_;
  JobSecrets secrets_;
  std::vector<plan::SharedMachine> shared_;  // hosts that are one machine
  std::string directory_;
  std::string first_address_;  // of the host of rank 0
  int first_port_ = 0;
};

}  // namespace tutti::launch::job
