// Blocking collectives of GPU memory by the vendor's library (NCCL), where all members agree that
// it can serve this one. Private to comm.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "comm/comm.h"
#include "delegate/gpu_library.h"
#include "engine/engine.h"
#include "select/on_gpus.h"

namespace tutti::comm {

// What a communicator keeps for it. All but `device` is alike on all members.
struct GpuCalls {
  using Way = select::Contest::Way;
  enum class Wish : std::uint8_t { unknown, when_it_pays, always, never };
  std::array<Wish, kCollectives> wishes{};  // what is forced, by collective

  // Calls that members could not make together, because of where somebody's memory was.
  struct Refusals {
    std::uint32_t in_a_row = 0;
    std::uint32_t to_pass = 0;  // calls before members ask again
    bool on_gpus = true;        // whether anybody's memory was a GPU's when they asked last

    bool passes() { return to_pass > 0 && to_pass-- > 0; }
    void note(bool is_refused);
    void note_short() { to_pass = 4; }  // nobody's memory was in the way, but it was not worth it
  };
  std::array<Refusals, kCollectives> refusals{};
  std::array<Refusals, kCollectives> by_team{};  // likewise, that go by the host's team

  // The ways there are, once members have tried to make them.
  bool is_planned = false;
  select::Contest::Mask can{true, true, false};
  std::shared_ptr<delegate::GpuTeam> team;  // of all members
  int device = -1;                          // of this member, in the team
  select::GpuLevels shape;
  struct Levels {
    CommRef inside;                               // this member's group; its first is the leader
    CommRef among;                                // the leaders; empty with the others
    std::shared_ptr<delegate::GpuBuffer> buffer;  // a leader's; two parts (select::kLevelPart)
    bool have_rooms = false;                      // all leaders have: alike
  } levels;
  std::vector<int> group_of, place_in_group;  // by rank

  // Calls in the members' streams go by the team, too (in_streams.h).
  struct Streamed {
    Streamed(Runtime& of, std::shared_ptr<delegate::GpuTeam> by, int on, void* handle);
    ~Streamed();
    Streamed(const Streamed&) = delete;
    Streamed& operator=(const Streamed&) = delete;
    Runtime& runtime;
    const std::shared_ptr<delegate::GpuTeam> team;
    const int device;
    void* const stream;
  };
  std::optional<Streamed> streamed;

  static constexpr std::int64_t kSaysNothing = INT64_MAX;  // of a call that failed: the greatest

  // What was learnt, by collective and power of two of its bytes.
  std::map<std::uint64_t, select::Contest> contests;
  struct {
    coll::Collective collective = coll::Collective::barrier;  // none
    Count bytes = 0;
    Way way = Way::ours;
    std::int64_t ns = 0;  // with this member; of a call by ours below zero: when it began
  } last;

  std::set<std::uint64_t> said;  // what TUTTI_EXPLAIN has said
};

// Nothing: the call goes by ours, and that it has ended is said. Only where State::asks_gpus says
// so.
std::optional<Code> run_on_gpus(Communicator& comm, const CollCall& call);
void ended_by_ours(Communicator& comm, Code code);
// As run(), without a word to the watch record: of a call within a call (collectives.cc).
Code run_within(Communicator& comm, const CollCall& call);

// Of a call that nobody waits for in it, nonblocking or persistent, as it is bound: the library
// never serves such, which is said once a collective. Only where State::asks_gpus says so.
void tell_not_waited_for(Communicator& comm, const CollCall& call, const engine::Run& run);

// What is forced for a collective.
GpuCalls::Wish wish_of(Communicator& comm, coll::Collective collective);

// gpu/past_team.cc: calls that the team of their host could serve, in host memory.
// Whether it is worth asking members where their buffers are: of a vector, or a block, of so many
// bytes.
constexpr bool is_long(Count bytes) {
  return bytes >= Count{32} << 10;
}
// How such a call goes, alike on all members. Only where State::may_have_gpus says so.
enum class InsideHost : std::uint8_t {
  by_team,
  by_parts,   // by the team; a long reduction a part at a time, as some member's memory is a GPU's
  past_team,  // from GPU to GPU, by a schedule
};
Result<InsideHost> way_inside_host(Communicator& comm, const CollCall& call,
                                   const delegate::TeamCall& said);

// gpu/by_parts.cc: reductions by that team, wherever the vectors lie; `is_cut`: a part at a time.
Code reduce_by_parts(Communicator& comm, delegate::TeamCall& said, bool is_cut);

// gpu/translate.cc
// The call in the library's words, where that may serve it at all: all members answer alike.
bool say_to_gpus(const Communicator& comm, const CollCall& call, delegate::GpuCall& said);
// What the call moves, as far as members know it alike; where not (v forms), nothing.
std::optional<Count> known_bytes(const Communicator& comm, const delegate::GpuCall& said);
// The GPU of this member's buffers.
struct Whereabouts {
  bool on_host = false, in_order = true;  // in one piece each, on one GPU
  bool in_primary = true;                 // context of that GPU, where the library works
  int device = -1;
};
Whereabouts where_is(const Communicator& comm, const delegate::GpuCall& said);

// gpu/team.cc
delegate::GpuLibrary* library_of(Runtime& runtime);
void explain_gpus(const Communicator& comm, const std::string& what);
// Makes what ways there are for members whose buffers lie on GPUs. Errors are those of all.
Result<void> plan(Communicator& comm, int device);

// gpu/levels.cc
// Errors: as agree_over(). `groups`: by rank, in the order of their first members.
Result<void> make_levels(Communicator& comm, const std::vector<int>& groups, bool are_hosts);
bool can_go_by_levels(const GpuCalls& calls, coll::Collective collective);

// gpu/stages.cc
Code run_by_levels(Communicator& comm, const delegate::GpuCall& said);

}  // namespace tutti::comm
