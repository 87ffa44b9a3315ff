// The course of a job, as far as its parts must know it. The StateMachine writes it, the others
// read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "job/states.h"

namespace tutti::launch::job {

struct Course {
  State state = State::starting;
  bool is_launched = false;  // every host was told what to start
  std::size_t ranks_left = 0;
  std::vector<bool> rank_ended;
  std::uint64_t job_id = 0;  // once it is launched
  std::int64_t began_ns = now_ns();

  std::int64_t age_ms() const { return (now_ns() - began_ns) / 1'000'000; }
};

}  // namespace tutti::launch::job
