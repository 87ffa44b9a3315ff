// Barriers, and reductions of short vectors: everyone says his vector in his entry, who needs the
// result, or a block of it, folds all of them in rank order. The order is fixed, so all ranks get
// the same bits, and operations that do not commute are right.
#include "delegate/shm/forms.h"

namespace tutti::delegate {
namespace {

class MeetAll final : public TeamForm {
 public:
  explicit MeetAll(Members& members) : TeamForm(members) {}
  Code go_on(Work& work) override;
};

Code MeetAll::go_on(Work& work) {
  if (!work.has_spoken) {
    if (const Code code = members_.claim_entry(); code != Code::ok) return code;
    members_.publish(work.call.fingerprint);
    work.has_spoken = true;
  }
  if (const Code code = hear_all(work); code != Code::ok) return code;
  members_.all_exchanged();
  return Code::ok;
}

class FoldShort final : public TeamForm {
 public:
  explicit FoldShort(Members& members) : TeamForm(members) {}
  Code go_on(Work& work) override;
};

Code FoldShort::go_on(Work& work) {
  const TeamCall& call = work.call;
  const std::size_t bytes = work.bytes;
  if (const Code code = say_vector(work); code != Code::ok) return code;
  const bool everyone = call.collective != coll::Collective::reduce;
  if (everyone || me_ == call.root) {
    if (const Code code = hear_all(work); code != Code::ok) return code;
    const auto from = work.starts != nullptr
                          ? static_cast<std::size_t>(work.starts[me_] * call.type->extent())
                          : 0;
    // In place the result is written over the own vector, which the first fold alone may read.
    const bool is_kept = call.send != call.recv || (me_ < 2 && from == 0);
    const auto operand = [&](int member) { return vector_of(work, member, is_kept) + from; };
    if (bytes > 0) work.kernel(operand(0), operand(1), call.recv, call.count);
    for (int member = 2; member < size_ && bytes > 0; ++member)
      work.kernel(call.recv, operand(member), call.recv, call.count);
    if (!everyone) members_.all_entered();
  }
  if (everyone)
    members_.all_exchanged();
  else
    members_.end_call();
  return Code::ok;
}

}  // namespace

std::unique_ptr<TeamForm> make_barrier(Members& members) {
  return std::make_unique<MeetAll>(members);
}

std::unique_ptr<TeamForm> make_fold_short(Members& members) {
  return std::make_unique<FoldShort>(members);
}

}  // namespace tutti::delegate
