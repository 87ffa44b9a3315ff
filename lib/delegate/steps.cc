// Calls begun, stepped and waited for: the one way in which they go on.
//
// A call that is waited for (run) is stepped like a begun one, where it stands, without a TeamRun:
// what it waits for is looked at closely, then other messages move, then the core is given up.
#include "base/backoff.h"
#include "base/check.h"
#include "delegate/work.h"

namespace tutti::delegate {
namespace {

constexpr int kLooksPart = 32;  // of those at what is awaited are made between rounds of progress
constexpr std::uint32_t kStepsBetweenDeaths = 16;  // that waited, between looks at the members

}  // namespace

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
  ++number_;
  if (work.call.collective == coll::Collective::barrier)
    work.form = barrier_form_;
  else if (work.call.op != nullptr)
    choose_fold(work);
  else
    choose_move(work);
}

// As far as it goes.
inline Code ShmTeam::go_on(Work& work) {
  const Code code = (this->*work.form)(work);
  if (code == Code::ok && without_data_ < 0) [[likely]]
    return code;
  return code == kNotYet ? code : end_badly(code);
}

Code ShmTeam::end_badly(Code code) {
  if (code == Code::ok) return end_without_data();
  break_off(code);
  return code;
}

Code Team::run(const TeamCall& call) {
  const std::unique_ptr<TeamRun> run = begin(call);
  for (StepResult step; (step = run->step()) != StepResult::over;)
    if (waiting_.progress(waiting_.self) > 0 || step == StepResult::moved)
      waiting_.active(waiting_.self);
    else
      waiting_.idle(waiting_.self);
  waiting_.active(waiting_.self);
  return run->code();
}

std::unique_ptr<TeamRun> ShmTeam::begin(const TeamCall& call) {
  return std::make_unique<Begun>(*this, call);
}

Code ShmTeam::run(const TeamCall& call) {
  if (!begun_.empty() || broken_ != Code::ok) [[unlikely]] {
    drain();
    if (broken_ != Code::ok) return refuse();
  }
  Work work(call);
  is_running_ = true;
  start(work);
  Code code = go_on(work);
  while (code == kNotYet) [[unlikely]] {
      wait_long();
      code = broken_ != Code::ok ? broken_ : go_on(work);
    }
  is_running_ = false;
  return code;
}

void ShmTeam::cancel(Code code) {
  TUTTI_CHECK(code != Code::ok && code != kNotYet, "a team is cancelled without an error");
  if (broken_ == Code::ok) break_off(code);
}

StepResult ShmTeam::step(const Begun& run) {
  if (is_running_) return StepResult::waits;  // in another thread, or below us
  bool moved = false;
  copied_ = 0;
  while (!run.is_over_ && !has_copied_much() && serve_first()) moved = true;
  if (run.is_over_) return StepResult::over;
  if (!moved && ++in_vain_ % kStepsBetweenDeaths == 0) look_for_losses();
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
  if (work.form == nullptr && broken_ == Code::ok) start(work);
  const Code code = broken_ != Code::ok ? broken_ : go_on(work);
  if (code == kNotYet)
    return work.has_spoken != had_spoken || work.stage != stage || work.member != member ||
           work.round != round || has_copied_much();
  first.code_ = code;
  first.is_over_ = true;
  begun_.erase(begun_.begin());
  return true;
}

// The calls that were begun before go first.
void ShmTeam::drain() {
  while (!is_running_ && !begun_.empty()) {
    const bool moved = serve_first();
    if (has_copied_much())
      pause();
    else if (moved || look(waiting_.looks))
      continue;
    wait_long();
  }
}

bool ShmTeam::look(int times) const {
  for (int i = 0; i < times; ++i)
    if (awaited_.is_there()) [[likely]]
      return true;
  return false;
}

// Until what is awaited is there, or never comes. It may be there already: then messages move.
void ShmTeam::wait_long() {
  const int looks = waiting_.looks / kLooksPart;
  const Awaited awaited = awaited_;
  copied_ = 0;
  for (std::uint32_t round = 0;; ++round) {
    if (waiting_.progress(waiting_.self) > 0)
      waiting_.active(waiting_.self);
    else if (!awaited.is_there())
      waiting_.idle(waiting_.self);
    bool is_ready = awaited.is_there();
    for (int i = 0; i < looks && !is_ready; ++i) {
      relax();
      is_ready = awaited.is_there();
    }
    if (is_ready || awaited.is_in_vain() || broken_ != Code::ok) break;
    if (round % kStepsBetweenDeaths == 0) look_for_losses();
    if (broken_ != Code::ok) break;
  }
  waiting_.active(waiting_.self);
}

}  // namespace tutti::delegate
