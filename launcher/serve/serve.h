// serve: programs of other MPIs find the server they expect.
//
// The daemon asks what a program will look for (needs_of), makes one server of each kind that
// is needed, and hands every rank its end. A server answers what this host knows and gathers the
// rest from the other hosts: all hand in a part under a name, all get all parts (Gather, Gathered).
// Owner: the daemon's Ranks; everything runs in callbacks of its loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "control/control.h"

namespace tutti::launch {

// Servers that a program may look for.
struct Needs {
  bool pmi1 = false;  // MPICH and its family
  bool pmix = false;  // Open MPI
};
// From the files of the command line: which libraries they name. A script or an interpreter may
// load anything, so it needs everything.
Needs needs_of(const std::string& path, const std::vector<std::string>& argv);

// The job as servers describe it to their clients.
struct ServedJob {
  std::uint64_t job_id = 0;
  int host = 0;
  std::vector<std::string> hosts;
  std::vector<int> host_of;  // of each rank of the job
  std::vector<int> app_of;   // of each rank of the job
  std::vector<int> local;    // ranks of this host, by local rank
  int universe = 1;
};

// What a server tells its daemon about a rank (its number in the job).
struct ServeReports {
  std::function<void(int rank)> joined, finalized;
  std::function<void(int rank, int status, const std::string& reason)> aborts;
  std::function<void(const Gather& part)> gather;  // to all hosts; answered by on_gathered
  std::function<void(const std::string& line)> note;
};

class Server {
 public:
  virtual ~Server() = default;
  // What rank `local` of this host must inherit: variables, and a descriptor (or none).
  struct Outfit {
    std::vector<std::string> variables;  // "NAME=value"
    UniqueFd fd;
  };
  virtual Result<Outfit> outfit(int local) = 0;
  // True: the parts were for this server.
  virtual bool on_gathered(const Gathered& all) = 0;
};

// PMI version 1, a line of text each, on a socket of its own per rank that it inherits as `fd`.
std::unique_ptr<Server> serve_pmi1(Loop& loop, ServedJob job, ServeReports reports, int fd);

}  // namespace tutti::launch
