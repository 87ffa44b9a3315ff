// delegate: whole collectives that cannot be said as messages.
//
// One today: `shm`, the ranks of one host working in a team area of the job segment (small
// vectors by slots whose flag and data share a line, longer ones in chunks, reduce-scatter then
// allgather). NCCL joins later. Called with the gate held.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "coll/coll.h"
#include "transport/transport.h"
#include "types/types.h"
#include "wireup/wireup.h"

namespace tutti::delegate {

using types::Count;

// One collective call as the user made it, any space contiguous or not.
struct Call {
  coll::Collective collective = coll::Collective::barrier;
  const void* send = nullptr;  // null with in_place
  void* recv = nullptr;        // bcast: the message
  Count count = 0;             // elements of `type`; per block where there are blocks
  const types::Datatype* type = nullptr;
  const types::Op* op = nullptr;
  int root = 0;
  bool in_place = false;
  std::uint32_t fingerprint = 0;  // of what every rank must say alike; a mismatch is an error
};

// The members of one communicator that all live on this host, with an area of the segment.
class Team {
 public:
  virtual ~Team() = default;
  // Whether this delegate can serve the call at all (collective, type, op).
  virtual bool takes(const Call& call) const = 0;
  // Runs it to the end; `idle` is asked to make other progress and to pause while waiting.
  virtual Code run(const Call& call) = 0;
  // Nonblocking: begins; true from test() when complete. One at a time per team, in order;
  // the caller queues. Never sleeps.
  virtual void begin(const Call& call) = 0;
  virtual bool test(Code* code) = 0;
};

// While a team call waits it must let messages move and sleep properly: this is how.
struct Waiting {
  int (*progress)(void* self);  // p2p progress; events handled
  void (*idle)(void* self);     // nothing moved: poll, yield or sleep; gate handled
  void (*active)(void* self);
  void* self;
};

// locals[i]: local rank of team member i; `me` indexes it. `area`: agreed by all members.
std::unique_ptr<Team> make_shm_team(wireup::Wireup& wireup, std::vector<int> locals, int me,
                                    std::uint32_t area, const Waiting& waiting);

// Takes and gives back areas (by one member, the others are told). Empty: none left.
std::optional<std::uint32_t> take_area(wireup::Wireup& wireup);
void give_area(wireup::Wireup& wireup, std::uint32_t area);

}  // namespace tutti::delegate
