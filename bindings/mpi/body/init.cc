// Chapter 11: starting and ending MPI, thread levels, abort.
#include <pthread.h>

#include "bodies.h"
#include "mpi/attributes.h"
#include "mpi/buffered.h"
#include "mpi/call.h"
#include "mpi/convert.h"
#include "mpi/errors.h"
#include "mpi/last_writes.h"
#include "mpi/streams.h"
#include "mpi/trouble.h"

namespace tutti::mpi::body {
namespace {

pthread_t g_main_thread;  // who called MPI_Init; valid while running

// Seen in this call, as CallScope does it where there is a world before: over several hosts it
// waits for all ranks, and another thread may have a session by now.
class Starting {
 public:
  explicit Starting(function::Number called) : called_(called) {
    if (process.gated) come_among(*process.world, called_);
    watch::enter(*process.watch, called_);
  }
  ~Starting() {
    watch::leave(*process.watch);
    if (process.gated) go_from_among(*process.world, called_);
  }
  Starting(const Starting&) = delete;
  Starting& operator=(const Starting&) = delete;

 private:
  function::Number called_;
};

Code start(function::Number called, int required, int* provided) {
  const std::int64_t began_ns = now_ns();
  if (const ProcessPhase phase = process.phase.load(std::memory_order_acquire);
      phase != ProcessPhase::before_init)
    return refuse(Code::other, phase == ProcessPhase::forked
                                   ? why_not_running()
                                   : "MPI was initialised before; it can be done once");
  if (required < MPI_THREAD_SINGLE || required > MPI_THREAD_MULTIPLE)
    return refuse(Code::arg, "required is not a thread level");
  g_main_thread = ::pthread_self();
  const Result<void> opened = open_world(called, level_from_mpi(required));
  if (!opened) return note(opened);
  const Starting inside(called);
  if (const Result<void> met = begin_world_model(); !met) return note(met);
  *provided = level_to_mpi(process.world->level());
  if (process.recorder != nullptr) process.recorder->end(called, began_ns);
  return Code::ok;
}

}  // namespace

Code init_thread(int* /*argc*/, char*** /*argv*/, int required, int* provided) {
  return start(function::Init_thread, required, provided);
}

Code init(int* /*argc*/, char*** /*argv*/) {
  int provided = MPI_THREAD_SINGLE;
  return start(function::Init, MPI_THREAD_SINGLE, &provided);
}

Code initialized(int* flag) {
  *flag = process.phase.load(std::memory_order_acquire) != ProcessPhase::before_init;
  return Code::ok;
}

Code finalized(int* flag) {
  // What ends MPI on the way out of a program asks this first, in a child of fork, too.
  *flag = process.phase.load(std::memory_order_acquire) >= ProcessPhase::finalized;
  return Code::ok;
}

Code finalize() {
  // A session may be open before MPI_Init and after MPI_Finalize.
  if (process.phase.load(std::memory_order_acquire) != ProcessPhase::running)
    return refuse(Code::other, why_not_running());
  drain_streams();
  // Attributes of MPI_COMM_SELF first: programs hang their own finalisers there (11.2.4).
  for (comm::Communicator* comm : {process.self_comm, process.world_comm})
    if (const Code code = drop_all_attributes(carrier(*comm)); code != Code::ok) return code;
  for (comm::Communicator* comm : {process.self_comm, process.world_comm}) {
    close_buffer_room(comm);
    set_errhandler(*comm, nullptr);
  }
  close_buffer_room(nullptr);
  comm::Reason why;
  const Result<void> closed = end_world_model(why);
  if (closed) return Code::ok;
  const Code code = note(closed);
  add_reason(trouble(), why);
  // Whoever did not come has ended the job.
  if (!why.is_mismatch) trouble().blame = wireup::Blame::another;
  return code;
}

Code query_thread(int* provided) {
  *provided = level_to_mpi(process.world->level());
  return Code::ok;
}

Code is_thread_main(int* flag) {
  *flag = ::pthread_equal(g_main_thread, ::pthread_self()) != 0;
  return Code::ok;
}

Code abort(comm::Communicator& comm, int errorcode) {
  const std::string name =
      comm.name.empty() ? "communicator " + std::to_string(comm.context() / 2) : comm.name;
  const std::string reason = "called MPI_Abort(" + name + ", " + std::to_string(errorcode) + ")";
  write_what_streams_hold();
  report_use();
  process.world->abort(errorcode, reason, wireup::Blame::own);
  return Code::other;  // not reached
}

}  // namespace tutti::mpi::body
