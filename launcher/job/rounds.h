// The rounds of a job: each starts all ranks anew. Inside the room only.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "job/job.h"

namespace tutti::launch::job {

// Why a round ended.
enum class Cause { ended, rank, host, joining, user };

struct Round {
  JobRequest request;
  std::vector<std::unique_ptr<spawn::JoiningHost>>
      joined,  // one for each host of the plan that joined, in order
      spares;  // who joined and got no rank: they hear how the job ends
  int restarts = 0;
  int number = 0;              // of the round; the first is 0
  off_t input_begins = -1;     // where standard input stood at first, when it is a file
  bool restarts_left = false;  // a failed rank starts another round
  bool elastic = false;        // a lost host does, and so does one that joins
  std::string unsaid;          // on standard error, before all else
  std::int64_t ends_ns = 0;    // --timeout, for all rounds together; 0: none
};

struct RoundOutcome {
  int status = 0;
  Cause cause = Cause::ended;
  std::vector<std::string> lost;  // hosts
};

RoundOutcome run_round(Round round);

}  // namespace tutti::launch::job
