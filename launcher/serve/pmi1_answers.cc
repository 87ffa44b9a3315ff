// Answers of the server of PMI version 1.
#include "serve/pmi1_answers.h"

#include <cstddef>

namespace tutti::launch::serve {

std::string answer_to(const std::string& name) {
  for (const char* known : {"publish", "unpublish", "lookup"})
    if (name == std::string(known) + "_name") return std::string(known) + "_result";
  return name + "_result";
}

std::string join_pairs(const std::map<std::string, std::string>& pairs) {
  std::string text;
  for (const auto& [key, value] : pairs) text += key + '\0' + value + '\0';
  return text;
}

void split_pairs(std::string_view text, std::map<std::string, std::string>& pairs) {
  while (!text.empty()) {
    const std::size_t key = text.find('\0');
    const std::size_t value = key == std::string_view::npos ? key : text.find('\0', key + 1);
    if (value == std::string_view::npos) return;
    pairs[std::string(text.substr(0, key))] = text.substr(key + 1, value - key - 1);
    text.remove_prefix(value + 1);
  }
}

}  // namespace tutti::launch::serve
