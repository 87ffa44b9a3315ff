// Calling a function of the user's: an attribute's, an error handler's, a generalized request's.
//
// Others may be inside MPI meanwhile, since it may wait for them: whoever calls one holds no lock,
// looks at no container that a call of MPI changes, and keeps what it needs afterwards alive.
// An exception of its own goes on to the program, whatever it is (thrown() in errors.h).
// (Operations are called by the engine with the gate held: they may not call MPI, MPI 5.0, 6.9.5,
// and an exception of theirs ends the program, by a line (body/op.cc).
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

// Of the exception that is being handled: it is no trouble of ours.
[[gnu::cold]] void note_users_exception();

template <class Function, class... Arguments>
auto call_user(Function function, Arguments... arguments) {
  const Outside outside;
  try {
    return function(arguments...);
  } catch (...) {
    note_users_exception();
    throw;
  }
}

}  // namespace tutti::mpi
