// Text of others on a terminal: what would steer it is shown, not obeyed.
#pragma once

#include <string>
#include <string_view>

namespace tutti::text {

// Control characters and what is no UTF-8 as \xNN; characters in `kept` stay as they are.
std::string printable(std::string_view text, std::string_view kept = "");

// The same of a line that we say, or several: what follows the first is indented, so that nothing
// in it begins as another line of ours does. Tabs stay.
std::string printable_lines(std::string_view text);

}  // namespace tutti::text
