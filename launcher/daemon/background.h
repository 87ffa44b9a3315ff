// Work that may take long and must not hold up the loop: a child process does it and sends its
// answer back as bytes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "control/control.h"

namespace tutti::launch::daemon {

class Background {
 public:
  explicit Background(control::Loop& loop) : loop_(loop) {}
  ~Background();  // kills what still works
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // `done` gets what `work` returned, or why it did not.
  using Done = std::function<void(const Result<std::string>& answer)>;
  void run(std::function<std::string()> work, std::chrono::milliseconds limit, Done done);

 private:
  struct Work {
    UniqueFd out;
    std::string text;
    control::Loop::TimerId limit = 0;
    Done done;
  };
  void hear(pid_t pid);
  void finish(pid_t pid, const Result<std::string>& answer);

  control::Loop& loop_;
  std::map<pid_t, Work> works_;
};

}  // namespace tutti::launch::daemon
