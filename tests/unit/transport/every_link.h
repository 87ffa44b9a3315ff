// For tests that every transport must pass which can be opened here.
#pragma once

#include <string>
#include <vector>

#include "rig.h"

namespace tutti::test {

// Links this machine has. "self" joins rank 0 to itself, the others 0 and 1.
inline std::vector<std::string> links_here() {
  std::vector<std::string> names{"self"};
  for (const char* name : {"shm", "tcp", "tcp integrity", "tcp encrypted", "ucx"}) {
    Rig rig = Rig::over(name, 2);
    if (rig[0].transport(name) != nullptr) names.emplace_back(name);
  }
  return names;
}

inline int target(const std::string& name) {
  return name == "self" ? 0 : 1;
}

template <class Body>
void for_every_link(Body&& body) {
  for (const std::string& name : links_here()) {
    INFO("link " << name);
    body(name);
  }
}

}  // namespace tutti::test
