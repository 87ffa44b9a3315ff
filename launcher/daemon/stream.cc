// What ranks write and read: forwarded in whole lines, held back when the head is slow.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "daemon/pty.h"
#include "daemon/ranks.h"
#include "status/status.h"

namespace tutti::launch::daemon {
namespace {

constexpr std::chrono::milliseconds kPieceDelay{100};
constexpr int kMostReads =
    16;  // at once, as much as a pipe may hold: somebody may write without end
constexpr std::size_t kTailBytes = 2048;     // kept of what a rank wrote, to be shown if it fails
constexpr std::uint64_t kLinesInSight = 10;  // after so many one looks for what came before

}  // namespace

OutputOwner Ranks::writer_of(const RankProcess& rank) const {
  return {rank.part.rank, rank.local, place_.host,
          launch_.hosts.at(static_cast<std::size_t>(place_.host)), launch_.job_id};
}

// The program's words, where they are not the same for each of its ranks; else none.
std::vector<std::string> Ranks::own_words(const control::AppPart& part,
                                          const RankProcess& rank) const {
  std::vector<std::string> words;
  if (part.local_rank_at > 0) {
    words = part.argv;
    const auto at = static_cast<std::size_t>(part.local_rank_at);
    if (at < words.size()) words[at] += std::to_string(rank.local);
  }
  if (part.fills_words) {
    OutputOwner writer = writer_of(rank);
    writer.offset = part.first_offset + rank.part.rank - part.first_rank;
    for (const std::string& word : part.argv) words.push_back(fill_pattern(word, writer));
  }
  return words;
}

void Ranks::watch_output(RankProcess& rank, int stream) {
  if (!rank.output[stream].is_open()) return;
  const int fd = rank.output[stream].get();
  if (hold_ || (rank.file[stream] && rank.file[stream]->is_full()))
    loop_.on_readable(fd, nullptr);
  else
    // Two words: a function object keeps that much without a piece of the heap.
    loop_.on_readable(fd, [this, which = 2 * rank.local + stream] {
      read_output(ranks_[static_cast<std::size_t>(which / 2)], which % 2);
    });
}

LineCutter& Ranks::lines_of(RankProcess& rank, int stream) {
  auto& lines = rank.lines[stream];
  if (!lines) lines = std::make_unique<LineCutter>(launch_.output, writer_of(rank), stream + 1);
  return *lines;
}

// What stands there without a line end.
void Ranks::show_rest(RankProcess& rank, int stream) {
  if (rank.lines[stream]) show(rank, stream, rank.lines[stream]->flush());
}

// What is there now.
void Ranks::read_waiting(RankProcess& rank, int stream) {
  for (int i = 0; i < kMostReads && read_output(rank, stream);) ++i;
}

// The same, and what stands there without a line end.
void Ranks::read_rest(RankProcess& rank, int stream) {
  read_waiting(rank, stream);
  show_rest(rank, stream);
}

// One piece. False: nothing more for now, or for ever.
bool Ranks::read_output(RankProcess& rank, int stream) {
  if (!rank.output[stream].is_open()) return false;
  static thread_local std::array<char, 64U << 10> buffer;
  const ssize_t got = ::read(rank.output[stream].get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {
    loop_.forget(rank.output[stream].get());
    rank.output[stream].reset();
    show_rest(rank, stream);
    return false;
  }
  rank.last_byte_ns = last_byte_ns_ = now_ns();
  if (rank.part.on_pty) {  // as it comes: an echo is no line
    show(rank, stream, {std::string(buffer.data(), static_cast<std::size_t>(got))});
    return true;
  }
  LineCutter& lines = lines_of(rank, stream);
  show(rank, stream, lines.feed({buffer.data(), static_cast<std::size_t>(got)}));
  // Not where lines are collected: half a line would count as one.
  if (may_ask(rank, stream) && !lines.tags() && !launch_.output.collected && lines.holds_a_piece())
    show_piece_soon();
  return true;
}

// What only goes into a file of several ranks asks nobody: whole lines go there.
bool Ranks::may_ask(const RankProcess& rank, int stream) {
  return rank.part.takes_stdin && (rank.part.in_shared_file & (1 << stream)) == 0;
}

// A prompt has no line end: who is asked for input must see the question. It is one when it has
// stood for a moment, with nothing more to be read.
void Ranks::show_piece_soon() {
  if (piece_timer_) return;
  piece_timer_ = true;
  loop_.after(kPieceDelay, [this] {
    piece_timer_ = false;
    const std::int64_t stood = now_ns() - std::chrono::nanoseconds(kPieceDelay).count();
    for (RankProcess& rank : ranks_)
      for (const int stream : {0, 1}) {
        if (!may_ask(rank, stream) || !rank.lines[stream]) continue;
        if (!hold_ && rank.last_byte_ns <= stood)
          show_rest(rank, stream);
        else if (rank.lines[stream]->holds_a_piece())
          show_piece_soon();
      }
  });
}

// Lines are shown whole, in however many parts they come.
void Ranks::show(RankProcess& rank, int stream, Parts&& parts) {
  // Who folds equal lines compares whole ones.
  if (launch_.output.collected && parts.size() > 1) {
    std::string whole;
    for (const std::string& part : parts) whole += part;
    parts = {std::move(whole)};
  }
  for (std::size_t i = 0; i < parts.size(); ++i)
    show_part(rank, stream, std::move(parts[i]), i + 1 < parts.size());
}

void Ranks::show_part(RankProcess& rank, int stream, std::string&& text, bool more) {
  if (text.size() >= kTailBytes)
    rank.tail = text.substr(text.size() - kTailBytes);
  else
    rank.tail.append(text);
  if (rank.tail.size() > 2 * kTailBytes) rank.tail.erase(0, rank.tail.size() - kTailBytes);
  const bool shown = ((rank.part.to_terminal | rank.part.through_head) & (1 << stream)) != 0;
  if (shown) lines_shown_ += static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
  const bool is_error = stream == 1 && (rank.part.to_terminal & 2) != 0;
  rank.in_sight_until = is_error && !launch_.output.collected ? lines_shown_ + kLinesInSight : 0;
  if (shown) show_here_or_there(rank, stream, std::string(text), more);
  if (!rank.file[stream]) return;
  rank.file[stream]->write(text);
  // Its reader, or its server, is slow: this stream is not read until it has taken what waits.
  if (rank.file[stream] && rank.file[stream]->is_full()) watch_output(rank, stream);
}

void Ranks::on_file(RankProcess& rank, int stream, int error) {
  if (error != 0) file_failed(rank, stream, error);
  if (finishes_files_)
    finish_files();
  else if (error == 0)
    watch_output(rank, stream);
}

// A full disk ends the job with a reason; the text is not lost, it goes to the terminal.
void Ranks::file_failed(RankProcess& rank, int stream, int error) {
  const auto file = std::move(rank.file[stream]);
  const bool shown = ((rank.part.to_terminal | rank.part.through_head) & (1 << stream)) != 0;
  rank.part.to_terminal = 3;
  if (!shown) show_here_or_there(rank, stream, file->take_rest(), false);
  control::DaemonFailed problem;
  problem.status = status::of(status::ExitStatus::no_resources);
  const control::OutputPart& asked = launch_.output;
  problem.reason = "cannot write the output of rank " + std::to_string(rank.part.rank) + " to " +
                   fill_pattern(stream == 0 ? asked.out_file : asked.err_file, writer_of(rank)) +
                   ": " + std::strerror(error) +
                   (error == EFBIG ? "; raise the limit of file sizes (ulimit -f)"
                                   : "; make room there, or name another folder") +
                   "; the rest is shown instead";
  // A job that ends well hears no reasons any more, but notes; one that ended by a file that failed
  // has heard it.
  const bool told = std::exchange(told_failed_file_, true);
  if (finished_ && !told) say_(control::Note{problem.reason});
  if (finished_) problem.reason.clear();
  if (!has_told_started_) return late_problems_.push_back(std::move(problem));
  say_(problem);
}

// A file that takes no more is the head's to explain: it gets the rest.
void Ranks::show_here_or_there(const RankProcess& rank, int stream, std::string&& text, bool more) {
  if (place_.show) return place_.show(stream, text);
  int& file = place_.files[stream];
  const bool is_heads = (rank.part.through_head & (stream == 0 ? 1 : 2)) != 0;
  if (file >= 0 && !is_heads && !launch_.output.collected) {
    const std::string_view rest = write_most(file, text);
    if (rest.empty()) return;
    file = -1;
    text.erase(0, text.size() - rest.size());
  }
  say_(control::Output{rank.part.rank, stream + 1, std::move(text), more});
}

void Ranks::hold_output(bool hold) {
  if (hold == hold_) return;
  hold_ = hold;
  for (RankProcess& rank : ranks_)
    for (const int stream : {0, 1}) watch_output(rank, stream);
}

void Ranks::resize(const control::Window& size) {
  launch_.window = size;  // of those that are still to be started
  for (const RankProcess& rank : ranks_)
    if (rank.part.on_pty && rank.output[0].is_open()) resize_pty(rank.output[0].get(), size);
}

void Ranks::input(const control::Input& input) {
  input_ += input.text;
  input_ended_ = input_ended_ || input.end;
  write_input();
}

// Every taker reads the same bytes at its own pace; what all have read is dropped and told.
void Ranks::write_input() {
  if (!ranks_run_) return;  // their servers get ready first; the input waits here
  std::size_t least = input_.size();
  bool closed = true;
  for (RankProcess& rank : ranks_) {
    const auto offset = input_offsets_.find(rank.local);
    if (offset == input_offsets_.end()) continue;
    offset->second = write_input_to(rank, offset->second);
    if (rank.input.is_open()) least = std::min(least, offset->second);
    closed = closed && !rank.input.is_open();
  }
  if (least > 0 || (closed && !std::exchange(told_input_closed_, true))) {
    say_(control::InputTaken{least, closed});
    input_.erase(0, least);
    for (auto& [local, offset] : input_offsets_) offset -= std::min(offset, least);
  }
}

std::size_t Ranks::write_input_to(RankProcess& rank, std::size_t offset) {
  const int fd = rank.input.get();
  while (rank.input.is_open() && offset < input_.size()) {
    const ssize_t put = ::write(fd, input_.data() + offset, input_.size() - offset);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) {
      loop_.on_writable(fd, [this] { write_input(); });
      return offset;
    }
    if (put < 0) {  // it does not read any more
      loop_.forget(fd);
      rank.input.reset();
      return input_.size();
    }
    offset += static_cast<std::size_t>(put);
  }
  if (!rank.input.is_open()) return input_.size();
  loop_.on_writable(fd, nullptr);
  // A terminal is not closed at the end, which is typed: once after whole lines, twice after a
  // part.
  constexpr std::string_view kEnds = "\4\4";
  if (input_ended_ && rank.part.on_pty && ::write(fd, kEnds.data(), kEnds.size()) < 0 &&
      errno == EAGAIN) {
    loop_.on_writable(fd, [this] { write_input(); });
    return offset;
  }
  if (input_ended_) {
    loop_.forget(fd);
    rank.input.reset();
  }
  return offset;
}

}  // namespace tutti::launch::daemon
