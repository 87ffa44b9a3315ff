// QuietThread: a thread of ours. It takes none of the program's signals, and has a stack that does
// for us and for users' functions that we call, whatever `ulimit -s` leaves to others.
#pragma once

#include <pthread.h>

#include <functional>
#include <utility>

namespace tutti {

class QuietThread {
 public:
  QuietThread() = default;
  // Not joinable when the system has no thread left.
  explicit QuietThread(std::function<void()> body);
  QuietThread(QuietThread&& other) noexcept { *this = std::move(other); }
  QuietThread& operator=(QuietThread&& other) noexcept;
  QuietThread(const QuietThread&) = delete;
  QuietThread& operator=(const QuietThread&) = delete;
  ~QuietThread();  // it was joined or detached

  bool joinable() const { return joinable_; }
  bool is_caller() const { return joinable_ && ::pthread_equal(id_, ::pthread_self()) != 0; }
  void join();
  void detach();

 private:
  pthread_t id_{};
  bool joinable_ = false;
};

}  // namespace tutti
