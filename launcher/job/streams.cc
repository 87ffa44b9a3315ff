// What passes through prun: ranks' output to the terminal and into files, prun's input to ranks.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "daemon/output.h"
#include "job/head.h"
#include "job/parts.h"
#include "status/status.h"

namespace tutti::launch::job {
namespace {

constexpr std::size_t kHoldBytes = 256U << 10;  // output queued for a slow terminal
constexpr std::size_t kInputRoom = 256U << 10;  // stdin on its way to ranks
constexpr std::chrono::milliseconds kFoldDelay{200};

}  // namespace

// The parts of a long line are shown when all of it is here: other hosts' do not come between.
void Head::handle(int index, const control::Output& output) {
  std::vector<control::Output>& parts = host(index).parts;
  if (output.more) {
    parts.push_back(output);
  } else {
    for (const control::Output& part : std::exchange(parts, {})) show(part);
    show(output);
  }
  host(index).output_owed += output.text.size();
  // Told in few messages, early enough for the host to go on meanwhile.
  if (unwritten() < kHoldBytes) repay(index, control::output_room(hosts_.size()) / 4);
}

// The rest is told when terminal and files have taken all.
void Head::repay(int index, std::uint64_t least) {
  if (host(index).output_owed < least) return;
  send(index, control::OutputTaken{std::exchange(host(index).output_owed, 0)});
}

void Head::show(const control::Output& output) {
  if (output.rank < 0 || at(output.rank) >= flows_.size()) return;
  const Flow flow = flows_[at(output.rank)];
  if ((flow.through_head & output.stream) != 0)
    put_into_file(output, output.stream == 2 ? err_file_ : out_file_);
  if ((flow.through_head & ~flow.to_terminal & output.stream) != 0) return;
  if (fold_) {
    fold_->add(output.rank, output.stream, output.text);
    show_folded(false);
  } else {
    terminal_.write(output.stream, output.text);
  }
}

void Head::put_into_file(const control::Output& output, const std::string& pattern) {
  const int stream = own_stream(pattern);
  if (stream == 1 || stream == 2) return terminal_.write(stream, output.text);
  files_.write(daemon::fill_pattern(pattern, writer_of(output.rank)), output.text);
}

daemon::Writer Head::writer_of(int number) const {
  const plan::PlannedRank& rank = request_.plan.ranks[at(number)];
  return {rank.rank, rank.local_rank, rank.host, name_of(rank.host), job_id_};
}

std::string Head::place_of_output(int rank) const {
  const JobSecrets attempt{job_id_, "", round_.restarts, round_.number};
  return daemon::fill_pattern(output_folder(request_.spec, attempt, hosts_.size()),
                              writer_of(rank));
}

// Before a rank writes: each is emptied, and one that cannot be written is told at once.
void Head::open_files() {
  for (const plan::PlannedRank& rank : request_.plan.ranks)
    for (const int stream : {1, 2}) {
      const int through_head = flows_[at(rank.rank)].through_head;
      const std::string& pattern = stream == 2 ? err_file_ : out_file_;
      const bool merged = stream == 2 && request_.spec.output.merge_stderr;
      if ((through_head & stream) == 0 || own_stream(pattern) != 0 || merged) continue;
      files_.write(daemon::fill_pattern(pattern, writer_of(rank.rank)), "");
    }
}

// Lines wait a moment for their equals.
void Head::show_folded(bool all) {
  for (const Fold::Line& line : fold_->take(all)) terminal_.write(line.stream, line.text);
  if (fold_->empty() || fold_timer_) return;
  fold_timer_ = true;
  loop_.after(kFoldDelay, [this] {
    fold_timer_ = false;
    show_folded(true);
  });
}

// Every round gets all of a file, and of a terminal what is typed now. Of a pipe the rounds before
// have read what they wanted. False: there is nothing to read.
bool Head::rewind_input() {
  if (round_.number == 0 || ::isatty(STDIN_FILENO) != 0) return true;
  if (round_.input_begins >= 0) return ::lseek(STDIN_FILENO, round_.input_begins, SEEK_SET) >= 0;
  terminal_.say("standard input is a pipe and cannot be read again: ranks get what is left of it");
  return true;
}

void Head::feed_input() {
  bool any = false;
  for (const plan::PlannedRank& rank : request_.plan.ranks)
    any = any || takes_stdin(request_.spec, rank.rank);
  if (!any || !rewind_input()) return;
  terminal_.read_input([this](std::string text, bool end) {
    input_sent_ += text.size();
    const control::Input input{std::move(text), end};
    std::vector<bool> told(hosts_.size());
    for (const plan::PlannedRank& rank : request_.plan.ranks) {
      if (!takes_stdin(request_.spec, rank.rank) || told[at(rank.host)]) continue;
      told[at(rank.host)] = true;
      send(rank.host, input);
    }
  });
  terminal_.allow_input(kInputRoom);
}

void Head::handle(int index, const control::InputTaken& taken) {
  host(index).input_taken += taken.bytes;
  host(index).input_closed = taken.closed;
  std::uint64_t least = input_sent_;
  bool any_reads = false;
  for (const plan::PlannedRank& rank : request_.plan.ranks) {
    const Host& its = host(rank.host);
    if (!takes_stdin(request_.spec, rank.rank) || its.left || its.input_closed) continue;
    least = std::min(least, its.input_taken);
    any_reads = true;
  }
  if (!any_reads) return terminal_.stop_input();
  if (least <= input_freed_) return;
  terminal_.allow_input(least - input_freed_);
  input_freed_ = least;
}

}  // namespace tutti::launch::job
