// What a desk answers (job/desk.h), read: whoever answered may be a liar, so all of it is a
// stranger's words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tutti::launch::prun {

// Of "ps": what is shown of a job, without what would steer a terminal.
inline constexpr std::size_t kJobColumns = 7;
std::optional<std::vector<std::string>> columns_of(const std::string& answer);
// Of "stacks".
std::string shown(const std::string& answer);

// Of "gdb RANK": where that rank runs, as far as it makes sense. Errors: what the desk says is
// wrong, to be shown; without a text: the answer is none.
struct ProcessPlace {
  int pid = 0;
  std::string host;
  bool is_here = false;
};
Result<ProcessPlace> place_in(const std::string& answer);

}  // namespace tutti::launch::prun
