// The end of a round: the last words, and what nobody took of those before.
#include <cerrno>
#include <csignal>

#include "job/head.h"
#include "status/status.h"

namespace tutti::launch::job {
namespace {

constexpr std::chrono::seconds kLastWords{5};  // of a job that failed, for who takes nothing

}  // namespace

// A reader that has seen enough (head, less) ends the job without a word. Of all else tell_loss
// speaks, when it is known how much was lost.
void Head::stream_broke(int error) {
  fail(error == EPIPE ? status::of_signal(SIGPIPE) : status::of(status::ExitStatus::no_resources),
       "");
}

void Head::on_written() {
  if (is_finished_ && streams_.is_idle()) loop_.stop();
}

void Head::finish() {
  streams_.show_rest();
  observation_.show_rest();
  is_finished_ = true;  // only now: a terminal that is fast is drained between two of these lines
  streams_.close_files();
  on_written();
  // A reader who pauses at the end of a good job (a pager) is waited for, as long as --timeout.
  if (ending_.has_failed() || ending_.signal() != 0) limit_last_words();
}

void Head::limit_last_words() {
  loop_.after(kLastWords, [this] { loop_.stop(); });
}

// After the last write, the one place that knows: what standard output and error and files did not
// take. Where a reader took nothing until now, nobody waits for it again.
void Head::tell_loss() {
  bool is_stuck = false;
  const std::string words = streams_.losses(&is_stuck);
  if (words.empty()) return;
  ending_.blemish(status::of(status::ExitStatus::no_resources));
  control::last_words(words, is_stuck ? std::chrono::seconds{0} : kLastWords);
}

}  // namespace tutti::launch::job
