// engine: runs schedules. Blocking is start and wait; there is no second implementation.
//
// Owner: a Run belongs to whoever started it; the schedule is shared and immutable. Called
// with the gate held. Nothing blocks except wait().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "p2p/p2p.h"
#include "sched/sched.h"
#include "types/types.h"

namespace tutti::engine {

using types::Count;

// One block of a space in user memory: `units` units at data.
struct Block {
  void* data = nullptr;
  Count count = 0;               // elements of type
  const types::Datatype* type = nullptr;
};

// What a space of the schedule is in memory. Either one block, or (gatherv, alltoallv ...)
// several: the space's units then run through the blocks in order.
struct Space {
  Block whole;
  std::vector<Block> blocks;     // empty: `whole`
};

struct Binding {
  Space in, out;
  // Reductions: units are elements of `type`, folded by `op`. Data movement: op null, units
  // are packed bytes; scratch is plain bytes then.
  const types::Op* op = nullptr;
  const types::Datatype* type = nullptr;
  std::uint32_t context = 0;
  int tag = 0;                   // sequence number of the collective on its communicator
  std::uint32_t fingerprint = 0;
  int rank = 0;                          // mine, in the communicator
  std::span<const int> peers;            // rank in the team -> rank in the job; outlives the run
};

// A collective under way.
class Run {
 public:
  virtual ~Run() = default;
  virtual bool is_done() const = 0;
  virtual Code code() const = 0;
  virtual void restart() = 0;            // persistent: same binding once more
  void (*on_done)(Run* self) = nullptr;  // inside progress, gate held
  void* owner = nullptr;
};

// Starts at once. The schedule and binding are kept until the run is destroyed.
Result<std::unique_ptr<Run>> start(p2p::Endpoint& endpoint,
                                   std::shared_ptr<const sched::Schedule> schedule,
                                   Binding binding);
Code wait(p2p::Endpoint& endpoint, Run& run);

}  // namespace tutti::engine
