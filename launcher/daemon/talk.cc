// What ranks say to their daemon, and how their end is told to the head.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "daemon/processes.h"
#include "daemon/ranks.h"
#include "daemon/store.h"
#include "status/status.h"

namespace tutti::launch::daemon {
namespace {
constexpr std::chrono::milliseconds kAddressDelay{10};
constexpr int kMostHeard = 64;  // at once: a rank may speak without end
// More than the kernel keeps of one socket: all that it said before it ended.
constexpr int kMostKept = 4096;
constexpr std::size_t kMostEntered = 16;  // processes of one rank that are heard: the last
}  // namespace

void Ranks::hear_of_exec(RankProcess& rank) {
  if (const int error = rank.exec_error; error != 0) {
    App& app = apps_.at(static_cast<std::size_t>(rank.part.app));
    if (!app.problem.reason.empty()) return report_not_started(rank, app.problem);
    const bool absent = error == ENOENT || error == ENOTDIR;
    const bool room = error == ENOMEM || error == EAGAIN || error == EMFILE || error == ENFILE;
    CannotStart problem;
    problem.status = status::of(room     ? status::ExitStatus::no_resources
                                : absent ? status::ExitStatus::not_found
                                         : status::ExitStatus::not_executable);
    problem.reason = "cannot execute " + app.path + ": " +
                     why_not_executed(full_path(app.directory, app.path), error);
    report_not_started(rank, problem);
    if (!room) app.problem = std::move(problem);  // its other ranks' too; looked at once
    return;
  }
  rank.program_runs = true;
  for (const int number : std::exchange(rank.early_signals, {})) send_signal(rank, number);
  tell_started();
}

// Once every rank runs its program or has been told of as one that cannot.
void Ranks::tell_started() {
  if (++settled_ranks_ != ranks_.size()) return;
  say_(control::Started{});
  has_told_started_ = true;
  for (const control::DaemonFailed& problem : std::exchange(late_problems_, {})) say_(problem);
}

void Ranks::read_all_control(RankProcess& rank) {
  std::vector<int> all{rank.control.get()};
  for (const UniqueFd& one : rank.entered) all.push_back(one.get());
  for (const int fd : all)
    for (int i = 0; fd >= 0 && i < kMostKept && read_control(rank, fd);) ++i;
}

void Ranks::watch_control(RankProcess& rank, int fd) {
  if (words_held_) return loop_.on_readable(fd, nullptr);
  loop_.on_readable(fd, [this, &rank, fd] {
    for (int i = 0; i < kMostHeard && !words_held_ && read_control(rank, fd);) ++i;
  });
}

void Ranks::hold_words(bool hold) {
  if (std::exchange(words_held_, hold) == hold) return;
  for (RankProcess& rank : ranks_) {
    if (rank.control.is_open()) watch_control(rank, rank.control.get());
    for (const UniqueFd& one : rank.entered) watch_control(rank, one.get());
  }
}

// What a rank is given at the door; -1: nothing. The next program's segment only once the one
// before has said that it finalized.
int Ranks::segment_for(int local, wireup::DoorWish wish) {
  RankProcess& rank = ranks_[static_cast<std::size_t>(local)];
  if (rank.ended) return -1;                                        // a child that it left
  if (rank.entered.size() >= kMostEntered) read_all_control(rank);  // some may have ended
  // One at a time speaks MPI; a helper that a program left behind may keep its socket.
  if (rank.entered.size() >= kMostEntered) forget_control(rank, rank.entered.front().get());
  if (wish == wireup::DoorWish::next) {
    read_all_control(rank);
    if (const auto done = rank.finalized ? step_on(rank) : Result<void>{}; !done) {
      say_(control::DaemonFailed{status::of(status::ExitStatus::no_resources), done.error().text});
      return -1;
    }
  }
  return generations_.find(rank.generation)->fd();  // there: it lives
}

// Of programs that every rank here is through with, or has ended before. False: none lives.
bool Ranks::drop_passed() {
  std::optional<std::uint32_t> oldest;
  for (const RankProcess& each : ranks_)
    if (!each.ended) oldest = std::min(oldest.value_or(each.generation), each.generation);
  if (oldest) generations_.drop_below(*oldest);
  return oldest.has_value();
}

Result<void> Ranks::step_on(RankProcess& rank) {
  drop_passed();  // others may have ended since
  TUTTI_DO(generations_.get(rank.generation + 1));
  ++rank.generation;
  if (door_) door_->forget(rank.local);
  rank.joined = rank.finalized = rank.lost_peer = false;
  rank.program = 0;
  rank.said_bytes = 0;
  rank.addresses = rank.aborts = 0;
  rank.watch_seen = rank.calls_seen = rank.calls_told = 0;
  drop_passed();
  return {};
}

// By the door: its daemon hears it from now on, as by the socket that it inherited.
void Ranks::enter(int local, UniqueFd control) {
  RankProcess& rank = ranks_[static_cast<std::size_t>(local)];
  if (rank.ended) return;
  const int fd = control.get();
  rank.entered.push_back(std::move(control));
  watch_control(rank, fd);
}

void Ranks::forget_control(RankProcess& rank, int fd) {
  loop_.forget(fd);
  if (fd == rank.control.get()) return rank.control.reset();
  std::erase_if(rank.entered, [fd](const UniqueFd& one) { return one.get() == fd; });
}

// One message. False: nothing more for now, or for ever.
bool Ranks::read_control(RankProcess& rank, int fd) {
  static thread_local std::array<char, sizeof(wireup::RankMessage) + wireup::kMaxRankPayload>
      buffer;
  pid_t sender = 0;
  const ssize_t got = receive_from(fd, buffer, &sender);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {
    forget_control(rank, fd);
    return false;
  }
  wireup::RankMessage head{};
  if (static_cast<std::size_t>(got) < sizeof head) return true;
  std::memcpy(&head, buffer.data(), sizeof head);
  const std::string_view payload(buffer.data() + sizeof head,
                                 static_cast<std::size_t>(got) - sizeof head);
  if (payload.size() == head.bytes) hear(rank, sender, head, payload);
  return true;
}

// What prun keeps or shows of a rank's own accord has an end. An empty text is a line, too.
bool Ranks::may_say(RankProcess& rank, std::size_t bytes) {
  constexpr std::size_t kMostWords = 1U << 20, kBesides = 64;  // of each text
  const bool had_room = rank.said_bytes <= kMostWords;
  rank.said_bytes += std::min(bytes + kBesides, kMostWords);
  if (rank.said_bytes <= kMostWords) return true;
  if (had_room)
    say_(control::Note{"rank " + std::to_string(rank.part.rank) +
                       " says more than 1 MiB besides its output; the rest of it is not shown"});
  rank.said_bytes = kMostWords + 1;
  return false;
}

// The library says such a thing once or twice; what is beyond is told once.
bool Ranks::may_repeat(RankProcess& rank, int& times, const char* what) {
  constexpr int kMostTimes = 16;
  if (times > kMostTimes || ++times <= kMostTimes) return times <= kMostTimes;
  say_(control::Note{"rank " + std::to_string(rank.part.rank) + " " + what + " more than " +
                     std::to_string(kMostTimes) + " times; the rest is not passed on"});
  return false;
}

void Ranks::abort(RankProcess& rank, int status, std::string_view reason, bool follows) {
  if (!may_repeat(rank, rank.aborts, "says that it aborts")) return;
  for (const int stream : {0, 1}) read_waiting(rank, stream);
  say_(control::RankAborts{rank.part.rank, status,
                           std::string(reason.substr(0, wireup::kMaxRankPayload)), follows});
}

void Ranks::hear(RankProcess& rank, pid_t sender, const wireup::RankMessage& head,
                 std::string_view payload) {
  using wireup::RankSays;
  switch (static_cast<RankSays>(head.says)) {
    case RankSays::joined:
      rank.joined = true;
      rank.finalized = false;  // of an earlier process
      rank.program = sender;
      // From the first one on: where nobody speaks MPI the daemon sleeps.
      if (!std::exchange(any_joined_, true)) watch_for_standstill();
      break;
    case RankSays::finalized:
    case RankSays::resumed:  // of another program than is the rank now it says nothing
      if (rank.program == sender)
        rank.finalized = static_cast<RankSays>(head.says) == RankSays::finalized;
      break;
    case RankSays::lost_peer:
      rank.lost_peer = true;
      break;
    case RankSays::abort:
    case RankSays::abort_after:
      abort(rank, head.value, payload, static_cast<RankSays>(head.says) == RankSays::abort_after);
      break;
    case RankSays::links:
      if (may_say(rank, payload.size())) say_(control::Links{rank.part.rank, std::string(payload)});
      break;
    case RankSays::spent:
    case RankSays::events:
    case RankSays::sent:
    case RankSays::call:
      say_(control::Used{rank.part.rank, static_cast<int>(head.says), std::string(payload)});
      break;
    case RankSays::remark:
      if (may_say(rank, payload.size())) say_(control::Note{std::string(payload)});
      break;
    case RankSays::address:
      if (may_repeat(rank, rank.addresses, "gives its addresses"))
        take_address(rank, payload.substr(0, wireup::kAddressBytes));
      break;
  }
}

void Ranks::take_address(const RankProcess& rank, std::string_view address) {
  if (const wireup::Segment* const segment = generations_.find(rank.generation))
    publish_address(*segment, rank.part.rank, address);
  if (launch_.hosts.size() == 1) return;
  if (pending_.generation != rank.generation) send_addresses();
  pending_.generation = rank.generation;
  pending_.ranks.push_back(rank.part.rank);
  pending_.addresses.emplace_back(address);
  loop_.cancel(address_timer_);
  if (addresses_sent_ + pending_.ranks.size() >= ranks_.size() * (rank.generation + 1))
    return send_addresses();
  address_timer_ = loop_.after(kAddressDelay, [this] { send_addresses(); });
}

void Ranks::send_addresses() {
  if (pending_.ranks.empty()) return;
  addresses_sent_ += pending_.ranks.size();
  say_(pending_);
  pending_ = {};
}

// Where a signal killed it. The record of what a script has started says nothing of the script.
void Ranks::note_place(const RankProcess& rank, control::RankEnded& report) const {
  const wireup::LocalRecord* const own = record_of(rank);
  report.is_placed = own != nullptr && rank.program == rank.pid && !rank.finalized &&
                     WIFSIGNALED(rank.wait_status);
  if (!report.is_placed) return;
  // relaxed: its writer is dead
  report.function = own->watch.function.load(std::memory_order_relaxed);
  report.gpus = own->watch.gpus.load(std::memory_order_relaxed);
}

void Ranks::report_end(RankProcess& rank) {
  if (!rank.program_runs) return;  // reported already
  read_all_control(rank);
  for (const int stream : {0, 1}) read_rest(rank, stream);
  const std::uint32_t finalized = rank.generation + (rank.finalized ? 1 : 0);
  control::RankEnded report;
  note_place(rank, report);
  generations_.ended(rank.part.rank, finalized, any_joined_);
  report.rank = rank.part.rank;
  report.wait_status = rank.wait_status;
  report.joined = rank.joined;
  report.finalized = rank.finalized;
  report.follows = rank.lost_peer;
  report.programs = finalized;
  // Where errors stand just above they need not be said again; other hosts' output is not known.
  const bool in_sight = launch_.hosts.size() == 1 && lines_shown_ < rank.in_sight_until;
  if ((rank.wait_status != 0 || (rank.joined && !rank.finalized)) && !in_sight)
    report.last_lines = rank.tail;
  if (++ended_ == ranks_.size() && any_joined_)
    say_(control::Seen{0, {}, calls_of_ranks(Which::all)});  // before the end that may be the job's
  say_(report);
}

}  // namespace tutti::launch::daemon
