// Events: what the endpoint tells its observer, handed to the callbacks registered for it.
//
// They happen inside calls and progress, with the gate held: a callback must be content with a
// restricted use of MPI (15.3.8). Without such a callback an event is dropped.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "mpi/tool/tool.h"

namespace tutti::mpi::tool {
namespace {

constexpr std::array kEventKinds{
    EventKind{"unexpected_message", "a message came before its receive: from whom, tag, bytes"},
    EventKind{"send_delayed", "a short message waits for its receiver: to whom, tag, bytes"},
    EventKind{"peer_lost", "a rank is gone: which"},
};
constexpr std::size_t kSafetyHere = 1;  // of kSafeties

std::vector<Registration*>& registrations() {
  static auto& all = *new std::vector<Registration*>;  // kept: see process.h
  return all;
}

MPI_T_event_registration handle_of(const Registration* registration) {
  return reinterpret_cast<MPI_T_event_registration>(reinterpret_cast<std::uintptr_t>(registration));
}

// Instances are known in the thread where they happen, while they do; one may happen in another's
// callback.
struct HappeningScope {
  explicit HappeningScope(const Instance& which)
      : instance(&which), outer(std::exchange(now, this)) {}
  ~HappeningScope() { now = outer; }
  HappeningScope(const HappeningScope&) = delete;
  HappeningScope& operator=(const HappeningScope&) = delete;

  const Instance* instance;
  const HappeningScope* outer;
  static thread_local constinit const HappeningScope* now;
};
thread_local constinit const HappeningScope* HappeningScope::now = nullptr;

// A registration, and what it was when something happened.
struct Told {
  Registration* whom;
  Registration as;
};
std::vector<Told> begin_telling(int kind) {
  const Entry entry;
  std::vector<Told> all;
  for (Registration* each : registrations()) {
    if (each->kind != kind) continue;
    ++each->told;
    all.push_back({each, *each});
  }
  return all;
}
bool is_still_there(const Told& told) {
  const Entry entry;
  return !told.whom->is_freed;
}
// Freed meanwhile, and nobody else tells it anything: ours to end.
bool end_telling(const Told& told) {
  const Entry entry;
  return --told.whom->told == 0 && told.whom->is_freed;
}

void deliver(const Told& to, Instance& instance) {
  for (std::size_t i = kSafetyHere; i < to.as.callbacks.size(); ++i) {
    const Registration::Callback& callback = to.as.callbacks[i];
    if (callback.function == nullptr) continue;
    return callback.function(reinterpret_cast<MPI_T_event_instance>(&instance), handle_of(to.whom),
                             kSafeties[kSafetyHere], callback.user_data);
  }
  if (to.as.on_dropped != nullptr)
    to.as.on_dropped(1, handle_of(to.whom), 0, kSafeties[kSafetyHere],
                     to.as.callbacks[0].user_data);
}

void on_happening(const p2p::Happening& told) {
  Instance instance{static_cast<int>(told.what), {told.peer, told.tag, told.bytes}, now_ns()};
  const HappeningScope scope(instance);
  for (const Told& each : begin_telling(instance.kind)) {
    if (is_still_there(each)) deliver(each, instance);  // a callback may free others
    if (end_telling(each)) end_registration(each.whom);
  }
}

void observe(world::World& world) {
  world.endpoint().set_observer(registrations().empty() ? nullptr : &on_happening);
}

}  // namespace

std::span<const EventKind> event_kinds() {
  return kEventKinds;
}

int safety_index(MPI_T_cb_safety safety) {
  const auto found = std::find(kSafeties.begin(), kSafeties.end(), safety);
  return found == kSafeties.end() ? -1 : static_cast<int>(found - kSafeties.begin());
}

Registration* registered(MPI_T_event_registration handle) {
  return is_live(handle) ? reinterpret_cast<Registration*>(handle) : nullptr;
}

Registration* add_registration(int kind) {
  auto* const made = new Registration;
  made->kind = kind;
  remember(made);
  registrations().push_back(made);
  if (process.world != nullptr) observe(*process.world);
  return made;
}

bool drop_registration(Registration& registration) {
  forget(&registration);
  registration.is_freed = true;
  auto& all = registrations();
  all.erase(std::find(all.begin(), all.end(), &registration));
  if (process.world != nullptr) observe(*process.world);
  return registration.told == 0;
}

// Where something happens, progress waits for the function: it may do no more there than those that
// are told what happens.
void end_registration(Registration* registration) {
  const MPI_T_cb_safety safety = is_happening() ? kSafeties[kSafetyHere] : MPI_T_CB_REQUIRE_NONE;
  if (registration->on_free != nullptr)
    registration->on_free(handle_of(registration), safety, registration->free_data);
  delete registration;
}

bool is_happening() {
  return HappeningScope::now != nullptr;
}

const Instance* happening(MPI_T_event_instance handle) {
  for (const HappeningScope* each = HappeningScope::now; each != nullptr; each = each->outer)
    if (static_cast<const void*>(each->instance) == handle) return each->instance;
  return nullptr;
}

void world_opened(world::World& world) {
  const Entry entry;
  observe(world);
}

void world_closes(world::World& world) {
  const Entry entry;
  keep_counters(world.endpoint().counters());
  world.endpoint().set_observer(nullptr);
}

}  // namespace tutti::mpi::tool
