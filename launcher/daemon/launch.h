// Starting ranks: find the program, make descriptors, clone, bind, exec.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/open_files.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "control/messages.h"
#include "daemon/output.h"
#include "daemon/rank_file.h"
#include "wireup/protocol.h"

namespace tutti::launch::daemon {

// Where a rank finds its descriptors: far from what shells and programs use, below the limit of
// select(), and below the limit of open files.
struct RankFds {
  int segment = wireup::kSegmentFd;
  int control = wireup::kControlFd;
  int server = 962;  // to the server of another MPI's wire-up, where one is needed
};
// Where they lie under this hard limit.
RankFds rank_fds(rlim_t most_open_files);

struct RankProcess {
  control::RankPart part;
  int local = 0;
  pid_t pid = 0;
  UniqueFd control;                      // to the rank, SOCK_SEQPACKET
  std::vector<UniqueFd> entered;         // the same, of processes that came by the door
  UniqueFd input;                        // its stdin, when it takes any
  UniqueFd output[2];                    // its stdout and stderr; [1] closed when merged
  int exec_error = 0;                    // errno of an exec that failed
  std::unique_ptr<LineCutter> lines[2];  // null: nothing was written yet
  std::unique_ptr<RankFile> file[2];     // per-rank output files, when asked for
  std::string tail;                      // what it wrote last
  std::uint64_t in_sight_until = 0;      // while fewer lines are shown its errors are to be seen
  std::int64_t last_byte_ns = 0;         // when it wrote last
  bool program_runs = false;
  std::vector<int> early_signals;  // that came before
  // Which of its MPI programs it is in, and of that one:
  std::uint32_t generation = 0;
  bool joined = false, finalized = false, lost_peer = false;
  pid_t program = 0;              // who said that it joined, by the kernel's word; 0: nobody
  std::size_t said_bytes = 0;     // of text that prun keeps or shows
  int addresses = 0, aborts = 0;  // times that it said such a thing
  bool ended = false;             // reaped
  int wait_status = 0;
  int readers = 0;                               // debuggers of ours that stop it for a moment
  int state_seen = 0;                            // of its program, when none did
  std::uint64_t watch_seen = 0;                  // WatchRecord::calls, when it was asked last
  std::uint64_t calls_seen = 0, calls_told = 0;  // collectives begun at the last look; told to prun
};

// A program that cannot be started: which status, and why, in one line.
struct CannotStart {
  int status = 0;
  std::string reason;
};

// Why the kernel did not execute this file, in words: its errno, and what the file is.
std::string why_not_executed(const std::string& path, int error);
// `path` seen from `directory`.
std::string full_path(const std::string& directory, const std::string& path);
// Absolute or relative path of the program, looked for as a shell would, from `directory`.
// Empty `reason`: found.
CannotStart find_program(const std::string& name, const std::string& path_variable,
                         const std::string& directory, std::string* path);

struct RankStart {
  std::string path;
  std::string directory;
  const std::vector<std::string>* argv = nullptr;
  std::vector<std::string> environment;
  int segment_fd = -1;
  RankFds as{};     // the numbers that the rank finds its descriptors by
  UniqueFd server;  // its end of the connection to a server; closed: none
  bool merge_stderr = false;
  bool by_shell = false;               // what the kernel does not know is a script
  std::vector<std::string> more_argv;  // argv with something put in; empty: *argv
  control::Window window;              // of the rank's terminal, where it has one
  rlimit open_files{};                 // the limit before the daemon raised its own
};

// Starts ranks, several at a time. What a rank and `start` point to stays until it has arrived.
class RankStarter {
 public:
  // Told of each rank: its program runs, or rank.exec_error says why not; from within a call here.
  using Runs = std::function<void(RankProcess&)>;
  explicit RankStarter(Runs runs);
  ~RankStarter();

  // Waits for a moment until there is room for one more, or until none is on its way. False: a
  // program is slow to begin (its file system is); come again later.
  bool make_room();
  bool drain();
  Result<void> start(RankProcess& rank, RankStart start);  // make_room() was true
  // This one has ended; whether it ran its program is known now.
  void on_ended(const RankProcess& rank);

 private:
  struct LaunchPad;
  static constexpr std::size_t kAtOnce = 4;
  bool free(LaunchPad& pad, bool waits);
  void fill(LaunchPad& pad, const RankProcess& rank) const;

  Runs runs_;
  std::vector<std::unique_ptr<LaunchPad>> pads_;
  UniqueFd nothing_;  // /dev/null
};

}  // namespace tutti::launch::daemon
