// engine: runs schedules. Blocking is start and wait; there is no second implementation.
//
// Owner: a Run belongs to whoever made it; programs are shared and immutable. Called with the
// gate held. Nothing blocks except wait(). A run may be begun again and again: it keeps its
// tables, so a cached one allocates nothing.
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

// One block of a space in user memory: count elements of type at data. Null type: bytes.
struct Block {
  void* data = nullptr;
  Count count = 0;
  const types::Datatype* type = nullptr;
  types::Device* device = nullptr;  // whose memory it is; null: the host's
};

// What a space of the schedule is in memory. Either one block, or (gatherv, alltoallv ...)
// several: the space's units then run through the blocks in order.
struct Space {
  Block whole;
  std::vector<Block> blocks;  // empty: `whole`
};

struct Binding {
  Space in, out;
  // Reductions: units are elements of `type`, folded by `op`. Data movement: op null, units
  // are packed bytes; scratch is plain bytes then.
  const types::Op* op = nullptr;
  const types::Datatype* type = nullptr;
  std::uint32_t context = 0;
  int tag = 0;  // sequence number of the collective on its communicator
  std::uint32_t fingerprint = 0;
  int rank = 0;                // mine, in the communicator
  std::span<const int> peers;  // rank in the team -> rank in the job; outlives the run
};

// A schedule made ready to run: with the order in which messages must be posted.
struct Program {
  explicit Program(sched::Schedule made);
  sched::Schedule schedule;
  // By step: the next send to (recv from) the same peer, or kNone: it starts after this one.
  static constexpr std::uint32_t kNone = ~0U;
  std::vector<std::uint32_t> next_to_peer;
  // By step: what must happen before it starts.
  std::vector<std::uint32_t> conditions;
  // Largest count of a reduce with operands in the order of memory (needs room to swap).
  Count most_swapped = 0;
};

// Memory for scratch, kept between runs. One per world; must outlive its runs.
class ScratchPool {
 public:
  struct Piece {
    std::unique_ptr<std::byte[]> memory;
    std::size_t bytes = 0;
  };
  Piece take(std::size_t bytes);
  void give(Piece piece);

 private:
  std::vector<Piece> free_;
  std::size_t kept_ = 0;  // bytes in free_
};

// Room for count elements of `type`; returns the address of element 0 (spaced by extent).
std::byte* take_elements(ScratchPool& pool, Count count, const types::Datatype& type,
                         ScratchPool::Piece& piece);

// A collective under way, or ready to be begun (again).
class Run {
 public:
  virtual ~Run() = default;
  // Starts at once; the run before must be done. The program's spaces are bound to `binding`.
  virtual void begin(Binding binding) = 0;
  virtual void restart() = 0;  // persistent: same binding once more
  virtual bool is_done() const = 0;
  virtual Code code() const = 0;
  // Called once when it ends, gate held, possibly inside begin(); may begin or destroy runs,
  // this one too. Must not wait.
  void (*on_done)(Run* self) = nullptr;
  void* owner = nullptr;
};

std::unique_ptr<Run> make_run(p2p::Endpoint& endpoint, ScratchPool& scratch,
                              std::shared_ptr<const Program> program);
Code wait(p2p::Endpoint& endpoint, Run& run);

}  // namespace tutti::engine
