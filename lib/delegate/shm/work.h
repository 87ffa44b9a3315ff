// Work: a call under way in a team, and how far it has come. Forms go on where the step before had
// to stop: whoever is to be heard or awaited next stands here, as does the round.
#pragma once

#include <optional>

#include "delegate/shm/exchange.h"

namespace tutti::delegate {

class TeamForm;

struct Work {
  explicit Work(const TeamCall& what) : call(what) {}
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  // What of a round is done.
  enum class Stage : std::uint8_t { give, fold, take };

  const TeamCall& call;
  TeamForm* form = nullptr;  // null: its turn has not come
  bool has_spoken = false;   // our entry is published
  bool has_heard = false;    // all others' are
  Stage stage = Stage::give;
  int member = 0;  // to be heard or awaited next
  Count round = 0;
  types::Op::Kernel kernel;       // of reductions
  std::size_t bytes;              // of all that we give
  const Count* starts = nullptr;  // of a reduce-scatter's blocks, and the end
  std::optional<BlockExchange> exchange;

  // Moves on in a round, or to the next.
  void enter(Stage next) {
    stage = next;
    member = 0;
  }
};

}  // namespace tutti::delegate
