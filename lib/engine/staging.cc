// Blocks that lie apart: moved into plain bytes before a run's first step, and out of them after
// its last. What a device does of that is a request like a step's: nobody waits for it here.
#include <new>

#include "base/true_while.h"
#include "engine/memory.h"

namespace tutti::engine {

// Their ends count only: who has begun them goes on.
void Run::begin_moves(bool is_in) {
  const TrueWhile now(advancing_);
  moves_.clear();
  try {
    const auto& moves = memory_->moves(is_in ? BoundMemory::Moved::in : BoundMemory::Moved::out);
    moves_.reserve(moves.size());  // where a state is it stays
    for (const auto& [from, into] : moves) {
      if (from.device == nullptr && into.device == nullptr) {
        types::copy(from, into);
        continue;
      }
      p2p::Pending* const request = endpoint_.copy(from, into);
      moves_.push_back({this, request});
      ++moving_;
      request->owner = &moves_.back();
      request->on_done = &move_done;
      if (request->done) end_move(request);
    }
  } catch (const std::bad_alloc&) {
    fail_for_memory("there is not enough memory to move its blocks together");
  }
}

void Run::move_done(p2p::Pending* request) {
  Run* const run = static_cast<MoveState*>(request->owner)->run;
  run->end_move(request);
  run->advance();
}

void Run::end_move(p2p::Pending* request) {
  static_cast<MoveState*>(request->owner)->request = nullptr;
  --moving_;
  if (request->status.code != Code::ok) fail_by(*request);
  endpoint_.release(request);
}

}  // namespace tutti::engine
