// Which way was this process started? Asked once, answered from the environment.
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

#include "base/socket_peer.h"
#include "base/text.h"
#include "wireup/board.h"
#include "wireup/protocol.h"
#include "wireup/wireup.h"

namespace tutti::wireup {
namespace {

// prun's daemon started this very process, whatever became of the variables: the control socket
// lies where a daemon puts it, our parent has made it, and we die with our parent, which a daemon
// asks for (launch.cc) and no child inherits, not even one that the daemon adopts.
bool is_rank_without_variables() {
  const auto maker = socket_peer(kControlFd);
  int deadly = 0;
  return maker && maker->pid > 0 && maker->pid == ::getppid() &&
         ::prctl(PR_GET_PDEATHSIG, &deadly) == 0 && deadly == SIGKILL;
}

// By set-uid or set-gid. Whoever starts a rank names its segment, and so writes its memory.
bool has_more_rights_than_its_caller() {
  return ::getuid() != ::geteuid() || ::getgid() != ::getegid();
}

// The sign of another launcher with more than one rank, as "NAME=value", or empty.
std::string foreign_launcher(const Lookup& getenv) {
  // Each of these names a number of ranks; more than one means a world that we would miss.
  constexpr std::array<const char*, 5> kSizes{
      "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "MPI_LOCALNRANKS", "WORLD_SIZE"};
  for (const char* name : kSizes) {
    const char* value = getenv(name);
    if (value == nullptr) continue;
    const auto ranks = text::parse_int(value);
    if (ranks && *ranks > 1) return std::string(name) + "=" + value;
  }
  return {};
}

}  // namespace

Result<void> check_rank(std::optional<std::int64_t> rank, std::optional<std::int64_t> size,
                        const std::string& said) {
  if (rank && size && *rank >= 0 && *rank < *size && *size <= kMostRanks) return {};
  return fail(Code::other, "the launcher does not say where this process belongs (" + said +
                               "; ranks count from 0, and " + std::to_string(kMostRanks) +
                               " are the most); start it with torchrun or prun");
}

Result<std::unique_ptr<Wireup>> join(const Lookup& getenv) {
  const bool by_prun = getenv(kSegmentFdVariable) != nullptr || getenv(kJobVariable) != nullptr;
  const std::string sign = foreign_launcher(getenv);
  if ((by_prun || !sign.empty()) && has_more_rights_than_its_caller())
    return fail(Code::access,
                "this program has another user's or group's rights (set-uid, set-gid), and who "
                "starts a rank can write its memory: take these rights from its file, or start "
                "it as that user");
  if (by_prun) return join_prun(getenv);
  if (is_rank_without_variables())
    return fail(Code::other,
                "prun started this process as a rank, but its variables TUTTI_* are not set: what "
                "changes the environment between them (env -i?) must keep these; a program that is "
                "to be alone can be started by a script");
  if (sign.empty()) return join_alone(getenv);
  const auto has = [&getenv](const char* name) { return getenv(name) != nullptr; };
  // The innermost launcher first: torchrun may itself run under another.
  using Open = Result<BoardPtr> (*)(const Lookup&);
  Open open = nullptr;
  if (has("RANK") && has("WORLD_SIZE") && has("MASTER_ADDR"))
    open = open_socket_board;
  else if (has("PMIX_RANK") && has("PMIX_NAMESPACE"))
    open = open_pmix_board;
  else if (has("PMI_FD"))
    open = open_pmi_board;
  if (open == nullptr)
    return fail(Code::other,
                "another launcher started this process (" + sign +
                    ") and this library cannot join its job: neither PMIx, nor PMI, nor RANK with "
                    "MASTER_ADDR is there; start the program with prun (under srun: --mpi=pmix or "
                    "--mpi=pmi2)");
  auto board = open(getenv);
  if (!board) return tl::unexpected<Error>(std::move(board).error());
  const char* const costs = getenv(kCostsVariable);
  return join_board(std::move(*board), costs == nullptr ? "" : costs);
}

}  // namespace tutti::wireup
