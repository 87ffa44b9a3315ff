// world: makes and connects the rooms. The only place that knows them all. Its end tells peers,
// and the launcher if nobody did, and closes links; without finish() or settle(), or when finish()
// failed, it says nothing.
//
// Owner: the bindings hold the process's one world; tests hold eight in eight threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/knobs.h"
#include "base/result.h"
#include "comm/comm.h"
#include "wireup/wireup.h"
#include "world/gate.h"

namespace tutti::world {

class Helper;

enum class ThreadLevel : int { single = 0, funneled = 1, serialized = 2, multiple = 3 };

class World {
 public:
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  // From a joined wire-up client (join() in a process, in_threads() in tests). Local: there is
  // MPI_COMM_SELF, and communicators can be made from groups. `called`: the function, by its
  // number, that a look at this rank finds it in while networks and drivers are opened.
  static Result<std::unique_ptr<World>> open(std::unique_ptr<wireup::Wireup> wireup,
                                             const Knobs& knobs, ThreadLevel level,
                                             std::uint32_t called);

  // One thread at a time below the bindings. Recursive; free of cost unless it is gated:
  // with `multiple`, or when a thread of ours makes progress (TUTTI_PROGRESS_US).
  void enter() {
    if (gate_) gate_->enter();
  }
  void leave() {
    if (gate_) gate_->leave();
  }
  // Around a function of the user's: others may come in meanwhile, since it may wait for them.
  // False, and nothing happened: not inside, or inside of another call.
  bool step_out() { return gate_ && gate_->step_out(); }
  void step_in() { gate_->enter(); }
  // This thread is inside, of a world with a gate.
  bool is_inside() const { return gate_ && gate_->is_mine(); }
  bool is_gated() const { return gate_.has_value(); }
  // Threads of ours will call, too: there is a gate from now on. The caller is the one thread that
  // is inside of one call, and stays so.
  void open_gate();
  // A nonblocking collective was begun by the program's one thread inside: from here on a thread of
  // ours moves the long ones while the program computes, where that was not turned off and the job
  // leaves a core for it (helper.h). There may be a gate then. False: nobody helps.
  bool help() { return helps_by_itself_ && comm::may_be_helped(*comms_) && call_helper(); }
  // For threads of ours: false, others are inside or want to be.
  bool try_enter() { return gate_->try_enter(); }
  // Of a thread of ours: it leaves what its rank is bound to for all that the job may use here, if
  // the job leaves a core for it. On the rank's own core it would wait for whoever computes there.
  void leave_binding() const;
  // The gate is free for a moment; the caller is inside.
  void pause();
  // At the process's end: whoever exits inside of a call does not come back.
  void give_gate_up() {
    if (is_inside()) gate_->release();
  }
  ThreadLevel level() const { return level_; }

  // Makes MPI_COMM_WORLD. Collective over the job; once.
  Result<void> make_world_comm();
  comm::Communicator& world_comm() { return *world_comm_; }
  comm::Communicator& self_comm() { return *self_comm_; }
  p2p::Endpoint& endpoint() { return *endpoint_; }
  types::Vendor* gpus() { return gpus_.get(); }  // null: this process can have none
  // Why the latest call on a communicator failed, in words, once.
  comm::Reason take_reason() { return comm::take_reason(*comms_); }
  wireup::Wireup& wireup() { return *wireup_; }
  const Knobs& knobs() { return knobs_; }
  wireup::WatchRecord& watch() {
    return wireup_->segment().local(static_cast<std::uint32_t>(wireup_->local_rank())).watch;
  }

  // Ends the whole job; does not return.
  [[noreturn]] void abort(int status, std::string_view reason, wireup::Blame blame);
  // The end of MPI_COMM_WORLD: waits until every rank arrived, sees our messages off and tells
  // the launcher that this process may end. Others may still meet us.
  // `is_last`: nothing else used MPI, so messages that nobody has asked for by then are dropped.
  // `why`: what the last barrier failed of, where that is known; not of the words that come back.
  Result<void> finish(bool is_last, comm::Reason& why);
  // Nobody uses MPI for now: waits until our messages are with their receivers.
  void settle();
  // Somebody uses MPI again, and nobody any more: once the launcher was told of an end, it is told
  // of these, too.
  void resume();
  void rest();

 private:
  World(std::unique_ptr<wireup::Wireup> wireup, const Knobs& knobs, ThreadLevel level);
  bool call_helper();
  Result<void> connect();
  Code meet_at_the_end();
  Result<void> say_finalized();

  // In order of construction; destroyed in reverse.
  std::unique_ptr<wireup::Wireup> wireup_;
  Knobs knobs_;
  ThreadLevel level_;
  std::int64_t helps_every_us_;  // 0: nobody helps, or somebody by himself
  bool helps_by_itself_;
  std::optional<Gate> gate_;             // none: one thread calls, and nobody helps
  std::unique_ptr<types::Vendor> gpus_;  // null: this process can have none
  std::unique_ptr<p2p::Endpoint> endpoint_;
  comm::RuntimePtr comms_;
  comm::CommRef world_comm_, self_comm_;
  // How the process may end: its peers would hear that it is gone (not yet orderly, or finish()
  // failed); or orderly, and the launcher has not or has been told so.
  enum class End : std::uint8_t { early, failed, orderly, told };
  End end_ = End::early;
  bool has_resumed_ = false;  // after the launcher was told
  std::unique_ptr<Helper> helper_;
};

}  // namespace tutti::world
