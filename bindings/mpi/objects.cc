// Info objects and the predefined group: the objects that exist without MPI running.
#include "mpi/objects.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "mpi/memory_kinds.h"

namespace tutti::mpi {

const std::string* Info::find(std::string_view key) const {
  for (const auto& [name, value] : pairs)
    if (name == key) return &value;
  return nullptr;
}

void Info::set(std::string_view key, std::string_view value) {
  for (auto& [name, old] : pairs)
    if (name == key) {
      old = value;
      return;
    }
  pairs.emplace_back(key, value);
}

bool Info::erase(std::string_view key) {
  const auto gone = std::remove_if(pairs.begin(), pairs.end(),
                                   [key](const auto& pair) { return pair.first == key; });
  const bool found = gone != pairs.end();
  pairs.erase(gone, pairs.end());
  return found;
}

void set_command(Info& info, const std::vector<std::string>& words) {
  std::string arguments;
  for (std::size_t i = 1; i < words.size(); ++i) arguments += (i > 1 ? " " : "") + words[i];
  info.erase("argv");
  if (!words.empty()) info.set("command", words[0].substr(0, MPI_MAX_INFO_VAL - 1));
  if (!arguments.empty()) info.set("argv", arguments.substr(0, MPI_MAX_INFO_VAL - 1));
}

Info* environment_info() {
  static Info* const info = [] {
    auto* made = new Info(bits_of(MPI_INFO_ENV));
    std::ifstream command_line("/proc/self/cmdline");
    std::vector<std::string> words;
    for (std::string word; std::getline(command_line, word, '\0');) words.push_back(word);
    set_command(*made, words);
    char text[4096];
    if (::gethostname(text, sizeof text) == 0) made->set("host", text);
    if (::getcwd(text, sizeof text) != nullptr) made->set("wdir", text);
    // What was asked for; what there is of it, sessions and communicators say (MPI 5.0, 11.4.3).
    if (const std::string asked = kinds_asked_for(); !asked.empty()) made->set(kKindsKey, asked);
    return made;
  }();
  return info;
}

comm::Group* empty_group() {
  static comm::Group* const group = new comm::Group(std::vector<int>{}, bits_of(MPI_GROUP_EMPTY));
  return group;
}

}  // namespace tutti::mpi
