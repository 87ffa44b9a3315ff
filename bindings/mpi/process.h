// The process-wide state of the bindings: the one world, and what every call looks at first.
//
// Globals live here and only here (docs/architecture.md). The fields a call reads are plain words
// in one cache line, constant-initialised: no constructor runs when the library is loaded. Nor does
// a destructor of ours run at exit: a static object of the program may call MPI in its own, later
// than ours would; what functions keep between calls is never destroyed, the world at the end.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "functions.h"
#include "mpi/inside.h"
#include "world/world.h"

namespace tutti::watch {
class Recorder;
}
namespace tutti::enqueue {
class CallStreams;
}

namespace tutti::mpi {

// forked: a child of the process that used MPI, which is still the rank.
enum class ProcessPhase : std::uint8_t { before_init, running, finalized, forked };

struct Process {
  world::World* world = nullptr;             // null while neither MPI_Init nor a session uses MPI
  comm::Communicator* world_comm = nullptr;  // between MPI_Init and MPI_Finalize
  comm::Communicator* self_comm = nullptr;
  wireup::WatchRecord* watch = nullptr;
  watch::Recorder* recorder = nullptr;  // null: nobody asked (TUTTI_RECORD)
  bool checks = true;                   // TUTTI_CHECKS
  bool gated = false;                   // one thread at a time below: world::World::is_gated
  bool tells_places = true;             // TUTTI_BACKTRACE, once it was read
  void* reserve = nullptr;              // memory given back when there is none, for the words of it
  void* thread = nullptr;               // without a gate: that called last (CallScope::come_alone)
  int callbacks = 0;                    // without a gate: functions of the user's that we are in
  enqueue::CallStreams* streams = nullptr;  // null: no stream was made (streams.h)
  // release in init and finalize, acquire in MPI_Initialized and MPI_Finalized: a thread that
  // sees "running" also sees the pointers above.
  std::atomic<ProcessPhase> phase{ProcessPhase::before_init};
  CallsInside inside;  // with a gate
};
extern constinit Process process;

// Takes `Process::reserve`, again if it was given back.
void keep_reserve();
struct ReserveAgain {
  ~ReserveAgain() { keep_reserve(); }
};
// What `take` takes for a call that the others wait for: at the second attempt with the reserve.
template <class Take>
auto take_for_others(const Take& take) {
  try {
    return take();
  } catch (const std::bad_alloc&) {
    std::free(std::exchange(process.reserve, nullptr));
  }
  const ReserveAgain at_end;
  return take();
}

// The communicator errors go to that belong to no communicator (MPI 5.0, 9.3): MPI_COMM_SELF; or
// MPI_COMM_WORLD, as it was before MPI 4, where the program set a handler there only.
inline comm::Communicator* fallback_comm() {
  const bool older = process.world_comm != nullptr && process.world_comm->errhandler &&
                     !process.self_comm->errhandler;
  return older ? process.world_comm : process.self_comm;
}

// The world, or after its end what is left of it: somebody to say last words to. Null: there was
// none, or it is the parent's.
world::World* any_world();

// Why a call that needs MPI finds none, as it is said behind the function's name.
const char* why_not_running();

// Ends the job where there was no world yet, if prun started this process; else it returns.
void abort_early(int status, const std::string& reason);

// A knob as it is to be read: what a tool wrote before MPI_Init, else the environment's.
const char* knob_from_environment(const char* name);

// The world serves MPI_Init .. MPI_Finalize and sessions, in any order and as often as they like.
// It is made by the first to come, sleeps when the last is gone, and ends with the process.
// Local; each is closed once. `called`: the function of MPI's in which that happens.
Result<void> open_world(function::Number called, world::ThreadLevel level);
void close_world();
// MPI_Init and MPI_Finalize beyond that; collective over the job.
Result<void> begin_world_model();
Result<void> end_world_model(comm::Reason& why);

// What calls took and moved so far, to the launcher, where it asked for it.
void report_use();

// The function of MPI's that the program is in; null: in none. Any thread and any handler may ask.
const char* function_under_way();

}  // namespace tutti::mpi
