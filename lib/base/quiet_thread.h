// quiet_thread: starts a thread of ours that takes none of the program's signals.
#pragma once

#include <pthread.h>

#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

namespace tutti {

// Not joinable when the system has no thread left.
template <class Body>
std::thread quiet_thread(Body&& body) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  try {
    thread = std::thread(std::forward<Body>(body));
  } catch (const std::system_error&) {
    // left without one: the caller looks
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace tutti
