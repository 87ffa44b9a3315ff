// ShmTeam: the members' common ground: calls are numbered, entries and counters are waited for.
//
// Why two members never overwrite what a third still reads:
//   - An entry is used again kEntries calls later. Who is heard in a call has ended those before it
//     (past_by_); a call in which everybody hears of everybody proves that of all (past_). Who is
//     not heard counts the calls that it has ended in `done`. claim_entry() asks in that order.
//   - Chunks are used again after a fixed number of rounds within a call, by counters of that
//     protocol. Calls use them one behind the other, and begin again only when `done` says that
//     all calls before are over.
#pragma once

#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <vector>

#include "base/judge.h"
#include "delegate/area.h"
#include "delegate/delegate.h"
#include "delegate/levels.h"

namespace tutti::delegate {

class ShmTeam final : public Team {
 public:
  ShmTeam(wireup::Wireup& wireup, std::vector<int> locals, int me, std::uint32_t area,
          const Waiting& waiting, const MemberFacts& facts);
  ~ShmTeam() override;
  bool takes(const TeamCall& call) const override;
  std::unique_ptr<TeamRun> begin(const TeamCall& call) override;
  Code run(const TeamCall& call) override;
  void cancel(Code code) override;

 private:
  class Begun;  // steps.cc: a TeamRun
  struct Work;  // work.h, as these
  struct Exchange;
  struct Folding;
  struct Pairing;
  using Form = Code (ShmTeam::*)(Work&);

  // shm_team.cc
  Code barrier(Work& work);

  // steps.cc: calls begun, stepped, waited for. Forms answer kNotYet where they have to wait, and
  // are called again.
  void start(Work& work);
  Code go_on(Work& work);
  Code end_badly(Code code);
  StepResult step(const Begun& run);
  bool serve_first();
  void drain();
  void wait_long();
  bool look(int times) const;
  // By a call that is waited for, where it has to wait: it goes on from there.
  bool look_closely() const { return is_running_ && look(waiting_.looks); }
  void break_off(Code code);
  void look_for_losses();

  // fold_short.cc, fold_pair.cc, fold_long.cc: reductions.
  static bool scatters(const TeamCall& call) {
    return call.collective == coll::Collective::reduce_scatter;
  }
  static bool scans(const TeamCall& call) {
    return call.collective == coll::Collective::scan || call.collective == coll::Collective::exscan;
  }
  void choose_fold(Work& work);
  void find_starts(const TeamCall& call);
  Code fold_short(Work& work);
  Code fold_pair(Work& work);
  Code come_to_pair(Work& work);
  void pair(Work& work) const;
  Code give_to_other(Work& work);
  Code fold_others(Work& work);
  Code fold_long(Work& work);
  Code come_to_fold(Work& work);
  void lay_out_folding(Work& work) const;
  Code fold_round(Work& work);
  void fill_pieces(const Folding& folding, Count round);
  void fold_piece(const Folding& folding, Count round);
  Code collect_pieces(Work& work, Count round);

  // meet.cc: by levels, where there are many caches.
  void note_place(const model::BoundAt& place);
  Code meet_first(Work& work);
  Code meet(Work& work);
  Code hear_these(Work& work, const std::vector<int>& members);
  void say_with_those_below(const Work& work);
  template <class Vector>
  static void fold(const Work& work, const std::vector<int>& members, const Vector& vector);
  void fold_as_planned(const Work& work, const std::vector<int>& above);

  // fold_crowd.cc: who has a core folds for all.
  bool is_for_crowd(const Work& work) const;
  Code fold_crowd(Work& work);
  std::byte* crowd_vector(const Work& work, int member) const;
  Code give_to_crowd(Work& work);
  std::uint64_t claim_part(std::uint64_t parts);
  void fold_part(const Work& work, Count from, Count most);
  void tell_served(std::uint32_t fingerprint, std::uint64_t parts);

  // fold_chain.cc: scan, exscan.
  void choose_scan(Work& work) const;
  Code scan_short(Work& work);
  Code scan_long(Work& work);
  Code come_to_scan(Work& work);
  void scan_round(const Work& work);

  // exchange.cc: data movement.
  void choose_move(Work& work);
  Code bcast_short(Work& work);
  Code move_short(Work& work);
  Code move_long(Work& work);
  Code come_to_move(Work& work);
  Code move_in_rounds(Work& work);
  Code give_ahead(Exchange& exchange);
  Code give_round(Exchange& exchange, Count round);
  Code take_round(Work& work, Count round);
  void take_part(Exchange& exchange, int giver, Count offset, const std::byte* in, Count bytes);
  Stores stores_for(Exchange& exchange);
  void judge_stores(const Exchange& exchange);
  static constexpr Count kAll = std::numeric_limits<Count>::max();
  Code move_own(Work& work, Count upto = kAll);

  // direct.cc: long blocks read from the givers' own memory.
  bool may_read(Count block) const;
  void prove_reading(const Exchange& exchange);
  bool all_read() const;
  std::uint64_t say_way(const Exchange& exchange, Count longest);
  std::uint64_t choose_way(const Exchange& exchange, Count longest);
  void hear_way(Exchange& exchange);
  bool expects_rounds(const Exchange& exchange) const;
  void judge_turns();
  bool say_addresses(const Exchange& exchange);
  std::byte* addresses(const Exchange& exchange, int giver) const;
  bool is_direct(const Exchange& exchange, int giver) const;
  bool has_failed(int taker) const;
  Code move_directly(Work& work);
  Code read_blocks(Work& work);
  Code read_block(Work& work, int giver);
  void tell_span(const Exchange& exchange);

  // uneven.cc: blocks of their own sizes.
  std::size_t tables_bytes() const;
  void choose_uneven(Work& work) const;
  Code move_uneven(Work& work);
  Code move_long_uneven(Work& work);
  void say_uneven(Work& work);
  std::uint64_t say_each(Exchange& exchange, AreaEntry& mine);
  std::uint64_t say_one(Exchange& exchange, AreaEntry& mine);
  Code hear_uneven(Work& work);
  Code lay_out_uneven(Work& work);
  bool is_sound(const Exchange& exchange, int giver) const;
  Code see_sizes(const Exchange& exchange);
  void take_entries(const Exchange& exchange);
  bool goes_in_rounds(const Exchange& exchange, int giver, int taker) const;
  Count bytes_said(const Exchange& exchange, int giver) const;
  Count bytes_from(const Exchange& exchange, int giver) const;

  // talk.cc: saying and hearing.
  AreaEntry& entry(int member) const {
    return *reinterpret_cast<AreaEntry*>(slots_[static_cast<std::size_t>(member)] +
                                         geometry_.entries_at() +
                                         number_ % kEntries * geometry_.entry_stride());
  }
  MemberCounters& control(int member) const {
    return *reinterpret_cast<MemberCounters*>(slots_[static_cast<std::size_t>(member)] +
                                              geometry_.control_at());
  }
  // Of the call under way.
  Filled& filled(int member) const { return control(member).filled[number_ % kEntries]; }
  static unsigned told_at(Count round) {
    return kToldBits * static_cast<unsigned>(round % static_cast<Count>(kDepth));
  }
  // Where that round was awaited.
  unsigned told(int member, Count round) const {
    // relaxed: `rounds` tells of it.
    return filled(member).told.load(std::memory_order_relaxed) >> told_at(round) & kNoData;
  }
  std::byte* chunks(int member) const {
    return slots_[static_cast<std::size_t>(member)] + geometry_.chunks_at() + chunks_from_;
  }
  // What they wait for is awaited_ then.
  Code claim_entry() {
    if (past_ + kEntries >= number_) [[likely]]
      return Code::ok;
    return claim_old_entry();
  }
  Code claim_old_entry();
  // Until that member has ended that call.
  Code await_end(int member, std::uint64_t call);
  // So many bytes of the chunks; of those who take what we give through them, `reader` says how
  // long that takes.
  Code claim_chunks(Count bytes, int reader);
  // Makes the own entry's payload visible and wakes who may wait for it.
  void publish(AreaEntry& mine, std::uint32_t fingerprint) {
    mine.flag.store(flag_of(fingerprint), std::memory_order_release);  // pairs with hear()
    wake_others();
  }
  void publish(std::uint32_t fingerprint) { publish(entry(me_), fingerprint); }
  std::uint64_t flag_of(std::uint32_t fingerprint) const {
    return (number_ & 0xffffffffU) | std::uint64_t{fingerprint} << 32;
  }
  void wake_others();
  // Whether `member` has published in this call; all, from work.member on.
  Code hear(int member, std::uint32_t fingerprint) {
    return hear(entry(member), member, fingerprint);
  }
  Code hear(const AreaEntry& theirs, int member, std::uint32_t fingerprint) {
    // acquire: pairs with publish().
    if (theirs.flag.load(std::memory_order_acquire) != flag_of(fingerprint)) [[unlikely]]
      if (const Code code = hear_late(member, fingerprint); code != Code::ok) return code;
    past_by_[static_cast<std::size_t>(member)] = number_ - 1;
    return Code::ok;
  }
  Code hear_late(int member, std::uint32_t fingerprint);  // nothing yet, or another call
  Code hear_all(Work& work);                              // once in a call
  Code await(const std::atomic<std::uint64_t>& counter, std::uint64_t least);
  // Forms answer kNotYet, too, when they have copied for long: messages move, then they go on.
  // await() looks after that; others call pause().
  bool has_copied_much() const { return copied_ >= kMostCopied; }
  Code pause();
  // Everybody was heard in this call: all are past the calls before it.
  void all_entered() { past_ = number_ - 1; }
  // Says in a counter of ours how many rounds of this call are over.
  void tell(std::atomic<std::uint64_t>& counter, Count rounds);
  // How a vector (block) of `bytes` goes through the chunks.
  struct Rounds {
    Count part;   // bytes of a chunk
    Count count;  // of rounds
    Count depth;  // of them are kept
  };
  // `pieces` chunks are used in a round. So many rounds are kept: at least, where the parts must be
  // shorter for that, and at most. `one_way`: some only give while others only take; else all do
  // both.
  static constexpr bool kOneWay = true, kBothWays = false;
  struct Kept {
    std::size_t least, most;
  };
  static constexpr Kept kMoved{kLeastDepth, kDepth}, kFolded{kLeastDepth, kFoldDepth};
  Rounds rounds_of(Count bytes, Count pieces, const Kept& kept, bool one_way) const;
  // Copies into our chunks, for a round that has begun, in parts of so many bytes.
  void begin_round(Count round, Count depth, Count part);
  void tell_filled(Count round, bool has_data);
  bool touch(Count round, Count depth);
  void put(std::byte* to, const std::byte* from, Count bytes);
  // Runs a copy of so many bytes out of a member's chunks, of a round in parts of `part`.
  template <class Copy>
  void take_from(int giver, Count round, Count part, Count bytes, const Copy& copy);
  bool pack(const types::Buffer& from, Count offset, std::byte* out, Count bytes);
  void unpack(const types::Buffer& into, Count offset, const std::byte* in, Count bytes);
  bool note_failure(types::Device* device);  // of what it was asked for just now
  void end_call();                           // says that we have read all there was for us
  // Two members do something differently: the call ends, unless such calls go on.
  Code mismatch(const Fault& fault);
  Code give_up(const Fault& fault);  // says it; what the call ends with
  void give_up_because(std::string why, FailureCause cause);
  Code refuse();  // a call of a team that is broken
  std::string describe(const Fault& fault) const;
  Code end_without_data();
  bool is_gone(int member) const;
  bool has_given_up(int member) const {
    // acquire: pairs with break_off(); why was written before.
    return control(member).broken.load(std::memory_order_acquire) != 0;
  }
  Code broken_by(int member);  // who has given up
  std::uint32_t local_of(int member) const;
  int job_rank(int member) const;

  // What the last form that answered kNotYet waits for: a counter that reaches `least`, or a flag
  // of that number, in vain once its member's `done` says that it is through.
  struct Awaited {
    const std::atomic<std::uint64_t>* word = nullptr;
    std::uint64_t least = 0;
    const std::atomic<std::uint64_t>* done = nullptr;  // null: a counter

    // acquire: pairs with publish() and tell().
    bool is_there() const {
      const std::uint64_t seen = word->load(std::memory_order_acquire);
      return done == nullptr
                 ? seen >= least
                 : static_cast<std::uint32_t>(seen) == static_cast<std::uint32_t>(least);
    }
    bool is_in_vain() const {
      return done != nullptr && done->load(std::memory_order_acquire) >= least;
    }
  };

  static constexpr std::size_t kMostCopied = transport::kMostReadAtOnce;

  const wireup::Segment& segment_;
  const std::vector<int> locals_;
  const int size_;
  const int me_;
  const std::uint32_t area_;
  const AreaGeometry geometry_;
  const BlockReads single_copy_;
  Form barrier_form_ = &ShmTeam::barrier;
  Form short_form_ = &ShmTeam::fold_short;  // of reductions
  Levels levels_;
  bool is_oversubscribed_;         // more ranks than cores on this host
  std::vector<std::byte*> slots_;  // by member
  std::vector<transport::Waker> others_;
  std::vector<Count> starts_;           // of this reduce-scatter's blocks, and the end
  std::uint64_t number_ = 0;            // of the call under way; the first is 1
  std::uint64_t past_ = 0;              // calls that every member is known to have ended, and
  std::vector<std::uint64_t> past_by_;  // each one
  std::uint64_t last_chunked_ = 0;      // latest call that used the chunks
  std::uint64_t rounds_ = 0;            // chunk rounds of the calls before
  std::size_t chunks_from_ = 0;         // of the chunks is used by this call
  std::size_t chunks_used_ = 0;         // bytes from there on
  std::vector<bool> touched_;           // by page of our chunks: written before
  bool is_new_ = false;                 // this call has written to pages that were not
  int reader_ = 0;
  Pace pace_;
  Pace::Way way_;                  // of this round's copies into our chunks
  std::size_t part_ = 0;           // bytes of each, by which they are judged
  std::vector<bool> proved_;       // by member: its memory was read
  std::vector<Judge> judges_;      // of who chooses: by form and size
  std::vector<bool> rounds_then_;  // the last call of that form and size went through the chunks
  std::vector<Judge> stores_;      // of blocks that we take: by size
  struct Turn {
    std::uint64_t number;  // of the call
    std::size_t judge;
    unsigned way;
    std::size_t bytes;
  };
  std::vector<Turn> turns_;  // whose figures are not known yet, in order
  int without_data_ = -1;    // a member that has none in the call under way; we: our device failed
  Code broken_ = Code::ok;
  struct {
    std::string text{};
    FailureCause cause = FailureCause::failure;
  } why_broken_;
  Awaited awaited_;
  std::size_t copied_ = 0;     // bytes, since messages could move last
  bool is_running_ = false;    // a call that is waited for is under way
  std::uint32_t in_vain_ = 0;  // steps that only waited
  std::vector<Begun*> begun_;  // not over, in order
};

}  // namespace tutti::delegate
