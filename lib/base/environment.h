// What programs are started with: environments ("NAME=value") and words, as lists.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tutti {

// Value of a variable in such a list; nothing, or empty, when it is not there.
std::optional<std::string> find_in(const std::vector<std::string>& environment,
                                   const std::string& name);
std::string value_in(const std::vector<std::string>& environment, const std::string& name);
// These entries instead of those of the same names.
void replace_in(std::vector<std::string>& environment, const std::vector<std::string>& entries);
// For exec: they end with a null, and hold as long as the words stay as they are.
std::vector<char*> pointers_to(const std::vector<std::string>& words);

}  // namespace tutti
