// While it lives this process can open no file and accept nobody, as with too low an ulimit -n. It
// says how much processor time was spent meanwhile: whoever watches a door that cannot be passed
// must not spin.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace tutti::test {

class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const UniqueFd first_free(::dup(0));
    const rlimit none{static_cast<rlim_t>(first_free.get()), before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
    began_us_ = worked_us();
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

  long spent_us() const { return worked_us() - began_us_; }

 private:
  static long worked_us() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1'000'000 + used.ru_utime.tv_usec +
           used.ru_stime.tv_usec;
  }
  rlimit before_{};
  long began_us_ = 0;
};

}  // namespace tutti::test
