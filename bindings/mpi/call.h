// Call: what every entry point does before and after its body.
//
// Initialised? Then the gate (only with MPI_THREAD_MULTIPLE) and the watch record: three stores.
// Failures end in the error handler of a communicator; all of that is cold and out of line.
#pragma once

#include "functions.h"
#include "mpi/process.h"
#include "mpi/trouble.h"
#include "watch/watch.h"

namespace tutti::mpi {

#if defined(TUTTI_NO_CHECKS)
inline constexpr bool kChecksBuilt = false;
#else
inline constexpr bool kChecksBuilt = true;
#endif

class Call {
 public:
  enum When : std::uint8_t { inside, anytime };

  Call(function::Number number, When when) : number_(number) {
    world::World* const world = process.world;
    allowed_ = world != nullptr || when == anytime;
    if (world == nullptr) return;
    if (process.gated) [[unlikely]]
      world->enter();
    watch::enter(*process.watch, number);
  }
  ~Call() {
    world::World* const world = process.world;
    if (world == nullptr) return;  // also after MPI_Finalize made it so
    watch::leave(*process.watch);
    if (process.gated) [[unlikely]]
      world->leave();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  bool allowed() const { return allowed_; }
  bool checks() const { return kChecksBuilt && process.checks; }

  // Each raises the error through the handler of `comm` (null: of MPI_COMM_SELF) and returns
  // what the function returns. refuse: the reason was noted by a check, or the call came
  // before MPI_Init or after MPI_Finalize.
  [[gnu::cold]] int refuse(comm::Communicator* comm) const;
  [[gnu::cold]] int fail(Code code, comm::Communicator* comm) const;
  [[gnu::cold]] int unsupported(comm::Communicator* comm) const;

 private:
  function::Number number_;
  bool allowed_;
};

}  // namespace tutti::mpi
