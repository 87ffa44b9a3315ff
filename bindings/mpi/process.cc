// The process-wide world: made by MPI_Init, gone after MPI_Finalize.
#include "mpi/process.h"

#include <cstdlib>
#include <memory>

#include "base/log.h"
#include "mpi/objects.h"
#include "mpi/tool/tool.h"

namespace tutti::mpi {

constinit Process process;

namespace {

std::unique_ptr<world::World>& owner() {
  static std::unique_ptr<world::World> world;
  return world;
}

const char* from_environment(const char* name) {
  return std::getenv(name);
}

}  // namespace

const char* knob_from_environment(const char* name) {
  const char* const written = tool::overridden(name);
  return written != nullptr ? written : from_environment(name);
}

Result<void> open_world(world::ThreadLevel level) {
  TUTTI_TRY(knobs, Knobs::read(knob_from_environment));
  log::set_explain(knobs.flag("TUTTI_EXPLAIN"));
  TUTTI_TRY(wireup, wireup::join(from_environment));
  log::set_rank(wireup->rank());
  TUTTI_TRY(world, world::World::open(std::move(wireup), knobs, level));
  process.checks = knobs.flag("TUTTI_CHECKS");
  process.gated = world->level() == world::ThreadLevel::multiple;
  process.watch = &world->watch();
  process.world_comm = &world->world_comm();
  process.self_comm = &world->self_comm();
  process.world_comm->name = "MPI_COMM_WORLD";
  process.self_comm->name = "MPI_COMM_SELF";
  process.world = world.get();
  tool::world_opened(*world);
  owner() = std::move(world);
  // release: partner is the acquire in MPI_Initialized.
  process.phase.store(Phase::running, std::memory_order_release);
  return {};
}

Result<void> close_world() {
  tool::world_closes(*process.world);
  const Result<void> ended = process.world->finalize();
  process.world = nullptr;
  process.world_comm = process.self_comm = nullptr;
  process.watch = nullptr;
  owner().reset();
  // release: partner is the acquire in MPI_Finalized.
  process.phase.store(Phase::finalized, std::memory_order_release);
  return ended;
}

std::string who_am_i() {
  if (process.world == nullptr) return "this process";
  const wireup::Wireup& me = process.world->wireup();
  return "rank " + std::to_string(me.rank()) + " on host " +
         me.segment().host(static_cast<std::uint32_t>(me.host())).name;
}

}  // namespace tutti::mpi
