// Numbers in sentences.
#include "base/numbers.h"

namespace tutti::text {

std::string ranges(const std::vector<int>& sorted) {
  std::string text;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i + 1;
    while (end < sorted.size() && sorted[end] == sorted[end - 1] + 1) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(sorted[i]);
    if (end - i > 1) text += "-" + std::to_string(sorted[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace tutti::text
