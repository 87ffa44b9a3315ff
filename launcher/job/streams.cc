#include "job/streams.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "job/parts.h"

namespace tutti::launch::job {
namespace {

constexpr std::size_t kHoldBytes = 256U << 10;  // output queued for a slow terminal
constexpr std::size_t kInputRoom = 256U << 10;  // stdin on its way to ranks
constexpr std::chrono::milliseconds kFoldDelay{200};

}  // namespace

Streams::Streams(control::Loop& loop, const Round& round, Calls calls)
    : loop_(loop),
      round_(round),
      request_(round.request),
      calls_(std::move(calls)),
      terminal_(loop, [this](int, int error) { calls_.broke(error); }),
      files_(
          loop, round.number > 0, [this](int error) { calls_.broke(error); },
          [this] { on_written(); }),
      hosts_(request_.plan.hosts.size()),
      flows_(request_.plan.ranks.size()) {
  terminal_.on_drained([this] { on_written(); });
  if (request_.spec.output.fold) fold_ = std::make_unique<LineFolder>(flows_.size());
}

void Streams::direct(const control::Launch& launch) {
  job_id_ = launch.job_id;
  out_file_ = launch.output.out_file, err_file_ = launch.output.err_file;
  for (const control::RankPart& rank : launch.ranks)
    flows_.at(at(rank.rank)) = {rank.through_head, rank.to_terminal};
}

void Streams::host_left(int host) {
  hosts_.at(at(host)).reads_no_more = true;
  show_parts(hosts_.at(at(host)).parts);
}

// When everything is written that hosts sent, each is told how much more it may send.
void Streams::on_written() {
  if (unwritten() > 0) return;
  for (std::size_t i = 0; i < hosts_.size(); ++i) repay(static_cast<int>(i), 1);
  calls_.written();
}

void Streams::show_rest() {
  if (fold_) show_folded(true);
}

std::string Streams::losses(bool* is_stuck) {
  std::string words;
  for (const int stream : {1, 2}) {
    const control::StreamWriter::Loss loss = terminal_.loss(stream);
    const std::string line = control::words_of(stream, loss);
    if (!line.empty()) words += control::own_line(line);
    *is_stuck = *is_stuck || loss.error == EAGAIN;
  }
  for (const std::string& line : files_.losses()) words += control::own_line(line);
  return words;
}

// The parts of a long line are shown when all of it is here: other hosts' do not come between.
void Streams::take(int index, const control::Output& output) {
  std::vector<control::Output>& parts = hosts_.at(at(index)).parts;
  if (output.more) {
    parts.push_back(output);
  } else {
    show_parts(parts);
    show(output);
  }
  hosts_.at(at(index)).output_owed += output.text.size();
  // Told in few messages, early enough for the host to go on meanwhile.
  if (unwritten() < kHoldBytes) repay(index, control::output_room(hosts_.size()) / 4);
}

// Each leaves when it is shown: a terminal that is slow copies it.
void Streams::show_parts(std::vector<control::Output>& parts) {
  for (control::Output& part : std::exchange(parts, {})) show(std::exchange(part, {}));
}

// The rest is told when terminal and files have taken all.
void Streams::repay(int index, std::uint64_t least) {
  if (hosts_.at(at(index)).output_owed < least) return;
  calls_.send(index, control::OutputTaken{std::exchange(hosts_.at(at(index)).output_owed, 0)});
}

void Streams::show(const control::Output& output) {
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

void Streams::put_into_file(const control::Output& output, const std::string& pattern) {
  const int stream = own_stream(pattern);
  if (stream == 1 || stream == 2) return terminal_.write(stream, output.text);
  files_.write(daemon::fill_pattern(pattern, writer_of(output.rank)), output.text);
}

daemon::OutputOwner Streams::writer_of(int number) const {
  const plan::PlannedRank& rank = request_.plan.ranks[at(number)];
  return {rank.rank, rank.local_rank, rank.host, request_.plan.hosts.at(at(rank.host)).name,
          job_id_};
}

std::string Streams::place_of(int rank) const {
  const JobSecrets attempt{job_id_, "", round_.restarts, round_.number};
  return daemon::fill_pattern(output_folder(request_.spec, attempt, hosts_.size()),
                              writer_of(rank));
}

// Before a rank writes: each is emptied, and one that cannot be written is told at once.
void Streams::open_files() {
  for (const plan::PlannedRank& rank : request_.plan.ranks)
    for (const int stream : {1, 2}) {
      const int through_head = flows_[at(rank.rank)].through_head;
      const std::string& pattern = stream == 2 ? err_file_ : out_file_;
      const bool merged = stream == 2 && request_.spec.output.merge_stderr;
      if ((through_head & stream) == 0 || own_stream(pattern) != 0 || merged) continue;
      files_.write(daemon::fill_pattern(pattern, writer_of(rank.rank)), "");
    }
}

// Lines are held back for a moment, so that equal ones of several ranks are shown as one.
void Streams::show_folded(bool all) {
  for (const LineFolder::Line& line : fold_->take(all)) terminal_.write(line.stream, line.text);
  if (fold_->empty() || fold_timer_) return;
  fold_timer_ = true;
  loop_.after(kFoldDelay, [this] {
    fold_timer_ = false;
    show_folded(true);
  });
}

// Every round gets all of a file, and of a terminal what is typed now. Of a pipe the rounds before
// have read what they wanted. False: there is nothing to read.
bool Streams::rewind_input() {
  if (round_.number == 0 || ::isatty(STDIN_FILENO) != 0) return true;
  if (round_.input_begins >= 0) return ::lseek(STDIN_FILENO, round_.input_begins, SEEK_SET) >= 0;
  terminal_.say("standard input is a pipe and cannot be read again: ranks get what is left of it");
  return true;
}

void Streams::feed_input() {
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
      calls_.send(rank.host, input);
    }
  });
  terminal_.allow_input(kInputRoom);
}

void Streams::take(int index, const control::InputTaken& taken) {
  Host& taker = hosts_.at(at(index));
  taker.input_taken += taken.bytes;
  taker.reads_no_more = taker.reads_no_more || taken.closed;
  std::uint64_t least = input_sent_;
  bool any_reads = false;
  for (const plan::PlannedRank& rank : request_.plan.ranks) {
    const Host& its = hosts_.at(at(rank.host));
    if (!takes_stdin(request_.spec, rank.rank) || its.reads_no_more) continue;
    least = std::min(least, its.input_taken);
    any_reads = true;
  }
  if (!any_reads) return terminal_.stop_input();
  if (least <= input_freed_) return;
  terminal_.allow_input(least - input_freed_);
  input_freed_ = least;
}

}  // namespace tutti::launch::job
