// A meeting: collectives among ranks who have no communicator yet, or not all the same one.
//
// They all know the list of members, a context and a tag that nobody else uses among them. What
// they say at one meeting goes in the same order on all of them. Blocks. Private to comm.
#pragma once

#include <cstdint>
#include <span>

#include "coll/coll.h"
#include "comm/runtime.h"
#include "watch/calls.h"

namespace tutti::comm {

// Where ranks meet.
struct MeetingPoint {
  std::uint32_t context;
  int tag;
};
// By a tag of the user's, which is kept whole, or by a text: in a context for these members only.
// Messages name their sender by its place among the members: meetings of other members that follow
// at once must not be taken for this one.
MeetingPoint place_of(std::uint32_t known_context, int tag, std::span<const int> members);
MeetingPoint place_of(std::string_view text, std::span<const int> members);

class Meeting {
 public:
  // members: ranks in the job, in the order all know; outlives the meeting. purpose: how a mismatch
  // names what is said here.
  Meeting(Runtime& runtime, std::span<const int> members, const MeetingPoint& place,
          watch::Purpose purpose = watch::Purpose::makes_comm);

  int rank() const { return rank_; }  // -1: not a member
  int size() const { return static_cast<int>(members_.size()); }
  const MeetingPoint& place() const { return place_; }

  // The same as below, to be begun by the caller.
  using Planned = std::unique_ptr<engine::Run>;
  Planned plan_allreduce_max(std::span<std::int64_t> values) const;
  Planned plan_bcast(std::span<std::byte> word, int from = 0) const;

  // Each value becomes the maximum over all members.
  Code allreduce_max(std::span<std::int64_t> values) const;
  // The word of member `from` reaches all.
  Code bcast(std::span<std::byte> word, int from = 0) const;
  // Everyone's word of equal length; my own stands in its place.
  Code allgather(std::span<std::byte> all) const;

 private:
  struct Words {
    void* data;
    Count count;
    bool reduces;
  };
  Planned plan(coll::RankCall call, const char* algorithm, const Words& words) const;
  Code run(Planned planned) const;

  Runtime& runtime_;
  std::span<const int> members_;
  MeetingPoint place_;
  watch::Purpose purpose_;
  int rank_ = -1;
};

// Two ranks swap words of equal length. What each says is known by who it is: a third may say
// something at the same place.
Code swap_words(Runtime& runtime, int peer, const MeetingPoint& at, std::span<const std::byte> mine,
                std::span<std::byte> theirs);
// One half of it each. say_word does not wait: what it says is kept until the end.
Code hear_word(Runtime& runtime, int peer, const MeetingPoint& at, std::span<std::byte> theirs);
void say_word(Runtime& runtime, int peer, const MeetingPoint& at, std::span<const std::byte> mine);
// Says there, in the place of a word, that none comes: the peer's swap ends with Code::other.
void give_up_word(Runtime& runtime, int peer, const MeetingPoint& at);

}  // namespace tutti::comm
