// The desk at which other pruns ask about this job (--ps, --stacks, --gdb): a socket that only
// this user, and root, may ask at. Its name has no file, so nothing can stay behind.
//
//   one line in: "ps", "stacks" or "gdb RANK"          text out, then the end
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "control/control.h"

namespace tutti::launch::job {

class Desk {
 public:
  using Reply = std::function<void(std::string text)>;  // once; the asker may be gone by then
  using Answer = std::function<void(const std::string& question, Reply reply)>;

  explicit Desk(control::Loop& loop) : loop_(loop) {}
  ~Desk();
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  // Without it nobody can ask, and the job does not suffer: the error says why.
  Result<void> open(Answer answer);

 private:
  struct Asker {
    UniqueFd fd;
    control::Loop::TimerId limit = 0;
    std::string heard, text;
    bool has_asked = false;
    std::size_t written = 0;
  };
  void enter(UniqueFd fd);
  bool make_room();
  void hear(std::uint64_t number);
  void write_some(std::uint64_t number);
  void drop(std::uint64_t number);

  control::Loop& loop_;
  UniqueFd fd_;
  control::Listener door_{loop_};
  Answer answer_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Asker> askers_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tutti::launch::job
