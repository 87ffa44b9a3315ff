// What the sources of select share; private to it.
#pragma once

#include <vector>

#include "select/select.h"

namespace tutti::select {

struct Candidate {
  const coll::Algorithm* algorithm = nullptr;  // null: the shm delegate
  std::int64_t segment_bytes = 0;
  double predicted_us = 0;
};

// Whether the shm delegate can serve this call.
bool delegate_can(const Question& question, const TeamFacts& team);

// Everything that can serve the call, with its predicted time; in catalogue order.
std::vector<Candidate> candidates(const Question& question, const TeamFacts& team,
                                  const Knobs& knobs);

// Pipeline segment: the knob's, else the model's; 0 when the algorithm takes none.
std::int64_t segment_for(const coll::Algorithm& algorithm, const Question& question,
                         const TeamFacts& team, const Knobs& knobs);

// The text for TUTTI_EXPLAIN.
std::string explanation(const TeamFacts& team, const std::vector<Candidate>& all);

}  // namespace tutti::select
