#include "base/open_files.h"

#include <string>

namespace tutti {

Result<void> can_open_files() {
  constexpr rlim_t kToSpeak = 24;  // a job needs more, which its daemons judge
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kToSpeak) return {};
  if (limit.rlim_max < kToSpeak)
    return fail(Code::other, "the hard limit of open files (ulimit -Hn) is " +
                                 std::to_string(limit.rlim_max) + "; at least " +
                                 std::to_string(kLeastOpenFiles) + " are needed: raise it");
  limit.rlim_cur = kToSpeak;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return {};
}

}  // namespace tutti
