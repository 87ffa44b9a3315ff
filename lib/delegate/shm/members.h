// Members: what the members of a team say to each other. Calls are numbered; a member publishes its
// entry of a call, hears the others', and waits for their counters.
//
// Why two members never overwrite what a third still reads:
//   - An entry is used again kEntries calls later, by its member, or, where two have swapped theirs
//     (all_exchanged), by the other. Who is heard in a call has ended those before it
//     (past_by_); a call in which everybody hears of everybody proves that of all (past_). Who is
//     not heard counts the calls that it has ended in `done`. claim_entry() asks in that order.
//   - Chunks are used again after a fixed number of rounds within a call, by counters of that
//     protocol. Calls use them one behind the other, and begin again only when `done` says that
//     all calls before are over (chunks.h). Cells go on from call to call (Chunks::begin_cell,
//     Chunks::give_turn). A part that comes back is its giver's again when that has taken it
//     (fold_halves.cc), within the call.
//
// Nothing waits here but wait_long(): who has to wait is told kNotYet, and asks again.
#pragma once

#include <cstring>
#include <utility>

#include "delegate/shm/faults.h"

namespace tutti::delegate {

// What a form says when it has to wait (for what Members has noted).
inline constexpr Code kNotYet = Code::pending;

class Members : public TeamArea {
 public:
  Members(wireup::Wireup& wireup, std::vector<int> locals, int me, std::uint32_t area,
          const Waiting& waiting);

  // Calls. The first has number 1.
  void begin_call() {
    turn_to(++number_);
    differs_ = false;
  }
  std::uint64_t number() const { return number_; }
  bool do_calls_differ() const { return differs_; }  // so far as was heard
  void end_call();                                   // says that we have read all there was for us
  void all_entered() { past_ = number_ - 1; }        // everybody was heard in this call
  // Everybody has given and heard everybody, and the entries are not asked for again in this call.
  // Each is written next by who has read it, where there are two (record 0077); not where their
  // calls differ, or might, as in the other's they might not.
  void all_exchanged() {
    all_entered();
    if (!differs_) swap_entries(number_);
  }
  Code await_end_of_all(std::uint64_t call);  // until all have ended that call

  // Entries and counters of the call under way.
  Filled& filled(int member) const { return control(member).filled[number_ % kEntries]; }
  Code claim_entry() {
    if (past_ + kEntries >= number_) [[likely]]
      return Code::ok;
    return claim_old_entry();
  }
  // Makes the own entry's payload visible and wakes who may wait for it.
  void publish(AreaEntry& mine, std::uint32_t fingerprint) {
    differs_ |= fingerprint == kHasNothing;
    mine.flag.store(flag_of(fingerprint), std::memory_order_release);  // pairs with hear()
    wake_others();
  }
  void publish(std::uint32_t fingerprint) { publish(entry(me()), fingerprint); }
  // Whether `member` has published in this call.
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
  Code await(const std::atomic<std::uint64_t>& counter, std::uint64_t least);

  // What is copied. Forms answer kNotYet, too, when they have copied for long: messages move, then
  // they go on. await() looks after that; others call pause().
  static constexpr std::size_t kMostCopied = transport::kMostReadAtOnce;
  bool has_copied_much() const { return copied_ >= kMostCopied; }
  void count_copied(std::size_t bytes) { copied_ += bytes; }
  void messages_moved() { copied_ = 0; }
  Code pause();
  // False: what stands in `out` is nothing to give to others. The call ends with an error here,
  // too.
  bool pack(const types::Buffer& from, Count offset, std::byte* out, Count bytes);
  void unpack(const types::Buffer& into, Count offset, const std::byte* in, Count bytes);
  bool note_failure(types::Device* device);  // of what it was asked for just now

  // A member that has no data for the call under way; we: our device failed. Below 0: all have.
  int without_data() const { return without_data_; }
  void note_without_data(int member) { without_data_ = member; }
  Code end_without_data() { return faults_.end_without_data(std::exchange(without_data_, -1)); }

  // Who waits for what was noted. `is_running`: for a call that is waited for, so that it pays to
  // look closely.
  bool may_calls_differ() const { return waiting_.overlook != nullptr; }  // and go on
  bool is_running() const { return is_running_; }
  void set_running(bool is_running) { is_running_ = is_running; }
  bool look() const;
  void wait_long();       // until it is there, or never comes; messages move meanwhile
  void waited_in_vain();  // in a step
  Faults& faults() { return faults_; }
  const Faults& faults() const { return faults_; }

 private:
  // A counter that reaches `least`, or a flag of that number, in vain once its member's `done` says
  // that it is through.
  struct Awaited {
    const std::atomic<std::uint64_t>* word = nullptr;
    std::uint64_t least = 0;
    const std::atomic<std::uint64_t>* done = nullptr;  // null: a counter

    // acquire: pairs with publish() and Chunks::tell().
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

  std::uint64_t flag_of(std::uint32_t fingerprint) const {
    return (number_ & 0xffffffffU) | std::uint64_t{fingerprint} << 32;
  }
  Code claim_old_entry();
  Code await_end(int member, std::uint64_t call);
  Code hear_late(int member, std::uint32_t fingerprint);  // nothing yet, or another call
  // By a call that is waited for, where it has to wait: it goes on from there.
  bool look_closely() const { return is_running_ && look(); }
  void look_for_losses();

  const Waiting& waiting_;
  std::uint64_t number_ = 0;            // of the call under way
  std::uint64_t past_ = 0;              // calls that every member is known to have ended, and
  std::vector<std::uint64_t> past_by_;  // each one
  int without_data_ = -1;
  bool differs_ = false;  // the other's call is another one, or one of us had nothing to say
  Awaited awaited_;
  std::size_t copied_ = 0;     // bytes, since messages could move last
  bool is_running_ = false;    // a call that is waited for is under way
  std::uint32_t in_vain_ = 0;  // steps that only waited
  Faults faults_;
};

inline bool Members::pack(const types::Buffer& from, Count offset, std::byte* out, Count bytes) {
  if (bytes == 0) return true;
  if (from.is_contiguous()) [[likely]] {
    std::memcpy(out, from.at() + offset, static_cast<std::size_t>(bytes));
    return true;
  }
  types::pack(from, offset, {out, static_cast<std::size_t>(bytes)});
  return !note_failure(from.device);
}

inline void Members::unpack(const types::Buffer& into, Count offset, const std::byte* in,
                            Count bytes) {
  if (bytes == 0) return;
  if (into.is_contiguous()) [[likely]] {
    std::memcpy(into.at() + offset, in, static_cast<std::size_t>(bytes));
    return;
  }
  types::unpack(into, offset, {in, static_cast<std::size_t>(bytes)});
  note_failure(into.device);
}

// At once: another call of this rank might take the device's word for its own.
inline bool Members::note_failure(types::Device* device) {
  if (types::failure_of(device) == Code::ok) [[likely]]
    return false;
  without_data_ = me();
  return true;
}

}  // namespace tutti::delegate
