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

namespace tutti::launch::serve {

// Whose MPI a program is linked to.
enum class Mpi { unknown, tutti, mpich, open_mpi };
// Servers that a program may look for.
struct Needs {
  bool pmi1 = false;       // MPICH and its family
  bool pmix = false;       // Open MPI
  bool certain = false;    // its files say so; else it may be so
  bool is_binary = false;  // an ELF file; else the shell's, where the kernel does not know it
  Mpi mpi = Mpi::unknown;  // the one that its libraries name, where they name one alone
};
// Where the dynamic loader looks, beside what files name.
struct LibraryPlaces {
  std::string library_path;  // LD_LIBRARY_PATH of the rank
  std::string cache = "/etc/ld.so.cache";
};
// From the libraries of the program and theirs. A script, an interpreter or a static program may
// bring anything, so it needs everything.
Needs needs_of(const std::string& path, const std::vector<std::string>& argv,
               const LibraryPlaces& places);

using ServedJob = control::ServeJob;  // the job as servers describe it to their clients

// What a server tells its daemon about a rank (its number in the job).
struct ServeReports {
  std::function<void(int rank)> joined, finalized;
  std::function<void(int rank, int status, const std::string& reason)> aborts;
  std::function<void(const control::Gather& part)> gather;  // to all hosts; answered by `hear`
  std::function<void(const control::Message&)> say;         // Fetch, Fetched: to the head
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
  // Gathered, Fetch, Fetched from other hosts; others' are left alone.
  virtual void hear(const control::Message& message) = 0;
};

// PMI version 1, a line of text each, on a socket of its own per rank that it inherits as `fd`.
std::unique_ptr<Server> serve_pmi1(control::Loop& loop, ServedJob job, ServeReports reports,
                                   int fd);

// PMIx: a process of its own (launcher/pmix), because the library brings threads and much else.
// `ready` is called once, later: it serves, or why it does not. Destruction ends the process and
// removes its folder.
std::unique_ptr<Server> serve_pmix(control::Loop& loop, ServedJob job, ServeReports reports,
                                   const std::string& program,
                                   std::function<void(const std::string& problem)> ready);

}  // namespace tutti::launch::serve
