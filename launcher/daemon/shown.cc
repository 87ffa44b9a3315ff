// Two streams, and what their readers did not take.
#include "daemon/shown.h"

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "job/exit_status.h"

namespace tutti::launch::daemon {

Shown::Shown(control::Loop& loop, const Broken& broken, const std::function<void()>& drained)
    : streams_{{loop, 1, [this, broken](int error) { tell(0, error, broken); }},
               {loop, 2, [this, broken](int error) { tell(1, error, broken); }}} {
  for (control::Outlet& one : streams_)
    one.on_drained([this, drained] {
      if (queued_bytes() == 0) drained();
    });
}

void Shown::write(int stream, std::string_view text) {
  streams_[stream].write(text);
}

void Shown::tell(int stream, int error, const Broken& broken) {
  if (error == EPIPE)
    return broken({job::status_of_signal(SIGPIPE), "nobody reads its output any more"});
  broken({job::status_of(job::ExitStatus::no_resources),
          control::words_of(stream + 1, streams_[stream].loss())});
}

int Shown::tell_loss() {
  int status = 0;
  for (const int stream : {0, 1}) {
    const std::string words = control::words_of(stream + 1, streams_[stream].loss());
    if (words.empty()) continue;
    std::fprintf(stderr, "prun: %s\n", words.c_str());
    status = job::status_of(job::ExitStatus::no_resources);
  }
  return status;
}

}  // namespace tutti::launch::daemon
