// The exit statuses of prun, in one table; `prun --help=exit` prints it.
//
// A job's status is that of the first rank to fail: its own status, or 128 + signal. The
// launcher's own failures use 200-219, which programs seldom use, so that a script can tell
// "my program failed" from "my program was not started".
#pragma once

#include <array>

#include "base/exit_status.h"

namespace tutti::launch::status {

enum class ExitStatus : int {
  success = 0,
  usage = 2,
  not_executable = 126,
  not_found = 127,
  internal = 200,
  host_unreachable = 201,
  host_unknown = 202,
  host_key = 203,
  too_few_slots = 204,
  bad_hostfile = 205,
  host_lost = 206,
  time_limit = 207,
  virtual_refused = 208,
  no_allocation = 209,
  login_refused = 210,
  version_mismatch = 211,
  no_resources = kNoResourcesStatus,
  not_finalized = 213,
  mismatch = kMismatchStatus,
  link_changed = kLinkChangedStatus,
};

struct ExitStatusRow {
  ExitStatus status;
  const char* meaning;
};

inline constexpr std::array kExitStatuses{
    ExitStatusRow{ExitStatus::success, "every rank ended with status 0"},
    ExitStatusRow{ExitStatus::usage, "the command line is wrong; nothing was started"},
    ExitStatusRow{ExitStatus::not_executable, "the program is there but cannot be executed"},
    ExitStatusRow{ExitStatus::not_found, "the program, or its working folder, was not found"},
    ExitStatusRow{ExitStatus::internal, "prun itself failed; please report it"},
    ExitStatusRow{ExitStatus::host_unreachable, "a host did not answer, or ssh to it failed"},
    ExitStatusRow{ExitStatus::host_unknown, "a host name is not known"},
    ExitStatusRow{ExitStatus::host_key, "a host's ssh key has changed or is not known yet"},
    ExitStatusRow{ExitStatus::too_few_slots, "more ranks than slots, and no --oversubscribe"},
    ExitStatusRow{ExitStatus::bad_hostfile, "a hostfile or -H cannot be read or is malformed"},
    ExitStatusRow{ExitStatus::host_lost, "a host or its daemon was lost while the job ran"},
    ExitStatusRow{ExitStatus::time_limit, "the time limit of --timeout was reached"},
    ExitStatusRow{ExitStatus::virtual_refused, "the kernel does not permit virtual hosts"},
    ExitStatusRow{ExitStatus::no_allocation, "no host is left to run on, or nodes could not meet"},
    ExitStatusRow{ExitStatus::login_refused, "ssh refused the key or the user"},
    ExitStatusRow{ExitStatus::version_mismatch, "a host runs a daemon of another version"},
    ExitStatusRow{ExitStatus::no_resources, "a host has no room: disk, memory, processes or files"},
    ExitStatusRow{ExitStatus::not_finalized,
                  "a rank ended with status 0, or its script went on, without MPI_Finalize"},
    ExitStatusRow{ExitStatus::mismatch, "ranks called collectives that do not match"},
    ExitStatusRow{ExitStatus::link_changed, "what arrived over a link is not what was sent"},
};

constexpr int of(ExitStatus status) {
  return static_cast<int>(status);
}
constexpr int of_signal(int signal) {
  return 128 + signal;
}

}  // namespace tutti::launch::status
