// What a communicator keeps for its collectives: facts, team, choices, schedules made before.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/context.h"
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
// And where blocks have sizes of their own.
struct CountsKey {
  ScheduleKey call;
  std::vector<Count> counts, send_counts;
  auto operator<=>(const CountsKey&) const = default;
};

// A program and the runs of it that are not under way.
struct Prepared {
  std::shared_ptr<const engine::Program> program;
  std::vector<std::unique_ptr<engine::Run>> idle;
};

struct Communicator::State {
  select::TeamFacts facts;
  std::vector<int> host_of;  // by rank: which of the communicator's hosts, 0, 1, ...
  std::vector<int> joint;    // intercommunicators: job ranks of the first group, then the second
  std::unique_ptr<delegate::Team> team;
  std::string forced;                       // algorithms, by force(); empty: knobs decide
  std::uint64_t calls = 0;                  // collectives that waited so far: for the watch record
  std::array<std::uint32_t, 2> sequence{};  // blocking and other collectives so far

  // Choices by what they depend on; sizes by their power of two (collectives.cc).
  std::map<std::uint64_t, select::Choice> choices;
  enum class Route : std::uint8_t { unknown, delegate, schedule };
  std::array<std::array<Route, 64>, coll::kCollectives> routes{};

  template <class Key>
  using Schedules = std::map<Key, std::shared_ptr<Prepared>>;
  Schedules<ScheduleKey> prepared;
  Schedules<CountsKey> prepared_by_counts;
  static constexpr std::size_t kMostPrepared = 64;
  static constexpr std::size_t kMostIdle = 4;

  // Calls so far by kind, and a hash over them: what remember() tells the daemon.
  struct Order {
    std::uint64_t number = 0;
    std::uint32_t history = 0;
  };
  std::array<Order, 2> order{};

  // The tag of a collective's messages. Blocking calls and the others are numbered apart: programs
  // that mix them in another order on each rank, which they should not, work here as elsewhere.
  enum class Kind : std::uint8_t { blocking, other };
  int next_tag(Kind kind = Kind::blocking) {
    const auto which = static_cast<std::uint32_t>(kind);
    return static_cast<int>((sequence[which]++ & 0x3fffffffU) | which << 30);
  }
};

// Which algorithm serves the shape here. `delegates`: the team may be chosen (null algorithm).
Result<const select::Choice*> choice_for(Communicator& comm, const Shape& shape, bool delegates);
// The schedule of the shape by that choice, made ready to run.
Result<std::shared_ptr<Prepared>> prepare(Communicator& comm, const Shape& shape,
                                          const select::Choice& choice);
// A run of it, new or used before; give it back when it went well.
std::unique_ptr<engine::Run> take_run(Communicator& comm, Prepared& prepared);
void give_run(Prepared& prepared, std::unique_ptr<engine::Run> run);

// What of a call stays from one start to the next.
struct PreparedCall {
  Shape shape;
  const types::Datatype* wider = nullptr;  // see widened.h
  std::shared_ptr<Prepared> prepared;
  int tag = 0;
};
Result<PreparedCall> prepare_call(Communicator& comm, const CollCall& call,
                                  Communicator::State::Kind kind);

// A call bound and ready to begin.
struct BoundCall {
  std::shared_ptr<Prepared> prepared;
  std::unique_ptr<engine::Run> run;
  engine::Binding binding;
  engine::ScratchPool::Piece temporary;
  std::unique_ptr<Widened> widened;  // most have none
};
BoundCall bind_call(Communicator& comm, const CollCall& call, const PreparedCall& prepared);

// What all members must know alike: choices rest on it. Rank 0's word, as bytes between
// processes of one library.
struct Settled {
  select::TeamFacts facts;
  std::int64_t area = -1;  // of the segment; -1: none
};
Settled propose_settled(Communicator& comm);  // rank 0 may take an area
void adopt_settled(Communicator& comm, Settled& settled);
// Both, and rank 0's word between them. Collective over comm.
Result<void> settle(Communicator& comm);

// The groups of an intercommunicator.
struct Sides {
  GroupRef own, remote;
  bool own_first;
};

struct CommMaker {
  static CommRef make(Runtime& runtime, GroupRef group, Number number, Handle handle = 0);
  static CommRef make_inter(Runtime& runtime, const Sides& sides, Number number);
  static void set_number(Communicator& comm, Number number);
  static void force(Communicator& comm, std::string algorithms);
};

}  // namespace tutti::comm
