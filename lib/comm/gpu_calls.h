// Blocking collectives of GPU memory by the vendor's library (NCCL), where all members agree that
// it can serve this one. Private to comm.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "comm/comm.h"
#include "delegate/gpu_library.h"

namespace tutti::comm {

// What a communicator keeps for it.
struct GpuCalls {
  enum class Wish : std::uint8_t { unknown, when_it_pays, always, never };
  std::array<Wish, kCollectives> wishes{};  // what is forced, by collective
  std::unique_ptr<delegate::Team> team;
  int device = -1;               // the team's, of this member
  std::set<std::uint64_t> said;  // what TUTTI_EXPLAIN has said
};

// Nothing: the call goes by ours. Only where State::asks_gpus says so.
std::optional<Code> run_on_gpus(Communicator& comm, const CollCall& call);

}  // namespace tutti::comm
