// What members tell each other before a call goes by a GPU's library, and what of one process goes
// by it at a time. Private to comm.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "comm/gpu/calls.h"

namespace tutti::comm {

// Why a member cannot make a call on its GPU; the greater, the worse. The first but one is none
// yet: it can if what its streams hold has ended. From `no_library` on the reason is there to stay,
// and members do not ask again.
enum class Obstacle : std::uint8_t {
  none,
  has_streams,
  host_memory,
  no_gpu,
  own_context,
  layout,
  another_gpu,
  another_call,
  calls_in_streams,
  nothing_to_give,
  no_promise,
  another_promise,
  no_library,
  no_team
};
const char* text_of(Obstacle obstacle);

// Of a process one call at a time goes by the library, from asking to its end: threads' calls on
// two communicators would come in another order on each member, and each member's GPU could be full
// of kernels that wait for one which another's has no room for. Who finds the turn taken says so,
// and all make that call by ours: nobody waits for a turn. Calls within a call (levels) have its
// turn.
class GpuTurn {
 public:
  explicit GpuTurn(Runtime& runtime);
  ~GpuTurn();
  GpuTurn(const GpuTurn&) = delete;
  GpuTurn& operator=(const GpuTurn&) = delete;
  // This member's own obstacle, beside where its memory is.
  Obstacle obstacle() const;
  // From now on nothing is in the users' streams, and nothing comes there, while it lives. False:
  // something is there. The library may make the driver wait for a stream that stands still, and
  // that perhaps for what comes behind this call.
  bool rest();

 private:
  Runtime& runtime_;
  bool is_mine_ = false, is_outermost_ = false;
};

struct Agreed {
  Obstacle obstacle = Obstacle::none;
  int who = 0;
  bool is_alike = true;  // they make the same call
  Count bytes = 0;       // the greatest that a member moves
  std::int64_t last_ns = 0;
};
// Of all members the greatest obstacle, and the last of the members that say so. Where one has
// streams they say it once more, all being here: what comes into a stream waits from then on for no
// longer than the call takes.
Result<Agreed> agree(Communicator& comm, const delegate::GpuCall& said, Obstacle mine,
                     GpuTurn& turn);

}  // namespace tutti::comm
