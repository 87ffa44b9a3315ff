// The process-wide world: who uses it, and its beginning and end.
#include "mpi/process.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "base/clock.h"
#include "base/log.h"
#include "functions.h"
#include "mpi/crash.h"
#include "mpi/errors.h"
#include "mpi/objects.h"
#include "mpi/streams.h"
#include "mpi/tool/tool.h"
#include "watch/recorder.h"
#include "watch/watch.h"

namespace tutti::mpi {

constinit Process process;

void keep_reserve() {
  constexpr std::size_t kReserve = std::size_t{64} << 10;
  if (process.reserve == nullptr) process.reserve = std::malloc(kReserve);
}

namespace {

std::unique_ptr<world::World>& world_owner() {
  static auto& world = *new std::unique_ptr<world::World>;
  return world;
}

std::unique_ptr<watch::Recorder>& recorder() {
  static auto& recorder = *new std::unique_ptr<watch::Recorder>;
  return recorder;
}

void open_recorder(world::World& world, const std::string& what) {
  if (what != "calls" && what != "events") return;
  recorder() = std::make_unique<watch::Recorder>(
      world.watch(), what == "events", [&world](bool events, std::string_view parcel) {
        using Use = wireup::Wireup::Use;
        world.wireup().report_use(events ? Use::events : Use::spent, parcel);
      });
  process.recorder = recorder().get();
}

bool is_forked() {
  // relaxed: written by this thread, or before any other of this process began.
  return process.phase.load(std::memory_order_relaxed) == ProcessPhase::forked;
}

// A child shares the parent's connections and has a copy of what the parent thinks of them: nothing
// of the world's is used, closed or destroyed there. A child that calls exit() is an ordinary one.
void leave_world_to_parent() {
  process.world = nullptr;
  process.world_comm = nullptr;
  process.self_comm = nullptr;
  process.streams = nullptr;
  // relaxed: a child begins with one thread.
  process.phase.store(ProcessPhase::forked, std::memory_order_relaxed);
}

}  // namespace

void report_use() {
  if (process.recorder == nullptr) return;
  process.recorder->report();
  const std::string all = process.world->endpoint().sent_text();
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = std::min(all.size(), begin + watch::kMostParcel);
    if (end < all.size()) end = all.rfind('\n', end) + 1;
    process.world->wireup().report_use(wireup::Wireup::Use::sent, all.substr(begin, end - begin));
    begin = end;
  }
}

const char* function_under_way() {
  const wireup::WatchRecord* const record = process.watch;
  // relaxed: this process wrote it.
  const auto in =
      record == nullptr || is_forked() ? 0 : record->function.load(std::memory_order_relaxed);
  return in == 0 ? nullptr : watch::function_name(in - 1);
}

namespace {

// When the library is unloaded: after the last static object of the program. A thread of the
// program may be in MPI until the kernel ends it, in a message that never comes or on its way to
// the next call: then the world and its streams stay.
[[gnu::destructor]] void end_of_process() {
  if (is_forked()) return;
  let_last_words_be_said();
  stop_streams();
  if (process.world != nullptr || function_under_way() != nullptr) return;
  end_streams();
  process.watch = nullptr;
  process.recorder = nullptr;
  world_owner().reset();
  recorder().reset();
}

std::string name_of(const wireup::Wireup& me) {
  return "rank " + std::to_string(me.rank()) + " on host " +
         me.segment().host(static_cast<std::uint32_t>(me.host())).name;
}

const char* from_environment(const char* name) {
  return std::getenv(name);
}

}  // namespace

const char* knob_from_environment(const char* name) {
  const char* const written = tool::overridden(name);
  return written != nullptr ? written : from_environment(name);
}

namespace {

// Sessions may be opened by any thread before anything else is there.
std::mutex& lock() {
  static std::mutex mutex;
  return mutex;
}
int g_users = 0;      // MPI_Init without MPI_Finalize, and open sessions; guarded by lock()
int g_newcomers = 0;  // how often one was opened; the same

Result<void> make_world(function::Number called, world::ThreadLevel level) {
  TUTTI_TRY(knobs, Knobs::read(knob_from_environment));
  log::set_explain(knobs.flag("TUTTI_EXPLAIN"));
  TUTTI_TRY(wireup, wireup::join(from_environment));
  log::set_rank(wireup->rank());
  log::set_caller(&function_under_way);
  ::pthread_atfork(nullptr, nullptr, &leave_world_to_parent);
  TUTTI_TRY(world, world::World::open(std::move(wireup), knobs, level, called));
  process.checks = knobs.flag("TUTTI_CHECKS");
  process.tells_places = knobs.flag("TUTTI_BACKTRACE");
  process.gated = world->is_gated();
  process.watch = &world->watch();
  keep_reserve();
  nothing_for(MPI_DATATYPE_NULL, true);  // makes it: nobody looks for what is thrown there later
  process.self_comm = &world->self_comm();
  process.self_comm->name = "MPI_COMM_SELF";
  open_recorder(*world, knobs.text("TUTTI_RECORD"));
  tool::world_opened(*world);
  world_owner() = std::move(world);
  if (knobs.flag("TUTTI_BACKTRACE")) watch_for_crashes(name_of(world_owner()->wireup()));
  return {};
}

}  // namespace

Result<void> open_world(function::Number called, world::ThreadLevel level) {
  if (is_forked()) return fail(Code::other, why_not_running());
  const std::scoped_lock hold(lock());
  if (world_owner() == nullptr) {
    TUTTI_DO(make_world(called, level));
  } else if (g_users == 0) {
    world_owner()->resume();
  }
  // release: partner is the acquire in Call; other threads may be in MPI already.
  if (process.world == nullptr)
    std::atomic_ref(process.world).store(world_owner().get(), std::memory_order_release);
  ++g_users;
  ++g_newcomers;
  return {};
}

// Seeing messages off lets other threads in, which may want the lock: not under it. Who opens a
// session meanwhile uses the same world, and may have closed it again.
void close_world() {
  drain_streams();
  for (int seen = -1;;) {
    {
      const std::scoped_lock hold(lock());
      if (g_users > 1 || seen == g_newcomers) {
        if (--g_users > 0) return;
        process.world->rest();
        process.world = nullptr;
        return;
      }
      seen = g_newcomers;
    }
    process.world->settle();
  }
}

Result<void> begin_world_model() {
  TUTTI_DO(process.world->make_world_comm());
  process.world_comm = &process.world->world_comm();
  process.world_comm->name = "MPI_COMM_WORLD";
  set_errhandler(*process.world_comm, nullptr);
  // release: partner is the acquire in MPI_Initialized.
  process.phase.store(ProcessPhase::running, std::memory_order_release);
  return {};
}

// Nor ever had.
static bool has_no_sessions() {
  const std::scoped_lock hold(lock());
  return g_newcomers == 1;
}

Result<void> end_world_model(comm::Reason& why) {
  const std::int64_t began_ns = now_ns();
  process.world_comm = nullptr;
  tool::world_closes(*process.world);
  if (process.recorder != nullptr) process.recorder->end(function::Finalize, began_ns);
  report_use();
  const Result<void> ended = process.world->finish(has_no_sessions(), why);
  // release: partner is the acquire in MPI_Finalized.
  process.phase.store(ProcessPhase::finalized, std::memory_order_release);
  close_world();
  return ended;
}

world::World* any_world() {
  return is_forked() ? nullptr : world_owner().get();
}

const char* why_not_running() {
  // acquire: partner is the release in begin_world_model and end_world_model.
  switch (process.phase.load(std::memory_order_acquire)) {
    case ProcessPhase::forked:
      return "called in a child process, made by fork: the process that called MPI_Init is the "
             "rank";
    case ProcessPhase::finalized:
      return "called after MPI_Finalize";
    default:
      return "called before MPI_Init";
  }
}

void abort_early(int status, const std::string& reason) {
  if (!is_forked()) wireup::abort_by_prun(from_environment, status, reason);
}

}  // namespace tutti::mpi
