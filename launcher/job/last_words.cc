// A reader who pauses at the end of a good job is waited for, at the end of a bad one he is not.
#include "job/last_words.h"

#include "control/terminal.h"
#include "status/status.h"

namespace tutti::launch::job {
namespace {

constexpr std::chrono::seconds kLastWords{5};  // of a job that failed, for who takes nothing

}  // namespace

void LastWords::on_written() {
  if (are_said_ && streams_.is_idle()) loop_.stop();
}

void LastWords::say() {
  streams_.show_rest();
  observation_.show_rest();
  are_said_ = true;  // only now: a terminal that is fast is drained between two of these lines
  streams_.close_files();
  on_written();
  // A reader who pauses at the end of a good job (a pager) is waited for, as long as --timeout.
  if (ending_.has_failed() || ending_.signal() != 0) hurry();
}

void LastWords::hurry() {
  if (are_said_) loop_.after(kLastWords, [this] { loop_.stop(); });
}

// After the last write, the one place that knows. Where a reader took nothing until now, nobody
// waits for it again.
void LastWords::tell_loss() {
  bool is_stuck = false;
  const std::string words = streams_.losses(&is_stuck);
  if (words.empty()) return;
  ending_.blemish(status::of(status::ExitStatus::no_resources));
  control::last_words(words, is_stuck ? std::chrono::seconds{0} : kLastWords);
}

}  // namespace tutti::launch::job
