// Info objects and the predefined group: the objects that exist without MPI running.
#include "mpi/objects.h"

#include <unistd.h>

#include <algorithm>

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

Info* environment_info() {
  static Info* const info = [] {
    auto* made = new Info(bits_of(MPI_INFO_ENV));
    char text[4096];
    const auto length = ::readlink("/proc/self/exe", text, sizeof text);
    if (length > 0) made->set("command", {text, static_cast<std::size_t>(length)});
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
