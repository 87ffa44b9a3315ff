// Looking at ranks from outside: their watch records, and their stacks by a debugger's help.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/environment.h"
#include "base/file.h"
#include "base/text.h"
#include "daemon/processes.h"
#include "daemon/ranks.h"
#include "watch/calls.h"

namespace tutti::launch::daemon {
namespace {

constexpr std::chrono::seconds kStackLimit{20};
constexpr std::chrono::milliseconds kStandstill{500};
constexpr std::chrono::milliseconds kDiskDelay{200};  // most disks answer in less
constexpr std::size_t kMostStack = 250U << 10;        // with what is said besides, prun takes 256

// Where a tool is in PATH; empty: not there.
std::string find_tool(const std::string& name, const std::string& path_variable) {
  for (const std::string& path : places_of_program(name, path_variable))
    if (::access(path.c_str(), X_OK) == 0) return path;
  return {};
}

pid_t start_tool(const std::vector<std::string>& words, UniqueFd* out) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
  const std::vector<char*> argv = pointers_to(words);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const int nothing = ::open("/dev/null", O_RDWR);
    ::dup2(nothing, 0);
    ::dup2(ends[1], 1);
    ::dup2(ends[1], 2);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  out->reset(ends[0]);
  return pid;
}

// Its MPI program ended inside MPI, and what started that one goes on. (Not seen where another
// process has the number by now.)
bool is_outlived(const RankProcess& rank) {
  return !rank.ended && !rank.finalized && rank.program != 0 && is_dead(rank.program);
}

// It has begun no collective since the last look, and what it began is not known yet.
bool stands(RankProcess& rank, std::uint64_t begun) {
  return std::exchange(rank.calls_seen, begun) == begun && begun != rank.calls_told;
}

// The words of a tool that is installed; none.
std::vector<std::string> tool_for(const std::string& pid, const std::string& path_variable) {
  if (const std::string tool = find_tool("eu-stack", path_variable); !tool.empty())
    return {tool, "-m", "-n", "24", "-p", pid};
  if (const std::string tool = find_tool("gdb", path_variable); !tool.empty())
    return {tool, "-batch", "-nx", "-ex", "thread apply all bt 24", "-p", pid};
  return {};
}

}  // namespace

// A tool's output, read in the background. The tool is our child: until it is reaped nobody else
// has its number.
struct Ranks::Reading {
  RankProcess& rank;
  pid_t program = 0;         // that it looks at
  bool was_stopped = false;  // before
  UniqueFd out{};
  pid_t tool = 0;  // 0: reaped
  bool was_killed = false;
  std::string text{};
  bool is_cut = false;
  control::Loop::TimerId limit = 0;
};

// The process that speaks MPI: what was started, or what that has started (a script, a tool).
pid_t Ranks::program_of(const RankProcess& rank) {
  return rank.program != 0 && descends(rank.program, rank.pid) ? rank.program : rank.pid;
}

// While a debugger of ours reads its stack, it is in what it was in before.
int Ranks::state_of(RankProcess& rank) {
  if (rank.ended || rank.pid <= 0) return 0;
  if (is_outlived(rank)) return 'X';
  const auto process = rank.readers == 0 ? read_process(program_of(rank)) : std::nullopt;
  if (process) rank.state_seen = is_dead(*process) ? 'X' : process->state;
  return rank.state_seen;
}

std::vector<control::SeenRank> Ranks::places() {
  std::vector<control::SeenRank> all;
  for (RankProcess& rank : ranks_) {
    control::SeenRank& one = all.emplace_back();
    one.rank = rank.part.rank;
    one.pid = program_of(rank);
    one.state = state_of(rank);
    one.joined = rank.joined;
    one.ended = rank.ended || rank.finalized;
    const wireup::LocalRecord* const own = record_of(rank);
    if (own == nullptr) continue;
    const auto& record = own->watch;
    // relaxed: a sample; the rank's stores are relaxed, too (watch.h).
    one.function = record.function.load(std::memory_order_relaxed);
    one.calls = record.calls.load(std::memory_order_relaxed);
    one.detailed = record.detailed == one.calls;
    one.context = record.context;
    one.peer = record.peer;
    one.tag = record.tag;
    one.bytes = record.bytes;
    one.sequence = record.sequence;
    const auto& kept = own->kept;
    one.kept_messages = kept.messages.load(std::memory_order_relaxed);
    one.kept_bytes = kept.bytes.load(std::memory_order_relaxed);
    one.kept_waiting = kept.waiting.load(std::memory_order_relaxed);
    one.asked = record.asked.load(std::memory_order_relaxed);
  }
  return all;
}

void Ranks::look(const control::Look& look) {
  say_(control::Seen{look.number, places(),
                     calls_of_ranks(look.all_calls ? Which::all : Which::standing)});
  for (const int rank : look.stacks)
    if (RankProcess* one = rank_numbered(rank); one != nullptr) look_for_stack(*one);
}

// Ranks that wait in MPI are told without being asked, so that prun need not ask often: calls that
// do not match are known in a second. Reads a line of each rank; a job that moves says nothing.
void Ranks::watch_for_standstill() {
  loop_.after(kStandstill, [this] {
    if (ending_ || ended_ == ranks_.size()) return;
    if (auto calls = calls_of_ranks(Which::waiting); !calls.empty())
      say_(control::Seen{0, places(), std::move(calls)});
    watch_for_standstill();
  });
}

// In MPI, and in the same call as when it was asked last; or through with it.
bool Ranks::waits_in_mpi(RankProcess& rank, const wireup::WatchRecord& record) {
  // relaxed: a sample; the rank's stores are relaxed, too (watch.h).
  const std::uint64_t calls = record.calls.load(std::memory_order_relaxed);
  const bool inside = record.function.load(std::memory_order_relaxed) != 0;
  return (std::exchange(rank.watch_seen, calls) == calls && inside) || rank.finalized;
}

// The collectives that ranks began last: once from each that has begun no other since the last
// look, since only who stands still has time to be compared.
std::vector<control::SeenCall> Ranks::calls_of_ranks(Which which) {
  std::map<std::string_view, std::size_t> known;  // bytes of a record -> index
  std::deque<wireup::CallRecord> records;         // what the keys are of
  std::vector<control::SeenCall> calls;
  for (RankProcess& rank : ranks_) {
    const wireup::LocalRecord* const record = record_of(rank);
    if (record == nullptr) continue;
    const auto& recent = record->recent;
    const std::uint64_t begun = watch::calls_begun(recent);
    if (which == Which::waiting ? !waits_in_mpi(rank, record->watch) || begun == rank.calls_told
                                : which == Which::standing && !stands(rank, begun))
      continue;
    rank.calls_told = begun;
    for (const wireup::CallRecord& call : watch::recent_calls(recent)) {
      records.push_back(call);
      const std::string_view key(reinterpret_cast<const char*>(&records.back()), sizeof call);
      const auto [at, fresh] = known.try_emplace(key, calls.size());
      if (fresh)
        calls.push_back({call.birth,
                         call.number,
                         call.others,
                         call.bytes,
                         call.first,
                         call.root,
                         call.context,
                         call.fingerprint,
                         call.terms,
                         call.history,
                         call.function,
                         call.flags,
                         {}});
      calls[at->second].ranks.push_back(rank.part.rank);
    }
  }
  return calls;
}

// A thread may wait for a disk for a moment.
void Ranks::look_for_stack(RankProcess& rank) {
  if (rank.ended || !is_deaf(program_of(rank))) return take_stack(rank);
  loop_.after(kDiskDelay, [this, &rank] { take_stack(rank); });
}

void Ranks::take_stack(RankProcess& rank) {
  const auto say = [this, &rank](const char* why) { say_(control::Stack{rank.part.rank, why}); };
  if (rank.ended) return say("it has ended");
  const pid_t program = program_of(rank);
  const int state = state_of(rank);
  if (state == 'X') return say("its MPI program has died");
  if (state == 't') return say("the debugger that has stopped it shows its stack");
  // A debugger would wait for it as long, and leave it stopped if it is killed.
  if (is_deaf(program)) return say("it is in the kernel, and cannot be stopped (state D)");
  const auto words = tool_for(std::to_string(program), value_in(place_.environment, "PATH"));
  if (words.empty()) return say("no eu-stack (elfutils) and no gdb on its host");
  auto reading = std::make_shared<Reading>(Reading{rank, program, state == 'T'});
  reading->tool = start_tool(words, &reading->out);
  if (reading->tool < 0) return say("its host has no room for another process");
  readings_.push_back(reading);
  watch_tool(reading);
}

void Ranks::watch_tool(const std::shared_ptr<Reading>& reading) {
  ++reading->rank.readers;
  const int fd = reading->out.get();
  const auto finish = [this, reading, fd] {
    --reading->rank.readers;
    loop_.cancel(reading->limit);
    loop_.forget(fd);
    reading->out.reset();
    if (reading->is_cut)
      reading->text += "\n(the tool says more than " + text::format_bytes(kMostStack) +
                       "; the rest is left out)";
    say_(control::Stack{reading->rank.part.rank, reading->text});
  };
  reading->limit = loop_.after(kStackLimit, [reading, finish] {
    reading->was_killed = reading->tool > 0 && ::kill(reading->tool, SIGKILL) == 0;
    reading->text += "\n(the tool did not end within 20 s)";
    finish();
  });
  loop_.on_readable(fd, [reading, finish, fd] {
    char buffer[8192];
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    const std::size_t room = kMostStack - std::min(kMostStack, reading->text.size());
    if (got > 0) reading->text.append(buffer, std::min(room, static_cast<std::size_t>(got)));
    reading->is_cut = reading->is_cut || got > static_cast<ssize_t>(room);
    if (got <= 0) finish();
  });
}

// A debugger stops what it looks at by SIGSTOP, which outlives it where it had to be killed: the
// rank would stand still for ever.
void Ranks::tool_ended(pid_t pid) {
  const auto found = std::find_if(readings_.begin(), readings_.end(),
                                  [pid](const auto& one) { return one->tool == pid; });
  if (found == readings_.end()) return;
  const std::shared_ptr<Reading> reading = *found;
  readings_.erase(found);
  reading->tool = 0;
  const RankProcess& rank = reading->rank;
  if (reading->was_killed && !reading->was_stopped && !rank.ended &&
      program_of(rank) == reading->program)
    ::kill(reading->program, SIGCONT);
}

}  // namespace tutti::launch::daemon
