// Numbers in sentences: "1 host", "3 hosts"; "0-2,5".
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::text {

// "host" where there is one, else "hosts".
std::string plural(std::integral auto count, std::string_view thing) {
  return std::string(thing) + (count == 1 ? "" : "s");
}
// The same with the number in front.
std::string counted(std::integral auto count, std::string_view thing) {
  return std::to_string(count) + " " + plural(count, thing);
}
// 0, 1, 2, 5 -> "0-2,5"; of numbers in ascending order.
std::string ranges(const std::vector<int>& sorted);

}  // namespace tutti::text
