// The end of a host's part of the job: what filters of the ranks still write, then nothing is left.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "daemon/daemon.h"
#include "daemon/processes.h"
#include "daemon/ranks.h"
#include "status/status.h"

namespace tutti::launch::daemon {
namespace {

// The filters of a rank that has ended get a second without a byte, and this long in all.
constexpr std::int64_t kQuiet = 1'000'000'000, kLongestLinger = 5'000'000'000;
constexpr std::chrono::milliseconds kLingerLook{20};

}  // namespace

void Ranks::finish(std::function<void()> done) {
  servers_.close();
  door_.reset();
  finished_ = std::move(done);
  last_byte_ns_ = now_ns();
  lingers_until_ns_ = last_byte_ns_ + kLongestLinger;
  linger();
}

void Ranks::hurry() {
  lingers_until_ns_ = 0;
  linger();
}

// Whether somebody may still write, and has lately. What a slow reader holds back does not count.
bool Ranks::writes_on() const {
  const std::int64_t now = now_ns();
  if (now >= lingers_until_ns_) return false;
  const bool quiet = !hold_ && now >= last_byte_ns_ + kQuiet;
  return std::any_of(ranks_.begin(), ranks_.end(), [quiet](const RankProcess& rank) {
    return (!quiet && (rank.output[0].is_open() || rank.output[1].is_open())) ||
           has_unwritten(rank, 0) || has_unwritten(rank, 1);
  });
}

// A FIFO's reader, or a file's server, has not taken everything.
bool Ranks::has_unwritten(const RankProcess& rank, int stream) {
  return rank.file[stream] && !rank.file[stream]->is_idle();
}

void Ranks::tell_unwritten() {
  for (const RankProcess& rank : ranks_)
    for (const int stream : {0, 1}) {
      if (!has_unwritten(rank, stream)) continue;
      const std::string& pattern = stream == 0 ? launch_.output.out_file : launch_.output.err_file;
      say_(control::Note{std::to_string(rank.file[stream]->waiting()) + " bytes of rank " +
                         std::to_string(rank.part.rank) + " could not be written to " +
                         fill_pattern(pattern, writer_of(rank)) + ": nobody takes it there"});
      say_(control::DaemonFailed{status::of(status::ExitStatus::no_resources), ""});
    }
}

// A program that puts itself into the background (daemon, a double fork) has ended well, as far as
// anybody can tell, and what it was to do dies with the job.
void Ranks::tell_left_behind() {
  if (ending_) return;
  // Executables of ranks that ended so, without a word of MPI; of those that spoke it.
  std::set<std::string> quiet, speaking{""};
  for (const RankProcess& rank : ranks_) {
    const bool speaks = rank.joined || rank.generation > 0;
    if (!speaks && !(rank.program_runs && rank.ended && rank.wait_status == 0)) continue;
    const App& app = apps_.at(static_cast<std::size_t>(rank.part.app));
    (speaks ? speaking : quiet).insert(app.executable);
  }
  for (const std::string& one : speaking) quiet.erase(one);
  if (quiet.empty()) return;
  const std::vector<pid_t> children = children_now();
  const auto left = std::ranges::find_if(children, [&quiet](pid_t pid) {
    const auto one = read_process(pid);
    return one && one->state != 'Z' && quiet.contains(executable_of(pid));
  });
  if (left != children.end())
    say_(control::Note{"process " + std::to_string(*left) + " of " + executable_of(*left) +
                       " outlived its rank, which had ended with status 0 without MPI_Init, and is "
                       "killed with the job; a program must stay in the foreground to be a rank"});
}

void Ranks::linger() {
  if (!finished_) return;
  loop_.cancel(linger_timer_);
  if (writes_on()) {
    linger_timer_ = loop_.after(kLingerLook, [this] { linger(); });
    return;
  }
  tell_left_behind();
  kill_descendants();
  for (RankProcess& rank : ranks_)
    for (const int stream : {0, 1}) {
      read_rest(rank, stream);
      if (rank.file[stream]) rank.file[stream]->finish();
    }
  finishes_files_ = true;
  files_until_ns_ = std::max(lingers_until_ns_, now_ns() + kQuiet);
  finish_files();
}

// Files have as long as the rest had; what a thread is at has a second in any case.
bool Ranks::has_time(const RankProcess& rank, int stream) const {
  if (!has_unwritten(rank, stream)) return false;
  return now_ns() < (rank.file[stream]->is_at_work() ? files_until_ns_ : lingers_until_ns_);
}

void Ranks::finish_files() {
  if (!finished_) return;
  loop_.cancel(linger_timer_);
  if (std::any_of(ranks_.begin(), ranks_.end(), [this](const RankProcess& rank) {
        return has_time(rank, 0) || has_time(rank, 1);
      })) {
    linger_timer_ = loop_.after(kLingerLook, [this] { finish_files(); });
    return;
  }
  tell_unwritten();
  std::exchange(finished_, nullptr)();
}

}  // namespace tutti::launch::daemon
