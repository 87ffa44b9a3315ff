// The thread is given everything that waits to be written; when it has written that, what came
// meanwhile.
#include "daemon/rank_file.h"

#include <cerrno>
#include <utility>

#include "base/file.h"
#include "daemon/aside.h"

namespace tutti::launch::daemon {

struct RankFile::Work {
  UniqueFd fd;
  std::string text;  // after the work: what was not written
  bool closes = false;
  int error = 0;

  void run() {
    const std::string_view rest = write_most(fd.get(), text);
    error = rest.empty() ? 0 : errno;
    text.erase(0, text.size() - rest.size());
    if (error == 0 && closes) error = error_of_closing(fd.get());
  }
};

RankFile::RankFile(control::Loop& loop, OpenedFile file, std::function<void(int)> settled)
    : loop_(loop), settled_(std::move(settled)) {
  if (!file.is_plain) {
    pipe_ = std::move(file.fd);
    return;
  }
  work_ = std::make_shared<Work>();
  work_->fd = std::move(file.fd);
}

RankFile::~RankFile() {
  *alive_ = false;
  if (pipe_.is_open()) loop_.forget(pipe_.get());
}

void RankFile::write(std::string_view text) {
  waiting_.append(text);
  if (work_)
    write_by_thread();
  else
    write_pipe();
}

void RankFile::finish() {
  closes_ = true;
  if (work_) write_by_thread();
}

void RankFile::write_by_thread() {
  if (std::exchange(busy_, true)) return;
  work_->text = std::exchange(waiting_, {});
  work_->closes = std::exchange(closes_, false);
  in_flight_ = work_->text.size();
  aside(
      loop_, [work = work_] { work->run(); },
      [this, alive = alive_] {
        if (*alive) take_back();
      });
}

void RankFile::take_back() {
  busy_ = false;
  in_flight_ = 0;
  const auto settled = settled_;  // it may destroy us
  if (work_->error != 0) {
    waiting_.insert(0, work_->text);
    return settled(work_->error);
  }
  if (!waiting_.empty() || closes_) return write_by_thread();
  settled(0);
}

void RankFile::write_pipe() {
  const std::string_view rest = write_most(pipe_.get(), waiting_);
  const int error = rest.empty() ? 0 : errno;
  waiting_.erase(0, waiting_.size() - rest.size());
  const auto settled = settled_;
  if (error != 0 && error != EAGAIN) return settled(error);
  if (error == EAGAIN) return loop_.on_writable(pipe_.get(), [this] { write_pipe(); });
  loop_.forget(pipe_.get());
  settled(0);
}

}  // namespace tutti::launch::daemon
