// The tool interface (MPI 5.0, 15.3): what its functions share.
//
// Control variables are the knobs, performance variables the endpoint's counters, events what
// the endpoint tells its observer. All of it may be used before MPI_Init and after MPI_Finalize;
// one lock guards it, taken after the gate; no function of the user's is called under it.
// Functions return their codes themselves.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "mpi/objects.h"
#include "mpi/process.h"
#include "p2p/p2p.h"

namespace tutti::mpi::tool {

// Holds the lock. `code` is what a function returns at once unless it is MPI_SUCCESS.
class Entry {
 public:
  Entry();
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  const int code;

 private:
  explicit Entry(std::recursive_mutex& lock);
  std::unique_lock<std::recursive_mutex> hold_;  // functions call each other
};
int start();  // counted
int end();

template <class Place, class Value>
void put(Place* where, Value value) {
  if (where != nullptr) *where = static_cast<Place>(value);
}
// Text as 15.3.3 hands it out: what fits, ended by a zero; *length becomes what would be needed.
void put_name(std::string_view text, char* into, int* length);

inline bool is_index(int index, std::size_t size) {
  return index >= 0 && static_cast<std::size_t>(index) < size;
}

// Handles given out and not freed yet, of all kinds.
void remember(const void* handle);
void forget(const void* handle);
bool is_live(const void* handle);

// --- control variables: Knobs::rows() by index

inline constexpr int kTextLength = 256;
bool is_switch(int knob);  // 0 or 1, with an enumeration
bool is_text(int knob);
bool is_settable_now(int knob);
std::string knob_text(int knob);
int set_knob(int knob, const std::string& text);
// What MPI_T_cvar_write said before MPI_Init, or null.
const char* overridden(const char* name);

struct ControlHandle {
  int knob;
};

// --- performance variables

struct PerformanceVariable {
  const char* name;
  const char* about;
  int variable_class;
  std::uint64_t p2p::Counters::*value;
  bool counts() const { return variable_class == MPI_T_PVAR_CLASS_COUNTER; }
};
std::span<const PerformanceVariable> variables();
std::uint64_t value_now(const PerformanceVariable& variable);
void keep_counters(const p2p::Counters& counters);

struct PerformanceHandle {
  const PerformanceVariable* variable;
  bool is_running;
  std::uint64_t from;    // what the variable was when it was started
  std::uint64_t before;  // counted in earlier runs
  std::uint64_t value() const {
    if (!variable->counts()) return value_now(*variable);
    return before + (is_running ? value_now(*variable) - from : 0);
  }
};

// --- events

struct EventKind {
  const char* name;
  const char* about;
};
std::span<const EventKind> event_kinds();
inline constexpr int kElements = 3;  // of every event: peer, tag, bytes
struct EventData {
  int peer;
  int tag;
  MPI_Count bytes;
};
struct Instance {
  int kind;
  EventData data;
  MPI_Count timestamp;
};
inline constexpr std::array<MPI_T_cb_safety, 4> kSafeties{
    MPI_T_CB_REQUIRE_NONE, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_T_CB_REQUIRE_THREAD_SAFE,
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE};
struct Registration {
  struct Callback {
    MPI_T_event_cb_function* function = nullptr;
    void* user_data = nullptr;
  };
  int kind = 0;
  std::array<Callback, 4> callbacks;  // by safety
  MPI_T_event_dropped_cb_function* on_dropped = nullptr;
  int told = 0;           // threads that are about to call them
  bool is_freed = false;  // by the user; then the last of these threads calls on_free
  MPI_T_event_free_cb_function* on_free = nullptr;
  void* free_data = nullptr;
};
int safety_index(MPI_T_cb_safety safety);  // -1: no such
// With the lock held:
Registration* add_registration(int kind);
Registration* registered(MPI_T_event_registration handle);  // null: there is none
// True: none of its callbacks is running, and the caller is to end it (end_registration), without
// the lock. False: whoever runs the last callback ends it.
bool drop_registration(Registration& registration);
void end_registration(Registration* registration);
bool is_happening();  // anything, in this thread: it is inside progress
// What happens in this thread now, if that is its handle; else null.
const Instance* happening(MPI_T_event_instance handle);

// --- the world comes and goes

void world_opened(world::World& world);
void world_closes(world::World& world);

}  // namespace tutti::mpi::tool
