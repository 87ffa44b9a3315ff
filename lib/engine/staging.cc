// Blocks that lie apart: moved into plain bytes before a run's first step, and out of them after
// its last. What a device does of that is a request like a step's: nobody waits for it here.
#include <algorithm>
#include <new>

#include "base/true_while.h"
#include "engine/memory.h"

namespace tutti::engine {

// Their ends count only: who has begun them goes on.
void Run::begin_moves(bool is_in) {
  const TrueWhile now(advancing_);
  try {
    const auto& moves = memory_->moves(is_in ? BoundMemory::Moved::in : BoundMemory::Moved::out);
    moves_.reserve(moves.size());
    for (const auto& [from, into] : moves) {
      if (from.device == nullptr && into.device == nullptr) {
        types::copy(from, into);
        continue;
      }
      p2p::Pending* const request = endpoint_.copy(from, into);
      moves_.push_back(request);
      request->owner = this;
      request->on_done = &move_done;
      if (request->done) end_move(request);
    }
  } catch (const std::bad_alloc&) {
    fail_with(Code::no_mem);
    failure_.text = "there is not enough memory to move its blocks together";
  }
}

void Run::move_done(p2p::Pending* request) {
  Run* const run = static_cast<Run*>(request->owner);
  run->end_move(request);
  run->advance();
}

void Run::end_move(p2p::Pending* request) {
  std::erase(moves_, request);
  if (request->status.code != Code::ok) fail_by(*request);
  endpoint_.release(request);
}

}  // namespace tutti::engine
