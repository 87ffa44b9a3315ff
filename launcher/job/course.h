// The course of a job, as far as its parts must know it. The Head writes it, the others read.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "job/states.h"

namespace tutti::launch::job {

struct Course {
  State state = State::starting;
  std::size_t ranks_left = 0;
  std::vector<bool> rank_ended;
  std::uint64_t job_id = 0;  // once it is launched
  std::int64_t began_ns = now_ns();
};

}  // namespace tutti::launch::job
