// Why a rank's end is a failure: status and one line. Pure.
#pragma once

#include <string>

#include "control/messages.h"

namespace tutti::launch {

struct Verdict {
  int status = 0;  // 0: an orderly end
  std::string line;
};

// How a rank's end counts for the job.
Verdict judge(const RankEnded& report, const std::string& host);
Verdict judge(const RankAborts& report, const std::string& host);

}  // namespace tutti::launch
