// select: which algorithm serves a call, and why. Pure; the model's facts come in.
#pragma once

#include <span>
#include <string>

#include "base/knobs.h"
#include "coll/coll.h"
#include "model/model.h"

namespace tutti::select {

using model::LinkClass;
using model::TeamFacts;

struct Question {
  coll::Collective collective;
  std::int64_t bytes;  // per block where there are blocks
  bool commutative;
  std::string forced;  // info key of the communicator; empty: knobs decide
  // False: the delegate does not take this call (nonblocking, elements with gaps, an operation of
  // the user's own); a forced "shm" is left to the model then.
  bool may_delegate = true;
};

struct Choice {
  const coll::Algorithm* algorithm = nullptr;  // null: the shm delegate
  std::int64_t segment_bytes = 0;
  std::string why;  // filled only when asked to explain
};

// Errors: a forced name that is unknown (nearest names are given) or cannot serve the call.
Result<Choice> choose(const Question& question, const TeamFacts& team, const Knobs& knobs,
                      bool explain);

// What the communicator's info or a knob forces for this collective; empty: nothing.
std::string forced_algorithm(coll::Collective collective, const std::string& by_info,
                             const Knobs& knobs);

// Errors: a knob forces what no collective has. Asked once at start, before any call meets it.
Result<void> check_forced(const Knobs& knobs);

// What forces a GPU vendor's library for some collective, such as TUTTI_ALLREDUCE; empty: nothing.
std::string library_forced_by(const Knobs& knobs);

// Predicted time in us of one algorithm for one call.
double predict_us(const coll::Algorithm& algorithm, const Question& question, const TeamFacts& team,
                  std::int64_t segment_bytes);
// Of a choice, the shm delegate's too.
double predict_us(const Choice& choice, const Question& question, const TeamFacts& team);

}  // namespace tutti::select
