// delegate: whole collectives that cannot be said as messages.
//
// `shm`: the ranks of one host working in a team area of the job segment (small vectors by lines
// whose flag and data arrive together, longer ones in chunks, reduce-scatter then allgather).
// NCCL: gpu_library.h. Called with the gate held. Calls are begun and stepped; only
// Team::run waits.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "coll/coll.h"
#include "model/lines.h"
#include "transport/transport.h"
#include "types/types.h"
#include "wireup/wireup.h"

namespace tutti::delegate {

using types::Count;

// One side of a v form: a block a member, each of its own size.
struct BlockList {
  void* data;
  const types::Datatype* type;
  std::span<const Count> counts, displs;          // displacements in extents of the type, or
  std::span<const types::Datatype* const> types;  // in bytes where each block has its own
  const types::Devices* devices;
  mutable std::vector<types::Device*> owners = {};  // of the blocks, once one was asked for

  Count bytes(int member) const {
    const auto at = static_cast<std::size_t>(member);
    return counts[at] == 0 ? 0 : counts[at] * type_of(at).size();
  }
  types::Buffer of(int member) const {
    const auto at = static_cast<std::size_t>(member);
    if (counts[at] == 0) return {};
    const Count unit = types.empty() ? type->extent() : 1;
    types::Buffer block = types::Buffer::whole(static_cast<std::byte*>(data) + displs[at] * unit,
                                               counts[at], type_of(at));
    if (!devices->is_empty()) [[unlikely]]
      block.device = owner_of(at);
    return block;
  }

 private:
  const types::Datatype& type_of(std::size_t at) const {
    return types.empty() ? *type : *types[at];
  }
  types::Device* owner_of(std::size_t at) const;  // asks for all of them at once
};
// What a member knows of blocks that have their own sizes.
struct Uneven {
  BlockList from, into;  // as in TeamCall; a side of one block stands there
};

// The fingerprint of a member that takes part only so that nobody waits for it: its memory cannot
// be used. Members that would have received data from it end this call with an error; the team
// goes on.
inline constexpr std::uint32_t kHasNothing = 0xffff;  // of no collective (watch/calls.h)

// One collective call of a member.
struct TeamCall {
  coll::Collective collective = coll::Collective::barrier;
  int root = 0;
  std::uint32_t fingerprint = 0;  // of what every rank must say alike; a mismatch is an error
  // Reductions: count elements of `type` (reduce_scatter: those of the own block, while `send` has
  // all of them). `send` may be `recv`: that is in place.
  const void* send = nullptr;
  void* recv = nullptr;
  Count count = 0;
  const types::Datatype* type = nullptr;
  const types::Op* op = nullptr;
  // Elements at `send`.
  Count given() const {
    const bool scatters = collective == coll::Collective::reduce_scatter && type->size() > 0;
    return scatters ? block / type->size() : count;
  }
  // Data movement: blocks of `block` packed bytes. `from`: what this rank gives (its block, or
  // one per rank); `into`: what it gets, in rank order. Unused ones are empty. bcast: `into`.
  types::Buffer from, into;
  Count block = 0;
  bool in_place = false;  // data movement: the own block stands in `into` already
  // v forms; of a reduce_scatter the counts in `into`. Null: all blocks are alike.
  const Uneven* uneven = nullptr;
};

// Why a call fails.
enum class FailureCause : std::uint8_t {
  mismatch,        // this member has met calls that do not match
  failure,         // it could not do its part
  failed_there,    // another one has given up, and knows why
  mismatch_there,  // another one says that it has met calls that do not match
};

// While a team call waits it must let messages move and sleep properly: this is how.
struct Waiting {
  int (*progress)(void* self) = nullptr;  // p2p progress; events handled
  void (*idle)(void* self) = nullptr;     // nothing moved: poll, yield or sleep; gate handled
  void (*active)(void* self) = nullptr;
  void* self = nullptr;
  int looks = 1;  // at what is awaited, before these
  // What is waited for wakes nobody when it has come, from here on and until the same is said with
  // false: idle() then sleeps shortly. Null: nothing here is so.
  void (*unsignalled)(void* self, bool begins) = nullptr;
  // Turns a fingerprint into words for the message about a mismatch.
  std::string (*describe)(std::uint32_t fingerprint) = nullptr;
  // Takes the words for a call that is about to fail.
  void (*explain)(void* self, std::string why, FailureCause cause) = nullptr;
  // The same for a call that goes on although another rank makes a different one; null: it fails.
  void (*overlook)(void* self, std::string why) = nullptr;
};

// What a step has done.
enum class StepResult : std::uint8_t { waits, moved, over };

// A call that was begun and nobody waits in. Its owner steps it until it is over; the memory, type
// and operation it names stay until then. Calls of a team are served in the order they are begun: a
// step serves those before its own, too.
class TeamRun {
 public:
  virtual ~TeamRun() = default;   // not over: its team is cancelled
  virtual StepResult step() = 0;  // as far as it goes without waiting
  virtual Code code() const = 0;  // how it ended
};

// The members of one communicator that all live on this host, with an area of the segment. It
// outlives its runs.
class Team {
 public:
  virtual ~Team() = default;
  // Whether it can fold by this operation and type, and say the sizes of uneven blocks; it takes
  // all else that has a row among coll::kDelegatedRows. All members answer alike.
  virtual bool takes(const TeamCall& call) const = 0;
  // Members begin their calls in the same order. After an error the team stays broken. (Ready, not
  // called yet but by tests, which so step all members in one thread; record 0044.)
  virtual std::unique_ptr<TeamRun> begin(const TeamCall& call) = 0;
  // The same, waiting for its end.
  virtual Code run(const TeamCall& call) = 0;
  // Ends the calls that are not over, and all later ones, with this code; the other members' too,
  // as they come to wait for us.
  virtual void cancel(Code code) = 0;
  virtual bool is_broken() const = 0;

 protected:
  explicit Team(const Waiting& waiting) : waiting_(waiting) {}
  const Waiting waiting_;
};

// Whether long blocks are read straight from the givers' memory (TUTTI_SINGLE_COPY).
enum class BlockReads : std::uint8_t { off, judged, on };
// What a team is told of the member that makes it.
struct MemberFacts {
  BlockReads single_copy = BlockReads::off;
  model::BoundAt place;  // where it is bound
};

// locals[i]: local rank of team member i; `me` indexes it. `area`: agreed by all members. The
// last member to destroy its team gives the area back.
std::unique_ptr<Team> make_shm_team(wireup::Wireup& wireup, std::vector<int> locals, int me,
                                    std::uint32_t area, const Waiting& waiting,
                                    const MemberFacts& facts = {});

// Takes an area and clears it for these members (by one of them, who tells the others). Empty:
// none left, or too many members for one.
std::optional<std::uint32_t> take_area(wireup::Wireup& wireup, const std::vector<int>& locals);
// The area of all ranks of the host, theirs from the start: no one needs to tell the others. Empty:
// they are too many.
std::optional<std::uint32_t> host_area(wireup::Wireup& wireup);

}  // namespace tutti::delegate
