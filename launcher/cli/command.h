// What prun is asked to do.
#pragma once

#include <string>
#include <variant>

namespace tutti::launch::cli {

// What stands in a JobSpec beside it is of a job that runs, or of hosts to check.
struct RunJob {};
struct CheckHosts {};
struct JoinJob {
  std::string where;  // "ADDRESS:PORT" of a prun that listens
};
struct ListJobs {};
struct PrintStacks {
  std::string job;  // its number, or its prun's process number; empty: there is one job only
};
struct AttachDebugger {
  int rank = 0;
  std::string job;  // as above
};
struct PrintHelp {
  std::string topic;
};
struct PrintPage {
  std::string page;
};
struct PrintVersion {};
using Command = std::variant<RunJob, CheckHosts, JoinJob, ListJobs, PrintStacks, AttachDebugger,
                             PrintHelp, PrintPage, PrintVersion>;

}  // namespace tutti::launch::cli
