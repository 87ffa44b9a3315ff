// Reductions: the forms that fold, and which of them a call takes. Barriers go as the shortest
// ones.
#pragma once

#include "delegate/shm/forms.h"

namespace tutti::delegate {

class Reductions {
 public:
  Reductions(Members& members, Chunks& chunks, const model::BoundAt& place);
  TeamForm* barrier() const { return shorts_.barrier; }
  void choose(Work& work);

 private:
  const Count* find_starts(const TeamCall& call);
  bool is_for_crowd(const Work& work) const;
  bool is_for_halves(const Work& work) const;

  Members& members_;
  const std::unique_ptr<TeamForm> barrier_, short_, halves_, pair_, long_, crowd_, scan_short_,
      scan_long_;
  ShortForms shorts_;
  const std::unique_ptr<TeamForm> by_levels_;
  std::vector<Count> starts_;  // of this reduce-scatter's blocks, and the end
};

}  // namespace tutti::delegate
