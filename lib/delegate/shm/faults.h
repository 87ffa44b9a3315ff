// Faults: why calls of a team end badly, and that no call goes on after that.
#pragma once

#include <string>

#include "delegate/delegate.h"
#include "delegate/shm/team_area.h"

namespace tutti::delegate {

class Faults {
 public:
  Faults(const TeamArea& area, const Waiting& waiting) : area_(area), waiting_(waiting) {}

  Code broken() const { return broken_; }  // ok: the team works
  void break_off(Code code);               // from here on; the others see it
  Code refuse();                           // a call of a team that is broken

  // Two members do something differently: the call ends, unless such calls go on.
  Code mismatch(const Fault& fault);
  Code give_up(const Fault& fault);  // says it; what the call ends with
  Code broken_by(int member);        // who has given up
  // Of this call alone: that member had no data for it.
  Code end_without_data(int member);

 private:
  void give_up_because(std::string why, FailureCause cause);
  std::string describe(const Fault& fault) const;

  const TeamArea& area_;
  const Waiting& waiting_;
  Code broken_ = Code::ok;
  struct {
    std::string text{};
    FailureCause cause = FailureCause::failure;
  } why_broken_;
};

}  // namespace tutti::delegate
