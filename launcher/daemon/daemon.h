// daemon: what runs on each host: starts the ranks, forwards their output, ends them all.
//
// One process per host, one thread, one loop. It speaks with its parent (prun, or a daemon of
// the tree) over one channel; when that channel closes, its ranks are killed and it leaves.
// Whoever starts a process owns its end: the daemon adopts every orphan of its ranks
// (subreaper) and its parent, the keeper, adopts and ends what a killed daemon leaves.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "control/control.h"
#include "control/spawner.h"
#include "topo/topo.h"

namespace tutti::launch::daemon {

struct DaemonPlace {
  control::ChannelEnds up;
  bool over_network = false;  // heartbeats; the ranks' environment is this host's, not prun's
  std::optional<topo::Machine> machine;  // when the caller knows it; else it is read if asked for
  std::vector<std::string> environment;  // that the ranks inherit, "NAME=value"
  bool by_hand = false;                  // a user started it: its terminal's signals are for it
  bool shows_output = false;             // the ranks' output is written here, not sent to the head
  UniqueFd signals;            // from the keeper: signals for the ranks, a byte each; or closed
  UniqueFd files[2];           // prun's stdout and stderr, where they are files; or closed
  std::string directory;       // where ranks work unless told; empty: as the head says
  std::string head_address;    // the head, as this host sees it, when the caller knows it
  std::string own_address;     // how other hosts reach this one, when the spawner knows
  std::string library_folder;  // where libmpi_abi is when the loader does not find it; or empty
  std::string pmix_program;    // the PMIx server (launcher/pmix); empty: not here
  std::string info_program;    // tutti-info; empty: not here
  // Of a node that starts only what its own command line says: what is made of the head's words;
  // null: they are taken as they come.
  std::function<Result<control::Launch>(int host, const control::Launch& said)> own_launch;
  bool among_strangers = false;       // the head has proved nothing: see numbers_only
  control::MakeSpawner make_spawner;  // null: cannot grow a tree
};

// Between heads and daemons over a network: how often they say that they are there, and how long a
// silence is believed to be an accident.
inline constexpr std::chrono::seconds kBeat{5}, kSilence{30};

// A machine to a message and back; what makes no sense is a machine without threads.
control::MachinePart machine_part(const topo::Machine& machine);
topo::Machine machine_of(const control::MachinePart& part);

// Between nodes that met without a key: the message with its addresses and numbers, without other
// words; nothing when it is none of those that such nodes exchange.
std::optional<control::Message> numbers_only(control::Message message);

// Removes folders that killed processes of this user left where temporary files go, and where
// memory is shared.
void sweep_leftovers(const std::vector<std::string>& environment);

// Of a daemon started by hand: the job goes on in another round, come again.
inline constexpr int kComeAgain = 250;
// Of another daemon that SIGTERM told to end.
inline constexpr int kTold = 251;
// Serves one job and returns the process's exit status. The caller is a process of its own.
int run_daemon(DaemonPlace place);
// The same with a keeper: a parent that ends what a killed daemon would leave behind. Children that
// the caller has already, and their descendants, are left alone.
int run_kept_daemon(DaemonPlace place);
// The keeper of whatever serves.
struct Kept {
  std::function<int()> serve;       // in a child that gets SIGTERM when the keeper dies
  std::function<int()> step_aside;  // in the keeper: closes what the daemon has; returns what
                                    // closes when prun ends
  // In the keeper, once the daemon has ended. `is_overdue`: it did not end by itself after prun's
  // end, and the keeper has killed it.
  std::function<void(int wait_status, bool is_overdue)> after;
  const std::vector<std::string>& environment;
  std::span<const int> for_ranks{};  // signals that are passed on to the daemon, as bytes
  int to_daemon = -1;                // where to
};
// Returns the daemon's exit status, or 128 + signal.
int keep(const Kept& what);
// "was killed by signal 9 (SIGKILL), perhaps by the out-of-memory killer"
std::string killed_by(int signal);
// The end of a daemon for which keep() has returned that status: "the daemon was killed by ...",
// "the daemon was told to end by SIGTERM"; empty: it ended by itself.
std::string end_of_daemon(int exit_status);
// SIGTERM comes when `parent` dies, or this process ends at once if it has died already.
void end_with(pid_t parent);

// Orphans of our descendants become our children from now on.
void adopt_orphans();
// SIGSTOP or SIGCONT to every descendant, whatever its process group, but those below children that
// `spares` names, or that are in this process's own group. Waits for stops, 5 s at most.
void signal_descendants(int number, const std::function<bool(pid_t child)>& spares);
// Kills every descendant but `keep` and their descendants; waits for the end of each, 1.5 s at
// most. Reaps. Needs adopt_orphans() long before.
void kill_descendants(const std::vector<pid_t>& keep = {});

}  // namespace tutti::launch::daemon
