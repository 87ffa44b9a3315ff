// Barriers and short allreduces by levels (levels.h): who hears others first folds their vectors
// with its own before it says it; everybody folds what the tops say.
//
// A member says one entry in a call, as where all hear all (fold_short.cc), so whatever waits for
// entries, compares calls or notices the dead is the same. All fold the same entries in the same
// order, so all get the same bits, in every call; the predefined operations, which are all that
// come here, commute.
//
// The plan is made in the first call in which all hear all: each has noted its place before.
#include <cstring>
#include <string>

#include "base/log.h"
#include "delegate/shm/forms.h"
#include "delegate/shm/levels.h"

namespace tutti::delegate {
namespace {

// Of fewer members none gains by levels (levels_test.cc).
constexpr int kLeastByLevels = 9;

class ByLevels final : public TeamForm {
 public:
  // Comes before the short forms there are, until members know whether it gains by levels.
  ByLevels(Members& members, ShortForms& shorts)
      : TeamForm(members), shorts_(shorts), flat_(shorts) {
    shorts_ = {this, this};
  }
  Code go_on(Work& work) override { return is_planned_ ? meet(work) : meet_first(work); }

 private:
  Code meet_flat(Work& work) {
    return work.call.op == nullptr ? flat_.barrier->go_on(work) : flat_.fold->go_on(work);
  }
  Code meet_first(Work& work);
  Code meet(Work& work);
  Code hear_these(Work& work, const std::vector<int>& members);
  void say_with_those_below(const Work& work);
  template <class Vector>
  static void fold(const Work& work, const std::vector<int>& members, const Vector& vector);
  void fold_as_planned(const Work& work, const std::vector<int>& above);

  ShortForms& shorts_;
  const ShortForms flat_;
  bool is_planned_ = false;
  Levels levels_;
};

// Flat; then all know where all are. Who comes to a reduce does not hear all, so makes no plan.
Code ByLevels::meet_first(Work& work) {
  const TeamCall& call = work.call;
  const Code code = meet_flat(work);
  if (code != Code::ok || call.collective == coll::Collective::reduce) return code;
  std::vector<model::BoundAt> places;
  for (int member = 0; member < size_; ++member) places.push_back(members_.control(member).place);
  const std::vector<int> above = plan_levels(places);
  levels_ = levels_of(above, me_);
  const bool has_levels = levels_.tops.size() < places.size();
  is_planned_ = true;
  if (!has_levels) {
    shorts_ = flat_;
    return code;
  }
  if (me_ == 0)
    log::explain("short collectives of these " + std::to_string(size_) +
                 " ranks go by the levels of their caches: everybody hears " +
                 std::to_string(levels_.tops.size()));
  if (call.collective == coll::Collective::allreduce) fold_as_planned(work, above);
  return code;
}

Code ByLevels::meet(Work& work) {
  const TeamCall& call = work.call;
  const bool is_barrier = call.op == nullptr;
  if (!is_barrier && call.collective != coll::Collective::allreduce) return meet_flat(work);
  if (!work.has_spoken) {
    if (const Code code = members_.claim_entry(); code != Code::ok) return code;
    if (const Code code = hear_these(work, levels_.below); code != Code::ok) return code;
    say_with_those_below(work);
    work.has_spoken = true;
    work.member = 0;
  }
  if (const Code code = hear_these(work, levels_.tops); code != Code::ok) return code;
  const auto vector = [&](int member) { return members_.entry(member).payload(work.bytes); };
  if (!is_barrier) fold(work, levels_.tops, vector);
  members_.all_entered();
  return Code::ok;
}

Code ByLevels::hear_these(Work& work, const std::vector<int>& members) {
  for (; static_cast<std::size_t>(work.member) < members.size(); ++work.member) {
    const int member = members[static_cast<std::size_t>(work.member)];
    if (member == me_) continue;
    if (const Code code = members_.hear(member, work.call.fingerprint); code != Code::ok)
      return code;
    // Whose data is missing below it.
    if (members_.without_data() == member)
      members_.note_without_data(static_cast<int>(members_.entry(member).word));
  }
  return Code::ok;
}

void ByLevels::say_with_those_below(const Work& work) {
  const TeamCall& call = work.call;
  AreaEntry& mine = members_.entry(me_);
  if (call.op != nullptr && work.bytes > 0) {
    std::byte* const sum = mine.payload(work.bytes);
    std::memcpy(sum, call.send, work.bytes);
    for (const int member : levels_.below)
      work.kernel(sum, members_.entry(member).payload(work.bytes), sum, call.count);
  }
  const bool has_all = members_.without_data() < 0 && call.fingerprint != kHasNothing;
  if (!has_all)
    mine.word =
        static_cast<std::uint64_t>(members_.without_data() < 0 ? me_ : members_.without_data());
  members_.publish(mine, has_all ? call.fingerprint : kHasNothing);
}

// These members' vectors for the caller.
template <class Vector>
void ByLevels::fold(const Work& work, const std::vector<int>& members, const Vector& vector) {
  if (work.bytes == 0) return;
  std::byte* const sum = static_cast<std::byte*>(work.call.recv);
  std::memcpy(sum, vector(members[0]), work.bytes);
  for (std::size_t i = 1; i < members.size(); ++i)
    work.kernel(sum, vector(members[i]), sum, work.call.count);
}

// Each said his own, in a call before the plan: in the order of the calls that follow, so that the
// same vectors give the same bits in the first call, too.
void ByLevels::fold_as_planned(const Work& work, const std::vector<int>& above) {
  std::vector<std::byte> sums(static_cast<std::size_t>(size_) * work.bytes);
  const auto sum_of = [&](int member) {
    return sums.data() + static_cast<std::size_t>(member) * work.bytes;
  };
  for (int member = size_ - 1; member >= 0; --member) {  // those below stand behind it
    std::memcpy(sum_of(member), members_.entry(member).payload(work.bytes), work.bytes);
    for (const int below : levels_of(above, member).below)
      work.kernel(sum_of(member), sum_of(below), sum_of(member), work.call.count);
  }
  fold(work, levels_.tops, sum_of);
}

}  // namespace

// Where calls that do not match go on, members might not make their plans in the same call.
std::unique_ptr<TeamForm> make_by_levels(Members& members, ShortForms& shorts,
                                         const model::BoundAt& place) {
  const bool may_have_levels = !members.may_calls_differ() && place.is_known();
  members.control(members.me()).place = may_have_levels ? place : model::BoundAt{};
  if (!may_have_levels || members.size() < kLeastByLevels) return nullptr;
  return std::make_unique<ByLevels>(members, shorts);
}

}  // namespace tutti::delegate
