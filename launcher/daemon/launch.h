// Starting one rank: find the program, make its descriptors, clone, bind, exec.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "control/messages.h"
#include "daemon/output.h"

namespace tutti::launch {

// Where a rank finds its two descriptors: far from what shells and programs use, below the
// limit of select().
inline constexpr int kSegmentFd = 960;
inline constexpr int kControlFd = 961;
inline constexpr int kServerFd =
    962;  // to the server of another MPI's wire-up, where one is needed

struct RankProcess {
  RankPart part;
  int local = 0;
  pid_t pid = 0;
  UniqueFd control;    // to the rank, SOCK_SEQPACKET
  UniqueFd input;      // its stdin, when it takes any
  UniqueFd output[2];  // its stdout and stderr; [1] closed when merged
  int exec_error = 0;  // errno of an exec that failed
  LineCutter lines[2];
  int file[2] = {-1, -1};  // per-rank output files, when asked for
  std::string tail;        // what it wrote last
  bool program_runs = false;
  bool joined = false, finalized = false;
  bool ended = false;  // reaped
  int wait_status = 0;
  std::uint64_t watch_seen = 0;                  // WatchRecord::calls, when it was asked last
  std::uint64_t calls_seen = 0, calls_told = 0;  // collectives begun at the last look; told to prun
};

// A program that cannot be started: which status, and why, in one line.
struct CannotStart {
  int status = 0;
  std::string reason;
};

// Absolute or relative path of the program, looked for as a shell would, from `directory`.
// Empty `reason`: found.
CannotStart find_program(const std::string& name, const std::string& search_path,
                         const std::string& directory, std::string* path);

struct RankStart {
  std::string path;
  std::string directory;
  const std::vector<std::string>* argv = nullptr;
  std::vector<std::string> environment;
  int segment_fd = -1;
  int server_fd = -1;  // -1: none
  bool merge_stderr = false;
  std::vector<std::string> more_argv;  // argv with something put in; empty: *argv
  rlimit open_files{};                 // the limit before the daemon raised its own
};

// Returns when the program runs or cannot be executed: rank.exec_error.
Result<void> start_rank(RankProcess& rank, const RankStart& start);

}  // namespace tutti::launch
