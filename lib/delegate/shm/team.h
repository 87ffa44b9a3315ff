// ShmTeam: the ranks of one host working in a team area of the job segment. Calls are begun,
// stepped and waited for here; how a call is done is a form's part (forms.h).
#pragma once

#include "delegate/shm/moves.h"
#include "delegate/shm/reductions.h"

namespace tutti::delegate {

class ShmTeam final : public Team {
 public:
  ShmTeam(wireup::Wireup& wireup, std::vector<int> locals, int me, std::uint32_t area,
          const Waiting& waiting, const MemberFacts& facts);
  bool takes(const TeamCall& call) const override;
  std::unique_ptr<TeamRun> begin(const TeamCall& call) override;
  Code run(const TeamCall& call) override;
  void cancel(Code code) override;
  bool is_broken() const override { return members_.faults().broken() != Code::ok; }

 private:
  class Begun;  // a TeamRun

  void start(Work& work);
  Code go_on(Work& work);
  void wait(bool& was_short);
  Code end_badly(Code code);
  StepResult step(const Begun& run);
  bool serve_first();
  void drain();

  Members members_;
  Chunks chunks_;
  Reductions reductions_;
  Moves moves_;
  std::vector<Begun*> begun_;  // not over, in order
};

}  // namespace tutti::delegate
