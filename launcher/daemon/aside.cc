#include "daemon/aside.h"

#include <sys/eventfd.h>

#include <atomic>
#include <memory>
#include <utility>

#include "base/quiet_thread.h"
#include "base/unique_fd.h"

namespace tutti::launch::daemon {
namespace {

// Shared by the thread and the loop: whichever ends first leaves it to the other.
struct Task {
  std::function<void()> work;
  UniqueFd bell;
  std::atomic<bool> is_done = false;  // the bell wakes; this makes visible what the work wrote
};

}  // namespace

void aside(control::Loop& loop, std::function<void()> work, std::function<void()> done) {
  auto task = std::make_shared<Task>();
  task->work = std::move(work);
  task->bell.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const int bell = task->bell.get();
  QuietThread thread;
  if (bell >= 0)
    thread = QuietThread([task] {
      task->work();
      task->is_done.store(true, std::memory_order_release);  // partner: the acquire below
      // It can only fail when it rings already.
      [[maybe_unused]] const int rung = ::eventfd_write(task->bell.get(), 1);
    });
  if (!thread.joinable()) {  // no room for one: then it is waited for
    task->work();
    return loop.post(std::move(done));
  }
  thread.detach();
  loop.on_readable(bell, [&loop, task, done = std::move(done)] {
    if (!task->is_done.load(std::memory_order_acquire)) return;
    const auto mine = task;  // forgetting destroys this function
    const auto call = done;
    loop.forget(mine->bell.get());
    call();
  });
}

}  // namespace tutti::launch::daemon
