// world: makes and connects the rooms. The only place that knows them all. Its end tells peers,
// and the launcher if nobody did, and closes links; without finish() or settle() it says nothing.
//
// Owner: the bindings hold the process's one world; tests hold eight in eight threads.
#pragma once

#include <memory>
#include <string_view>

#include "base/knobs.h"
#include "base/result.h"
#include "comm/comm.h"
#include "wireup/wireup.h"

namespace tutti::world {

enum class ThreadLevel : int { single = 0, funneled = 1, serialized = 2, multiple = 3 };

class World {
 public:
  virtual ~World() = default;
  // From a joined wire-up client (join() in a process, in_threads() in tests). Local: there is
  // MPI_COMM_SELF, and communicators can be made from groups.
  static Result<std::unique_ptr<World>> open(std::unique_ptr<wireup::Wireup> wireup,
                                             const Knobs& knobs, ThreadLevel level);

  // One thread at a time below the bindings. Recursive; free of cost unless it is gated:
  // with `multiple`, or when a thread of ours makes progress (TUTTI_PROGRESS_US).
  virtual void enter() = 0;
  virtual void leave() = 0;
  // Around a function of the user's: others may come in meanwhile, since it may wait for them.
  // False, and nothing happened: not inside, or inside of another call.
  virtual bool step_out() = 0;
  virtual void step_in() = 0;
  virtual bool is_gated() const = 0;
  virtual ThreadLevel level() const = 0;

  // Makes MPI_COMM_WORLD. Collective over the job; once.
  virtual Result<void> make_world_comm() = 0;
  virtual comm::Communicator& world_comm() = 0;
  virtual comm::Communicator& self_comm() = 0;
  virtual p2p::Endpoint& endpoint() = 0;
  // Why the latest call on a communicator failed, in words, once.
  virtual comm::Reason take_reason() = 0;
  virtual wireup::Wireup& wireup() = 0;
  virtual const Knobs& knobs() = 0;
  virtual wireup::WatchRecord& watch() = 0;

  // Ends the whole job; does not return.
  [[noreturn]] virtual void abort(int status, std::string_view reason, wireup::Blame blame) = 0;
  // The end of MPI_COMM_WORLD: waits until every rank arrived, sees our messages off and tells
  // the launcher that this process may end. Others may still meet us.
  // `is_last`: nothing else used MPI, so messages that nobody has asked for by then are dropped.
  virtual Result<void> finish(bool is_last) = 0;
  // Nobody uses MPI for now: waits until our messages are with their receivers.
  virtual void settle() = 0;
};

}  // namespace tutti::world
