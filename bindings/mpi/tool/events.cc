// Events: what the endpoint tells its observer, handed to the callbacks registered for it.
//
// They happen inside calls and progress, with the gate and the lock held: a callback must be
// content with a restricted use of MPI (15.3.8). Without such a callback an event is dropped.
#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "mpi/tool/tool.h"

namespace tutti::mpi::tool {
namespace {

constexpr std::array kKinds{
    EventKind{"unexpected_message", "a message came before its receive: from whom, tag, bytes"},
    EventKind{"send_delayed", "a short message waits for its receiver: to whom, tag, bytes"},
    EventKind{"peer_lost", "a rank is gone: which"},
};
constexpr std::size_t kSafetyHere = 1;  // of kSafeties

std::vector<Registration*>& registrations() {
  static auto& all = *new std::vector<Registration*>;  // kept: see process.h
  return all;
}

void deliver(const Registration& to, Instance& instance) {
  auto* const handle =
      reinterpret_cast<MPI_T_event_registration>(reinterpret_cast<std::uintptr_t>(&to));
  for (std::size_t i = kSafetyHere; i < to.callbacks.size(); ++i) {
    const Registration::Callback& callback = to.callbacks[i];
    if (callback.function == nullptr) continue;
    return callback.function(reinterpret_cast<MPI_T_event_instance>(&instance), handle,
                             kSafeties[kSafetyHere], callback.user_data);
  }
  if (to.on_dropped != nullptr)
    to.on_dropped(1, handle, 0, kSafeties[kSafetyHere], to.callbacks[0].user_data);
}

void on_happening(void* /*self*/, const p2p::Happening& what) {
  const Entry entry;
  Instance instance{static_cast<int>(what.kind), {what.peer, what.tag, what.bytes}, now_ns()};
  const std::vector<Registration*> all = registrations();  // a callback may free its own
  for (const Registration* each : all)
    if (each->kind == instance.kind && is_live(each)) deliver(*each, instance);
}

void observe(world::World& world) {
  world.endpoint().set_observer(registrations().empty() ? nullptr : &on_happening, nullptr);
}

}  // namespace

std::span<const EventKind> event_kinds() {
  return kKinds;
}

int safety_index(MPI_T_cb_safety safety) {
  const auto found = std::find(kSafeties.begin(), kSafeties.end(), safety);
  return found == kSafeties.end() ? -1 : static_cast<int>(found - kSafeties.begin());
}

void add_registration(Registration* registration) {
  remember(registration);
  registrations().push_back(registration);
  if (process.world != nullptr) observe(*process.world);
}

void drop_registration(Registration* registration) {
  forget(registration);
  auto& all = registrations();
  all.erase(std::find(all.begin(), all.end(), registration));
  if (process.world != nullptr) observe(*process.world);
  delete registration;
}

void world_opened(world::World& world) {
  const Entry entry;
  observe(world);
}

void world_closes(world::World& world) {
  const Entry entry;
  keep_counters(world.endpoint().counters());
  world.endpoint().set_observer(nullptr, nullptr);
}

}  // namespace tutti::mpi::tool
