// Calling a function of the user's: an attribute's, an error handler's, a generalized request's.
//
// Others may be inside MPI meanwhile, since it may wait for them: whoever calls one holds no lock,
// looks at no container that a call of MPI changes, and keeps what it needs afterwards alive.
// (Operations are called by the engine with the gate held: they may not call MPI, MPI 5.0, 6.9.5.
// So are callbacks of events, which are told what they may do, MPI 5.0, 15.3.8.)
#pragma once

#include "mpi/process.h"

namespace tutti::mpi {

class Outside {
 public:
  Outside()
      : world_(process.world),
        is_out_(world_ != nullptr && world_->step_out()),
        is_counted_(!process.gated) {
    if (is_counted_) ++process.callbacks;
  }
  ~Outside() {
    if (is_counted_) --process.callbacks;
    if (is_out_) world_->step_in();  // the world stays when it is closed meanwhile
  }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

 private:
  world::World* world_;
  bool is_out_;
  const bool is_counted_;
};

template <class Function, class... Arguments>
auto call_user(Function function, Arguments... arguments) {
  const Outside outside;
  return function(arguments...);
}

}  // namespace tutti::mpi
