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

class BoundMemory;

// One block of a space in user memory: count elements of type at data. Null type: bytes.
struct Block {
  void* data = nullptr;
  Count count = 0;
  const types::Datatype* type = nullptr;
  types::Device* device = nullptr;  // whose memory it is; null: the host's
};

// What a space of the schedule is in memory. Either one block, or (gatherv, alltoallv ...)
// several: the space's units then run through the blocks in order.
struct SpaceMemory {
  Block whole;
  std::vector<Block> blocks;  // empty: `whole`
  // Their places are addresses (displacements from MPI_BOTTOM): a block may lie in several
  // memories.
  bool are_absolute = false;
};

struct Binding {
  SpaceMemory in, out;
  // Reductions: units are elements of `type`, folded by `op`. Data movement: op null, units
  // are packed bytes; scratch is plain bytes then.
  const types::Op* op = nullptr;
  const types::Datatype* type = nullptr;
  std::uint32_t context = 0;
  int tag = 0;  // sequence number of the collective on its communicator
  std::uint32_t fingerprint = 0;
  int rank = 0;                // mine, in the communicator
  std::span<const int> peers;  // rank in the team -> rank in the job; outlives the run
  // A run that fails waits until peers leave its memory alone. Not where a failure ends the job:
  // that is told at once, whatever peers are busy with.
  bool outlives_failure = true;
  Code failure =
      Code::ok;  // of reading the caller's memory: the run tells the others, and ends with it
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
    std::byte* at = nullptr;
    types::Device* device = nullptr;      // whose memory it is, and who keeps it; null: the host's
    std::unique_ptr<std::byte[]> memory;  // of the host's
    std::size_t bytes = 0;                // likewise
  };
  // Of this device's memory, where it has some for us; else of the host's.
  Piece take(std::size_t bytes, types::Device* device = nullptr);
  void give(Piece piece);
  // Messages of a run that nobody waits for may still read or fill it: kept to the world's end.
  void abandon(Piece piece);

 private:
  std::vector<Piece> free_, abandoned_;
  std::size_t kept_ = 0;  // bytes in free_
};

// Room for count elements of `type`; returns the address of element 0 (spaced by extent).
std::byte* take_elements(ScratchPool& pool, Count count, const types::Datatype& type,
                         ScratchPool::Piece& piece, types::Device* device = nullptr);
// Where elements are best kept that are to be folded with those of the buffer: in the memory of its
// device, if that folds them; null: in the host's.
types::Device* folding_device(const types::Buffer& buffer, const types::Op& op);

// A collective under way, or ready to be begun (again).
class Run {
 public:
  Run(p2p::Endpoint& endpoint, ScratchPool& scratch, std::shared_ptr<const Program> program);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  // What the program's spaces are from the next begin() on: empty, to be filled. The run before
  // must be done.
  Binding& rebind();
  const Binding& binding() const { return binding_; }
  void begin();  // at once, by the binding that there is
  bool is_done() const { return done_; }
  Code code() const { return code_; }
  const p2p::MessageFailure& failure() const { return failure_; }  // why, where its code is not ok
  // Called once when it ends, and nothing touches the binding's memory any more; gate held,
  // possibly inside begin(); may begin or destroy runs, this one too. Must not wait.
  void (*on_done)(Run* self) = nullptr;
  void* owner = nullptr;

 private:
  struct StepState {
    Run* run;
    std::uint32_t step;
    std::uint32_t conditions;  // not met so far
    p2p::Pending* request;     // while it is under way: a message, or a device's work
    bool started;
  };

  // Steps whose conditions are met. Each is queued once, and there is room for all.
  struct Queue {
    std::vector<std::uint32_t> steps;
    std::size_t head = 0, end = 0;
    bool is_empty() const { return head == end; }
    void push(std::uint32_t step) { steps[end++] = step; }
    std::uint32_t pop() { return steps[head++]; }
    void clear() { head = end = 0; }
  };

  static void request_done(p2p::Pending* request);
  void meet(std::uint32_t step);
  void queue(std::uint32_t step);
  void advance();
  void start_queued();
  void start(std::uint32_t step);
  void start_send(std::uint32_t index, const sched::Step& step);
  Code bind();
  void watch(std::uint32_t index, p2p::Pending* request);
  void end_request(std::uint32_t index, p2p::Pending* request);
  void end_step(std::uint32_t index);
  void fold(const sched::Step& step);
  void begin_moves(bool is_in);
  static void move_done(p2p::Pending* request);
  void end_move(p2p::Pending* request);
  void fail_for_memory(const char* words);
  void fail_with(Code code);
  void fail_by(const p2p::Pending& request);
  void part_company();
  void replace(std::uint32_t step);
  static void straggler_done(p2p::Pending* request);
  void let_go();
  void finish();
  p2p::Envelope envelope(int source) const;
  int job_rank(const sched::Step& step) const;

  p2p::Endpoint& endpoint_;
  std::shared_ptr<const Program> program_;
  Binding binding_;
  std::unique_ptr<BoundMemory> memory_;  // what the spaces are
  std::vector<StepState> states_;        // by step
  Queue receives_, others_;
  struct MoveState {
    Run* run;
    p2p::Pending* request;  // while it is under way
  };
  std::vector<MoveState> moves_;  // of blocks that are staged
  std::size_t moving_ = 0;        // of them are under way
  bool is_moved_out_ = false;
  std::size_t unfinished_ = 0;
  std::size_t stragglers_ = 0;  // of a run that failed: what still touches its memory
  Code code_ = Code::ok;
  p2p::MessageFailure failure_;
  bool done_ = true;
  bool advancing_ = false;
};

Code wait(p2p::Endpoint& endpoint, Run& run);

}  // namespace tutti::engine
