// Calls of collectives as the checker's tests need them: all ranks of one case at once.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "coll/coll.h"

namespace tutti::schedule_tests {

// One call of one algorithm, as all ranks make it.
struct Case {
  const coll::Algorithm* algorithm = nullptr;
  int size = 1;
  int root = 0;
  coll::Count count = 0;
  coll::Count segment = 0;
  bool in_place = false;
  std::vector<coll::Count> counts;  // v forms; alltoallv: row r is what rank r sends to each
  std::vector<int> host_of;
};
std::string text_of(const Case& c);

// Everybody's schedule and contract. Errors are those of coll::build.
struct Built {
  std::vector<sched::Schedule> schedules;
  std::vector<sched::Contract> contracts;
};
Result<Built> build(const Case& c);

// Every case of an algorithm for teams of this size: counts, roots, segments, in place or not,
// uneven blocks, hosts. `thorough` takes more of each.
std::vector<Case> cases(const coll::Algorithm& algorithm, int size, bool thorough);

}  // namespace tutti::schedule_tests
