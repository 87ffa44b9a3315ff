// ShmTeam: the members' common ground: calls are numbered, entries and counters are waited for.
//
// Why two members never overwrite what a third still reads:
//   - An entry is used again kEntries calls later. A call in which everybody hears of everybody
//     (entered_) proves that all calls before it are over on every rank; other calls are counted
//     in `done` as each rank ends them. claim_entry() asks one of the two.
//   - Chunks are used again after a fixed number of rounds within a call, by counters of that
//     protocol, and from call to call only when `done` says that the call before is over.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "delegate/area.h"
#include "delegate/delegate.h"

namespace tutti::delegate {

class ShmTeam final : public Team {
 public:
  ShmTeam(wireup::Wireup& wireup, std::vector<int> locals, int me, std::uint32_t area,
          const Waiting& waiting);
  ~ShmTeam() override;
  bool takes(const Call& call) const override;
  Code run(const Call& call) override;

 private:
  struct Exchange;  // exchange.cc
  struct Folding;   // fold_long.cc

  // shm_team.cc
  Code serve(const Call& call);
  Code barrier(const Call& call);

  // fold_short.cc, fold_pair.cc, fold_long.cc: reductions.
  static bool scatters(const Call& call) {
    return call.collective == coll::Collective::reduce_scatter;
  }
  Code fold(const Call& call);
  Code fold_short(const Call& call, types::Op::Kernel kernel, std::size_t bytes);
  Code fold_pair(const Call& call, types::Op::Kernel kernel);
  Code fold_long(const Call& call, types::Op::Kernel kernel);
  void fill_pieces(const Folding& folding, Count round);
  void fold_piece(const Folding& folding, Count round);
  Code collect_pieces(const Folding& folding, Count round);

  // exchange.cc: data movement.
  Code move(const Call& call);
  Code move_short(const Call& call, const Exchange& exchange);
  Code move_long(const Call& call, const Exchange& exchange);
  Code give_round(const Exchange& exchange, Count round);
  Code take_round(const Exchange& exchange, Count round);

  // talk.cc: saying and hearing.
  Entry& entry(int member) const {
    return *reinterpret_cast<Entry*>(slots_[static_cast<std::size_t>(member)] +
                                     geometry_.entries_at() +
                                     number_ % kEntries * geometry_.entry_stride());
  }
  Control& control(int member) const {
    return *reinterpret_cast<Control*>(slots_[static_cast<std::size_t>(member)]);
  }
  std::byte* chunks(int member) const {
    return slots_[static_cast<std::size_t>(member)] + geometry_.chunks_at();
  }
  Code claim_entry();
  Code claim_chunks();
  // Makes the own entry's payload visible and wakes who may wait for it.
  void publish(std::uint32_t fingerprint);
  void wake_others();
  // Waits until `member` has published in this call.
  Code hear(int member, std::uint32_t fingerprint);
  Code hear_all(std::uint32_t fingerprint);
  Code await(const std::atomic<std::uint64_t>& counter, std::uint64_t least);
  // Everybody was heard in this call: all are past the calls before it.
  void all_entered() { past_ = number_ - 1; }
  // Says in a counter of ours how many rounds of this call are over.
  void tell(std::atomic<std::uint64_t>& counter, Count rounds);
  // Bytes of a chunk when `pieces` of them share a slot, for a vector (block) of `bytes`.
  Count part_bytes(Count pieces, Count bytes) const;
  // Copies into our chunks.
  void put(std::byte* to, const std::byte* from, Count bytes) const;
  void end_call();  // says that we have read all there was for us
  // Says what two members do differently, and ends the call unless such calls go on.
  Code mismatch(const Fault& fault);
  Code lost_member();
  Code broken_by(int member);
  int job_rank(int member) const;

  template <class Ready>
  Code wait_until(const Ready& ready) {
    for (int i = 0; i < waiting_.looks; ++i)
      if (ready()) [[likely]]
        return Code::ok;
    return wait_long(&ready, [](const void* self) { return (*static_cast<const Ready*>(self))(); });
  }
  Code wait_long(const void* self, bool (*ready)(const void* self));

  wireup::Wireup& wireup_;
  const wireup::Segment& segment_;
  const std::vector<int> locals_;
  const int size_;
  const int me_;
  const std::uint32_t area_;
  const Waiting waiting_;
  const Geometry geometry_;
  bool is_oversubscribed_;          // more ranks than cores on this host
  std::vector<std::byte*> slots_;   // by member
  std::uint64_t number_ = 0;        // of the call under way; the first is 1
  std::uint64_t past_ = 0;          // calls that every member is known to have ended
  std::uint64_t last_chunked_ = 0;  // latest call that used the chunks
  std::uint64_t rounds_ = 0;        // chunk rounds of the calls before
  Code broken_ = Code::ok;
};

}  // namespace tutti::delegate
