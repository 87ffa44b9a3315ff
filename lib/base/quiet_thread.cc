// Threads with a stack that is asked for, and all signals blocked.
#include "base/quiet_thread.h"

#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>

#include "base/check.h"

namespace tutti {
namespace {

// What each thread has on its own (thread_local) is in its stack, too. Only what is touched takes
// memory.
constexpr std::size_t kLeastStack = 1U << 20;

using Body = std::function<void()>;

// Nobody could catch what a thread of ours throws, which is what memory is too short for: the
// process ends, by a line that takes none.
void* run(void* given) noexcept {
  const std::unique_ptr<Body> body(static_cast<Body*>(given));
  try {
    (*body)();
  } catch (const std::bad_alloc&) {
    constexpr std::string_view kLine =
        "tutti: there is not enough memory for a thread of the library, which ends the process "
        "(see ulimit -v, and the host's memory)\n";
    (void)!::write(STDERR_FILENO, kLine.data(), kLine.size());
    std::abort();
  }
  return nullptr;
}

bool create(pthread_t* id, Body* body) {
  pthread_attr_t how;
  if (::pthread_attr_init(&how) != 0) return false;
  std::size_t stack = 0;  // what `ulimit -s` was when the program began
  ::pthread_attr_getstacksize(&how, &stack);
  if (stack < kLeastStack) ::pthread_attr_setstacksize(&how, kLeastStack);
  const bool made = ::pthread_create(id, &how, run, body) == 0;
  ::pthread_attr_destroy(&how);
  return made;
}

}  // namespace

QuietThread::QuietThread(std::function<void()> body) {
  auto own = std::make_unique<Body>(std::move(body));
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  joinable_ = create(&id_, own.get());
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (joinable_) (void)own.release();  // the thread's now
}

QuietThread& QuietThread::operator=(QuietThread&& other) noexcept {
  TUTTI_CHECK(!joinable_, "a thread runs that nobody would join");
  id_ = other.id_;
  joinable_ = std::exchange(other.joinable_, false);
  return *this;
}

QuietThread::~QuietThread() {
  TUTTI_CHECK(!joinable_, "a thread runs that nobody would join");
}

void QuietThread::join() {
  ::pthread_join(id_, nullptr);
  joinable_ = false;
}

void QuietThread::detach() {
  ::pthread_detach(id_);
  joinable_ = false;
}

}  // namespace tutti
