// What a communicator keeps for its collectives: facts, team, choices, schedules made before.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/gpu/calls.h"
#include "comm/runtime.h"
#include "comm/shape.h"
#include "comm/widened.h"
#include "delegate/delegate.h"
#include "engine/engine.h"
#include "select/select.h"

namespace tutti::comm {

// What a schedule depends on besides the communicator.
struct ScheduleKey {
  const coll::Algorithm* algorithm;
  Count count;
  Count segment;
  int root;
  bool in_place;
  bool commutative;
  auto operator<=>(const ScheduleKey&) const = default;
};
// The same for calls whose blocks have their own sizes, on intercommunicators and among neighbours.
struct CountsKey {
  ScheduleKey call;
  coll::Collective collective;  // `call` names an algorithm of it; between groups there is none
  std::vector<Count> counts, send_counts;
  auto operator<=>(const CountsKey&) const = default;
};

// A program and the runs of it that are not under way.
struct Prepared {
  std::shared_ptr<const engine::Program> program;
  std::vector<std::unique_ptr<engine::Run>> idle;
};

// What the last call of a collective was served by. Most programs say the same again, which is
// found here without asking for its choice and its schedule.
struct LatestCall {
  const select::Choice* chosen;  // by whoever called, or null
  Count count, bytes;
  int root;
  bool in_place, commutative;
  std::vector<Count> counts, send_counts;
  std::shared_ptr<Prepared> prepared;
};

struct Communicator::State {
  select::TeamFacts facts;
  std::vector<int> host_of;  // by rank: which of the communicator's hosts, 0, 1, ...
  std::vector<int> joint;    // intercommunicators: job ranks of the first group, then the second
  std::unique_ptr<delegate::Team> team;
  bool may_have_gpus = false;           // members' buffers may lie on GPUs: alike
  bool asks_gpus = false;               // members ask whether calls go by a GPU's library: alike
  std::unique_ptr<GpuCalls> gpu_calls;  // null: none has asked yet
  bool is_cancelled = false;            // its contexts are not used again
  std::string forced;                   // algorithms, by force(); empty: knobs decide

  // Three counters of collectives: what a user called (`calls`), what took a tag (`tags`; making
  // communicators takes some, what the team serves none), what members must call alike (`order`).
  std::uint64_t calls = 0;              // of the user's that wait: for the watch record
  std::array<std::uint32_t, 2> tags{};  // by kind

  // Choices by what they depend on; sizes by their power of two (schedules.cc).
  std::map<std::uint64_t, select::Choice> choices;
  // Those for calls that the delegate may serve, found quickly: by collective and power of two.
  using BySize = std::array<const select::Choice*, 64>;
  std::array<std::unique_ptr<BySize>, kCollectives> quick;
  static std::size_t size_class(Count bytes) {
    return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(bytes))) & 63U;
  }
  // Null: not asked for yet.
  const select::Choice* quick_choice(coll::Collective collective, Count bytes) const {
    const auto& row = quick[static_cast<std::size_t>(collective)];
    return row == nullptr ? nullptr : (*row)[size_class(bytes)];
  }

  std::array<std::unique_ptr<LatestCall>, kCollectives> latest;
  template <class Key>
  using Schedules = std::map<Key, std::shared_ptr<Prepared>>;
  Schedules<ScheduleKey> prepared;
  Schedules<CountsKey> prepared_by_counts;
  static constexpr std::size_t kMostPrepared = 64;  // of either kind
  static constexpr std::size_t kMostIdle = 4;       // runs of one schedule, kept bound

  // By kind, with a hash over them: what remember() tells the daemon.
  struct Order {
    std::uint64_t number = 0;
    std::uint32_t history = 0;
  };
  std::array<Order, 2> order{};
  // What its calls' records say alike, once that is known; none: nobody compares its calls.
  enum class Records : std::uint8_t { unknown, none, kept } records = Records::unknown;
  wireup::CallRecord record{};

  // The tag of a collective's messages. Blocking calls and the others are numbered apart: programs
  // that mix them in another order on each rank, which they should not, work here as elsewhere.
  // nonblocking: persistent ones and those in streams, too.
  enum class Kind : std::uint8_t { blocking, nonblocking };
  int next_tag(Kind kind = Kind::blocking) {
    const auto which = static_cast<std::uint32_t>(kind);
    return static_cast<int>((tags[which]++ & 0x3fffffffU) | which << 30);
  }
};

// The algorithm that a communicator's list ("allreduce=ring,bcast=binomial") names for a
// collective.
std::string forced_name(const std::string& list, coll::Collective collective);
// Which algorithm serves the shape here: of all, and of the team (null); of schedules only; of
// those where every member's buffers lie on a GPU.
enum class Among : std::uint8_t { all, schedules, schedules_on_gpus };
Result<const select::Choice*> choice_for(Communicator& comm, const CallShape& shape, Among among);
// The same for a call of so many bytes that the team can serve; quick_choice() knows it then.
Result<const select::Choice*> choice_of_size(Communicator& comm, const CollCall& call, Count bytes);
// The schedule that the last call of this collective took, if it was of this shape; or null.
std::shared_ptr<Prepared> find_latest(const Communicator& comm, const CallShape& shape,
                                      const select::Choice* chosen);
void keep_latest(Communicator& comm, const CallShape& shape, const select::Choice* chosen,
                 std::shared_ptr<Prepared> prepared);
// The schedule of the shape by that choice, made ready to run.
Result<std::shared_ptr<Prepared>> prepare(Communicator& comm, const CallShape& shape,
                                          const select::Choice& choice);
// find_kept(): the schedule that is kept under this key, or null. keep(): keeps this one from now
// on.
std::shared_ptr<Prepared> find_kept(Communicator& comm, const CountsKey& key);
std::shared_ptr<Prepared> keep(Communicator& comm, CountsKey key, sched::Schedule made);
// A run of it, new or used before; give it back when it went well.
std::unique_ptr<engine::Run> take_run(Communicator& comm, Prepared& prepared);
void give_run(Prepared& prepared, std::unique_ptr<engine::Run> run);

// What all members must know alike, since they choose algorithms by it: rank 0 says it. It travels
// as plain bytes, between processes of one library.
struct Settled {
  select::TeamFacts facts;
  std::int64_t area = -1;  // of the segment; -1: none
  bool may_have_gpus = false;
};
Settled propose_settled(Communicator& comm);  // rank 0 may take an area
void adopt_settled(Communicator& comm, Settled& settled);
// As members tell it: between its fields there is zero, not what this process had there before.
std::span<std::byte> told_bytes(Settled& settled);
// Both, and rank 0's word between them. Collective over comm.
Result<void> settle(Communicator& comm);

// The groups of an intercommunicator.
struct IntercommGroups {
  GroupRef own, remote;
  bool own_first;
};

struct CommMaker {
  static CommRef make(Runtime& runtime, GroupRef group, Number number, Handle handle = 0);
  static CommRef make_inter(Runtime& runtime, const IntercommGroups& sides, Number number);
  static void set_number(Communicator& comm, Number number);
  static void force(Communicator& comm, std::string algorithms);
};

}  // namespace tutti::comm
