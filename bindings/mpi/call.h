// Call: what every entry point does before and after its body.
//
// Initialised? Then the gate (only with MPI_THREAD_MULTIPLE) and the watch record: three stores.
// Failures end in the error handler of a communicator; all of that is cold and out of line.
#pragma once

#include <pthread.h>

#include <atomic>

#include "base/clock.h"
#include "functions.h"
#include "mpi/process.h"
#include "mpi/trouble.h"
#include "watch/recorder.h"
#include "watch/watch.h"

namespace tutti::mpi {

class Session;
class Errhandler;

#if defined(TUTTI_NO_CHECKS)
inline constexpr bool kChecksBuilt = false;
#else
inline constexpr bool kChecksBuilt = true;
#endif

// What a call does first and last where several threads may be in MPI.
inline void come_among(world::World& world, function::Number number) {
  world.enter();
  process.inside.add(number);
}
inline void go_from_among(world::World& world, function::Number number) {
  process.inside.drop(number);
  if (!process.inside.is_empty()) watch::enter(*process.watch, process.inside.any());
  world.leave();
}

class CallScope {
 public:
  enum When : std::uint8_t { inside, anytime };

  CallScope(function::Number number, When when) : number_(number) {
    // acquire: partner is the release in open_world(), of a thread that opens the first session.
    entered_ = std::atomic_ref(process.world).load(std::memory_order_acquire);
    allowed_ = entered_ != nullptr || when == anytime;
    if (entered_ == nullptr) return;
    if (process.gated) {
      come_in_turn();
    } else if (process.recorder != nullptr || (when == inside && has_company())) [[unlikely]] {
      come_seen(when);
    } else {
      if (when == inside) come_alone();
      watch::enter(*process.watch, number);
    }
  }
  // The world stays where it is, also when this call ended the use of it.
  ~CallScope() {
    if (entered_ == nullptr) return;
    if (process.gated)
      go_in_turn();
    else if (process.recorder != nullptr) [[unlikely]]
      go_seen();
    else
      watch::leave(*process.watch);
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  bool allowed() const { return allowed_; }
  bool checks() const { return kChecksBuilt && process.checks; }

  // Each raises the error through the handler of `comm` (null: see fallback_comm()) and returns
  // what the function returns. refuse: the reason was noted by a check, or the call came
  // before MPI_Init or after MPI_Finalize.
  [[gnu::cold]] int refuse(comm::Communicator* comm) const;
  [[gnu::cold]] int fail(Code code, comm::Communicator* comm) const;
  [[gnu::cold]] int unsupported(comm::Communicator* comm) const;
  [[gnu::cold]] int unsupported_on_files() const;
  // The same through the handler of a session.
  [[gnu::cold]] int refuse_session(Session* session) const;
  [[gnu::cold]] int fail_session(Code code, Session* session) const;
  // The same through a handler of no object: one given for what the call makes, or that of files.
  [[gnu::cold]] int refuse_by(Errhandler* handler) const;
  [[gnu::cold]] int fail_by(Code code, Errhandler* handler) const;

 private:
  // The same out of line: where several threads may be in MPI; where the call is recorded, or
  // begins while another thread is inside.
  void come_in_turn();
  void go_in_turn() noexcept;
  void come_seen(When when);
  void go_seen() noexcept;

  // Without a gate one thread at a time is inside. Another's calls leave words that stay until the
  // next call, so only who finds somebody inside is suspicious.
  // relaxed: who is right is ordered by the program; who is not gets a line, no more.
  static bool has_company() {
    return process.watch->function.load(std::memory_order_relaxed) != 0 &&
           std::atomic_ref<void*>(process.thread).load(std::memory_order_relaxed) != this_thread();
  }
  static void come_alone() {
    std::atomic_ref<void*>(process.thread).store(this_thread(), std::memory_order_relaxed);
  }
  static void* this_thread() {
#if __has_builtin(__builtin_thread_pointer)
    return __builtin_thread_pointer();
#else
    return reinterpret_cast<void*>(::pthread_self());
#endif
  }
  [[gnu::cold]] void suspect() const;

  function::Number number_;
  bool allowed_;
  world::World* entered_;
  std::int64_t begin_ns_;  // set and read while there is a recorder, which outlives every call
};

}  // namespace tutti::mpi
