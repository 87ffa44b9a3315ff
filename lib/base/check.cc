// The one way this library stops a process because of its own mistake.
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace tutti {

void check_failed(const char* file, int line, const char* what, const std::string& state) {
  std::fprintf(stderr, "tutti: internal error: %s:%d: %s does not hold%s%s; please report this\n",
               file, line, what, state.empty() ? "" : ": ", state.c_str());
  std::abort();
}

}  // namespace tutti
