// The rows of the table: what is counted, one operation each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "instructions/rank.h"

namespace tutti::ruler {

// One rank's part in a row. Memory and requests are its own, made before anything is counted.
struct Part {
  std::function<void()> run;          // one operation
  std::function<void()> end = [] {};  // after the last one
};

struct Row {
  std::string name;
  std::function<Part(const Mpi& mpi, int rank)> make;
};

std::vector<Row> all_rows(bool is_inside);  // both ranks on one host

}  // namespace tutti::ruler
