// Writing to standard output and error, and saying what their readers did not take.
#include "daemon/shown.h"

#include <cerrno>
#include <csignal>

#include "status/status.h"

namespace tutti::launch::daemon {
namespace {

constexpr std::chrono::seconds kStuckReader{5};  // for a reader who takes nothing

}  // namespace

Shown::Shown(control::Loop& loop, const Broken& broken, const std::function<void()>& drained)
    : streams_{{loop, 1, [this, broken](int error) { tell(0, error, broken); }},
               {loop, 2, [this, broken](int error) { tell(1, error, broken); }}} {
  for (control::StreamWriter& one : streams_)
    one.on_drained([this, drained] {
      if (queued_bytes() == 0) drained();
    });
}

void Shown::write(int stream, std::string_view text) {
  streams_[stream].write(text);
}

void Shown::say(std::string_view line) {
  write(1, control::own_line(line));
}

void Shown::say_words_of(const control::Message& message) {
  std::string words;
  if (const auto* note = std::get_if<control::Note>(&message)) words = note->text;
  if (const auto* failed = std::get_if<control::DaemonFailed>(&message)) words = failed->reason;
  if (const auto* aborts = std::get_if<control::RankAborts>(&message)) words = aborts->reason;
  if (const auto* ended = std::get_if<control::RankEnded>(&message)) words = ended->reason;
  if (!words.empty()) say(words);
}

void Shown::tell(int stream, int error, const Broken& broken) {
  if (error == EPIPE)
    return broken({status::of_signal(SIGPIPE), "nobody reads its output any more"});
  broken({status::of(status::ExitStatus::no_resources),
          control::words_of(stream + 1, streams_[stream].loss())});
}

int Shown::tell_loss() {
  int status = 0;
  std::string said;
  bool is_stuck = false;
  for (const int stream : {0, 1}) {
    const control::StreamWriter::Loss loss = streams_[stream].loss();
    const std::string words = control::words_of(stream + 1, loss);
    is_stuck = is_stuck || loss.error == EAGAIN;
    if (words.empty()) continue;
    said += control::own_line(words);
    status = status::of(status::ExitStatus::no_resources);
  }
  // Where a reader took nothing until now, nobody waits for it again.
  if (!said.empty()) control::last_words(said, is_stuck ? std::chrono::seconds{0} : kStuckReader);
  return status;
}

}  // namespace tutti::launch::daemon
