// Two collective calls of one number that differ, in words.
#pragma once

#include <string>
#include <string_view>

namespace tutti {

// How a line begins that names them: "MPI_Bcast(root 0, 16 B)" and another. What functions make for
// themselves has words that stand for several functions: alike, they may still be different ones.
inline std::string differ_in(std::string_view one, std::string_view other) {
  const bool is_one =
      one.starts_with("MPI") && one.substr(0, one.find('(')) == other.substr(0, other.find('('));
  return is_one ? "ranks give a collective different arguments: "
                : "ranks call different collectives: ";
}

}  // namespace tutti
