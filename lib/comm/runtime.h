// The runtime of a process as its communicators see it: what they run on, shared by all of them.
//
// Everything with the world's gate held. Private to comm.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <tuple>
#include <vector>

#include "base/contexts.h"
#include "base/knobs.h"
#include "comm/comm.h"
#include "comm/context_ids.h"
#include "delegate/delegate.h"
#include "delegate/gpu_library.h"
#include "engine/engine.h"
#include "watch/watch.h"
#include "wireup/wireup.h"

namespace tutti::comm {

inline constexpr std::uint32_t kNoContext = ~1U;  // of a communicator that is being made

// What a difference between ranks' collectives is to this rank (TUTTI_MISMATCH).
enum class Mismatch : std::uint8_t { an_error, told, overlooked };

// What collectives under way keep, for the next ones: starting one allocates nothing.
class CollectivePool {
 public:
  CollectivePool();
  ~CollectivePool();
  CollectivePool(const CollectivePool&) = delete;
  CollectivePool& operator=(const CollectivePool&) = delete;
  std::unique_ptr<Request::Collective> take();
  void give(std::unique_ptr<Request::Collective> collective);

 private:
  std::vector<std::unique_ptr<Request::Collective>> idle_;
};

// Slots of requests, given back and taken again without the lock of all.
class RequestPool {
 public:
  RequestPool() = default;
  RequestPool(const RequestPool&) = delete;
  RequestPool& operator=(const RequestPool&) = delete;
  ~RequestPool();
  void* take();
  void give(void* slot) {
    slots::retire(slot);
    try {
      free_.push_back(slot);
    } catch (const std::bad_alloc&) {  // then it is not kept
      slots::give(slot);
    }
  }

 private:
  std::vector<void*> free_;
};

// Memory for calls that find none: what a collective needs before it takes part in it, it takes
// from this, since the others wait for it.
class Reserve {
 public:
  Reserve() { keep(); }
  // What `take` takes, at the second attempt with the memory that is kept here. Where it fails
  // again, `give_up` tells the others.
  template <class Take, class GiveUp>
  auto help(const Take& take, const GiveUp& give_up) {
    try {
      return take();
    } catch (const std::bad_alloc&) {
      memory_.reset();
    }
    try {
      auto taken = take();
      keep();
      return taken;
    } catch (const std::bad_alloc&) {
      give_up();
      keep();
      throw;
    }
  }

 private:
  // Never touched, so it takes room among the addresses only.
  void keep() { memory_.reset(new (std::nothrow) std::byte[std::size_t{1} << 20]); }
  std::unique_ptr<std::byte[]> memory_;
};

// How often this rank, as a leader, began to make an intercommunicator, by the other side's leader
// and where leaders meet (inter.cc).
using AttemptsBetween = std::map<std::tuple<int, std::uint32_t, int>, int>;

class Runtime {
 public:
  explicit Runtime(const Ground& ground)
      : endpoint(*ground.endpoint),
        devices(ground.endpoint->devices()),
        wireup(*ground.wireup),
        knobs(*ground.knobs),
        watch(ground.wireup->segment()
                  .local(static_cast<std::uint32_t>(ground.wireup->local_rank()))
                  .watch),
        recent(ground.wireup->segment()
                   .local(static_cast<std::uint32_t>(ground.wireup->local_rank()))
                   .recent) {
    births_above = std::uint64_t{ground.wireup->segment().header().generation} << 48;
    const std::string& word = knobs.text("TUTTI_MISMATCH");
    if (word == "warn") mismatch = Mismatch::told;
    if (word == "off") mismatch = Mismatch::overlooked;
    tells_every_call = word == "every";
    is_recorded = knobs.text("TUTTI_RECORD") != "off";
    may_have_gpus = delegate::may_have_gpus(knobs);
  }
  // Until what its caller gave the device before has ended: for who works for it on the spot next.
  // Messages move, and others call. Null, or not usable: nothing is waited for.
  void await_caller(types::Device* device) {
    if (device != nullptr && device->is_usable()) endpoint.end(endpoint.await_caller(*device));
  }

  p2p::Endpoint& endpoint;
  const types::Devices& devices;  // whose memory users' buffers may lie in
  wireup::Wireup& wireup;
  const Knobs& knobs;
  wireup::WatchRecord& watch;  // this rank's own
  wireup::RecentCalls& recent;
  Mismatch mismatch = Mismatch::an_error;
  bool warned_of_mismatch = false;
  bool tells_every_call = false;  // to the daemon, as it begins
  bool is_recorded = false;       // --stats and --trace want to know what each call was about
  bool may_have_gpus = false;     // as all ranks of the host
  bool gpu_library_tried = false;
  std::unique_ptr<delegate::GpuLibrary> gpu_library;
  struct {
    std::thread::id whose;  // call goes by it; none: nobody's
    bool rests = false;     // and calls in streams rest meanwhile
  } gpu_turn;
  // Of the communicator whose calls in a stream do, too; null: there is none.
  delegate::GpuTeam* streamed_team = nullptr;
  // By GPU: what is half done by levels, one call at a time (GpuTurn).
  std::map<std::pair<int, bool>, std::shared_ptr<delegate::GpuBuffer>>
      gpu_buffers;                                       // gpu/levels.cc
  std::array<bool, kCollectives> told_not_waited_for{};  // gpu/calls.h
  std::deque<delegate::GpuLibrary::Id> farewells;        // messages that may not have left
  Reserve reserve;
  engine::ScratchPool scratch;
  CollectivePool collectives;
  ContextIds contexts;
  AttemptsBetween attempts_between;
  std::deque<std::vector<std::byte>> last_words;  // of say_word (meeting.h)
  std::uint64_t births_above = 0;  // prun compares over all MPI programs that ranks run in turn
  RequestPool requests;
  std::optional<model::BoundAt> place;  // of this rank, once it was read

  // Nonblocking collectives under way: those that are long, and those that call a user's function.
  struct {
    int long_ones = 0, by_users = 0;
  } under_way;
  bool is_helped = false;  // another thread moves them, and begins them, too

  std::uint64_t failures = 0;  // requests that ended with an error so far

  // What the latest failure of a blocking call was about, until whoever raises it takes it
  // (take_reason).
  Reason reason;

  int rank() const { return wireup.rank(); }
  delegate::Waiting waiting();
};

}  // namespace tutti::comm
