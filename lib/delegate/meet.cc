// Barriers and short reductions by levels (levels.h): who hears others first folds their vectors
// with its own before it says it; everybody, of a reduce the root, folds what the tops say.
//
// A member says one entry in a call, as where all hear all (fold_short.cc), so whatever waits for
// entries, compares calls or notices the dead is the same. All fold the same entries in the same
// order, so all get the same bits; the predefined operations, which are all that come here,
// commute.
//
// The plan is made in the first call in which all hear all: each has noted its place before.
#include <cstring>

#include "delegate/work.h"

namespace tutti::delegate {
namespace {

// Of fewer members none gains by levels (levels_test.cc).
constexpr int kLeastByLevels = 9;

}  // namespace

void ShmTeam::note_place(const model::BoundAt& place) {
  // Where calls that do not match go on, members might not make their plans in the same call; where
  // ranks share cores, other forms cost less (fold_by_one.cc).
  const bool may_have_levels = waiting_.overlook == nullptr && !is_oversubscribed_;
  control(me_).place = may_have_levels ? place : model::BoundAt{};
  if (size_ >= kLeastByLevels && !is_oversubscribed_)
    barrier_form_ = short_form_ = &ShmTeam::meet_first;
}

// Flat; then all know where all are.
Code ShmTeam::meet_first(Work& work) {
  const TeamCall& call = work.call;
  const Code code = call.op == nullptr ? barrier(work) : fold_short(work);
  if (code != Code::ok || call.collective == coll::Collective::reduce) return code;
  std::vector<model::BoundAt> places;
  for (int member = 0; member < size_; ++member) places.push_back(control(member).place);
  const std::vector<int> above = plan_levels(places);
  levels_ = levels_of(above, me_);
  has_levels_ = levels_.tops.size() < places.size();
  barrier_form_ = has_levels_ ? &ShmTeam::meet : &ShmTeam::barrier;
  short_form_ = has_levels_ ? &ShmTeam::meet : &ShmTeam::fold_short;
  return code;
}

Code ShmTeam::meet(Work& work) {
  const TeamCall& call = work.call;
  if (scatters(call)) return fold_short(work);
  const bool is_reduce = call.collective == coll::Collective::reduce;
  if (!work.has_spoken) {
    if (const Code code = claim_entry(); code != Code::ok) return code;
    if (const Code code = hear_these(work, levels_.below); code != Code::ok) return code;
    say_with_those_below(work);
    work.has_spoken = true;
    work.member = 0;
  }
  if (!is_reduce || me_ == call.root) {
    if (const Code code = hear_these(work, levels_.tops); code != Code::ok) return code;
    fold_tops(work);
  }
  is_reduce ? end_call() : all_entered();
  return Code::ok;
}

Code ShmTeam::hear_these(Work& work, const std::vector<int>& members) {
  for (; static_cast<std::size_t>(work.member) < members.size(); ++work.member) {
    const int member = members[static_cast<std::size_t>(work.member)];
    if (member == me_) continue;
    if (const Code code = hear(member, work.call.fingerprint); code != Code::ok) return code;
    // Whose data is missing below it.
    if (without_data_ == member) without_data_ = static_cast<int>(entry(member).word);
  }
  return Code::ok;
}

void ShmTeam::say_with_those_below(const Work& work) {
  const TeamCall& call = work.call;
  AreaEntry& mine = entry(me_);
  if (call.op != nullptr && work.bytes > 0) {
    std::byte* const sum = mine.payload(work.bytes);
    std::memcpy(sum, call.send, work.bytes);
    for (const int member : levels_.below)
      work.kernel(sum, entry(member).payload(work.bytes), sum, call.count);
  }
  const bool has_all = without_data_ < 0 && call.fingerprint != kHasNothing;
  if (!has_all) mine.word = static_cast<std::uint64_t>(without_data_ < 0 ? me_ : without_data_);
  publish(mine, has_all ? call.fingerprint : kHasNothing);
}

void ShmTeam::fold_tops(const Work& work) {
  const TeamCall& call = work.call;
  if (call.op == nullptr || work.bytes == 0) return;
  const auto operand = [&](std::size_t i) { return entry(levels_.tops[i]).payload(work.bytes); };
  std::memcpy(call.recv, operand(0), work.bytes);
  for (std::size_t i = 1; i < levels_.tops.size(); ++i)
    work.kernel(call.recv, operand(i), call.recv, call.count);
}

// Entries are used again: by the same levels all hear that all are in this call, so past those
// before. All members come here in the same call, as all set `past_` in the same calls.
Code ShmTeam::claim_by_levels() {
  for (const int member : levels_.below)
    if (const Code code = await(control(member).met, number_); code != Code::ok) return code;
  std::atomic<std::uint64_t>& mine = control(me_).met;
  if (mine.load(std::memory_order_relaxed) < number_) {
    mine.store(number_, std::memory_order_release);  // pairs with await()
    wake_others();
  }
  for (const int member : levels_.tops)
    if (const Code code = await(control(member).met, number_); code != Code::ok) return code;
  all_entered();
  return Code::ok;
}

}  // namespace tutti::delegate
