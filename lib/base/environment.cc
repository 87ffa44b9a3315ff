#include "base/environment.h"

namespace tutti {

std::optional<std::string> find_in(const std::vector<std::string>& environment,
                                   const std::string& name) {
  for (const std::string& entry : environment)
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  return std::nullopt;
}

std::string value_in(const std::vector<std::string>& environment, const std::string& name) {
  return find_in(environment, name).value_or("");
}

void replace_in(std::vector<std::string>& environment, const std::vector<std::string>& entries) {
  for (const std::string& entry : entries) {
    const std::string start = entry.substr(0, entry.find('=')) + "=";
    std::erase_if(environment, [&start](const std::string& one) { return one.starts_with(start); });
    environment.push_back(entry);
  }
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> all;
  all.reserve(words.size() + 1);
  for (const std::string& word : words) all.push_back(const_cast<char*>(word.c_str()));
  all.push_back(nullptr);
  return all;
}

}  // namespace tutti
