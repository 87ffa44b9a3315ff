// ShmTeam: calls begun, stepped and waited for: the one way in which they go on.
//
// A call that is waited for (run) is stepped like a begun one, where it stands, without a TeamRun:
// what it waits for is looked at closely, then other messages move, then the core is given up.
#include "delegate/shm/team.h"

#include <new>
#include <utility>

#include "base/check.h"

namespace tutti::delegate {

ShmTeam::ShmTeam(wireup::Wireup& wireup, std::vector<int> locals, int me, std::uint32_t area,
                 const Waiting& waiting, const MemberFacts& facts)
    : Team(waiting),
      members_(wireup, std::move(locals), me, area, waiting_),
      chunks_(members_),
      reductions_(members_, chunks_, facts.place),
      moves_(members_, chunks_, facts.single_copy) {}

bool ShmTeam::takes(const TeamCall& call) const {
  const std::size_t table =
      sizeof(Count) * static_cast<std::size_t>(members_.size());  // of uneven blocks
  if (call.uneven != nullptr && call.op == nullptr) return table <= members_.geometry().entry_bytes;
  // Elements with gaps between them are not copied as bytes: the gaps are the user's.
  return call.op == nullptr ||
         (call.type->is_contiguous() && call.op->kernel(*call.type) != nullptr);
}

class ShmTeam::Begun final : public TeamRun {
 public:
  Begun(ShmTeam& team, const TeamCall& call) : team_(team), call_(call), work_(call_) {
    team_.begun_.push_back(this);
  }
  ~Begun() override {
    if (is_over_) return;
    team_.cancel(Code::other);
    std::erase(team_.begun_, this);
  }
  StepResult step() override { return is_over_ ? StepResult::over : team_.step(*this); }
  Code code() const override { return code_; }

 private:
  friend class ShmTeam;
  ShmTeam& team_;
  const TeamCall call_;
  Work work_;
  bool is_over_ = false;
  Code code_ = Code::ok;
};

// Its turn has come.
inline void ShmTeam::start(Work& work) {
  members_.begin_call();
  if (work.call.collective == coll::Collective::barrier)
    work.form = reductions_.barrier();
  else if (work.call.op != nullptr)
    reductions_.choose(work);
  else
    moves_.choose(work);
}

// As far as it goes.
inline Code ShmTeam::go_on(Work& work) {
  const Code code = work.form->go_on(work);
  if (code == Code::ok && members_.without_data() < 0) [[likely]]
    return code;
  return code == kNotYet ? code : end_badly(code);
}

Code ShmTeam::end_badly(Code code) {
  if (code == Code::ok) return members_.end_without_data();
  members_.faults().break_off(code);
  return code;
}

std::unique_ptr<TeamRun> ShmTeam::begin(const TeamCall& call) {
  return std::make_unique<Begun>(*this, call);
}

// What other messages lack memory for meanwhile is left to a later round, once.
void ShmTeam::wait(bool& was_short) {
  try {
    members_.wait_long();
  } catch (const std::bad_alloc&) {
    if (std::exchange(was_short, true)) throw;
  }
}

Code ShmTeam::run(const TeamCall& call) {
  if (!begun_.empty() || members_.faults().broken() != Code::ok) [[unlikely]] {
    drain();
    if (members_.faults().broken() != Code::ok) return members_.faults().refuse();
  }
  Work work(call);
  members_.set_running(true);
  Code code;
  bool was_short = false;
  try {
    start(work);
    code = go_on(work);
    while (code == kNotYet) [[unlikely]] {
        wait(was_short);
        code = members_.faults().broken() != Code::ok ? members_.faults().broken() : go_on(work);
      }
  } catch (...) {  // the others are told
    members_.set_running(false);
    cancel(Code::other);
    throw;
  }
  members_.set_running(false);
  return code;
}

void ShmTeam::cancel(Code code) {
  TUTTI_CHECK(code != Code::ok && code != kNotYet, "a team is cancelled without an error");
  if (members_.faults().broken() == Code::ok) members_.faults().break_off(code);
}

StepResult ShmTeam::step(const Begun& run) {
  if (members_.is_running()) return StepResult::waits;  // in another thread, or below us
  bool moved = false;
  members_.messages_moved();
  while (!run.is_over_ && !members_.has_copied_much() && serve_first()) moved = true;
  if (run.is_over_) return StepResult::over;
  if (!moved) members_.waited_in_vain();
  return moved ? StepResult::moved : StepResult::waits;
}

// Takes the first of the begun calls on. False: it has to wait.
bool ShmTeam::serve_first() {
  Begun& first = *begun_.front();
  Work& work = first.work_;
  const bool had_spoken = work.has_spoken;
  const auto stage = work.stage;
  const int member = work.member;
  const Count round = work.round;
  if (work.form == nullptr && members_.faults().broken() == Code::ok) start(work);
  const Code code =
      members_.faults().broken() != Code::ok ? members_.faults().broken() : go_on(work);
  if (code == kNotYet)
    return work.has_spoken != had_spoken || work.stage != stage || work.member != member ||
           work.round != round || members_.has_copied_much();
  first.code_ = code;
  first.is_over_ = true;
  begun_.erase(begun_.begin());
  return true;
}

// The calls that were begun before go first.
void ShmTeam::drain() {
  while (!members_.is_running() && !begun_.empty()) {
    const bool moved = serve_first();
    if (members_.has_copied_much())
      members_.pause();
    else if (moved || members_.look())
      continue;
    members_.wait_long();
  }
}

std::unique_ptr<Team> make_shm_team(wireup::Wireup& wireup, std::vector<int> locals, int me,
                                    std::uint32_t area, const Waiting& waiting,
                                    const MemberFacts& facts) {
  return std::make_unique<ShmTeam>(wireup, std::move(locals), me, area, waiting, facts);
}

}  // namespace tutti::delegate
