// What the kernel counts, and what it says about the neighbours.
//
// The time that a thread waited for a core is in its schedstat; the cores' time is in /proc/stat
// (by programs, in steps of 10 ms; interrupts and what a hypervisor took are nobody's); a rank's
// own is the clock of its process.
#include "transport/foreign.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <ctime>

#include "base/file.h"
#include "base/text.h"
#include "transport/wake.h"

namespace tutti::transport {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kWindowNs = kSecond / 5;
constexpr std::int64_t kWatchNs = kSecond;         // while others are there
constexpr std::int64_t kLongestNs = 10 * kSecond;  // after looks that found only ourselves
constexpr std::int64_t kLate = 10;                 // the part of the time

// Processor time of a process; -1: it is not there.
std::int64_t time_of(int pid) {
  clockid_t clock = 0;
  timespec used{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return -1;
  return used.tv_sec * kSecond + used.tv_nsec;
}

bool may_meet(const cpu_set_t& own, int pid) {
  cpu_set_t theirs, common;
  if (::sched_getaffinity(pid, sizeof theirs, &theirs) != 0) return false;
  CPU_AND(&common, &own, &theirs);
  return CPU_COUNT(&common) > 0;
}

class LinuxCounters final : public KernelCounters {
 public:
  LinuxCounters(const wireup::Segment& segment, std::uint32_t local)
      : segment_(segment), local_(local) {}

  std::int64_t waited_ns() override {
    const auto words = text::split(file_text("/proc/thread-self/schedstat").value_or(""), ' ');
    const auto waited = words.size() > 1 ? text::parse_int(words[1]) : std::nullopt;
    return waited.value_or(-1);
  }

  std::optional<Use> use() override {
    const wireup::SegmentHeader& header = segment_.header();
    const std::uint64_t space = segment_.local(local_).pid_namespace;
    cpu_set_t own;
    const auto stat = file_text("/proc/stat");
    // Where several hosts of the job are this one machine, their ranks would be taken for
    // strangers.
    if (header.machine_ranks != header.local_ranks || space == 0 || !stat ||
        ::sched_getaffinity(0, sizeof own, &own) != 0)
      return std::nullopt;
    Use use;
    use.busy_ns = busy_ns(*stat, own);
    for (std::uint32_t local = 0; local < header.local_ranks; ++local) {
      wireup::LocalRecord& rank = segment_.local(local);
      if (rank.pid == 0) continue;  // it has not joined
      // relaxed: a rank that joins just now may be seen in the next look only; with SingleCopy().
      if (std::atomic_ref(rank.pid_namespace).load(std::memory_order_relaxed) != space)
        return std::nullopt;
      const std::int64_t time = may_meet(own, rank.pid) ? time_of(rank.pid) : -1;
      if (time < 0) continue;
      use.ours_ns += time;
      ++use.ranks;
    }
    return use;
  }

 private:
  const wireup::Segment& segment_;
  std::uint32_t local_;
};

}  // namespace

std::unique_ptr<KernelCounters> kernel_counters(const wireup::Segment& segment,
                                                std::uint32_t local) {
  return std::make_unique<LinuxCounters>(segment, local);
}

// "cpu3 USER NICE SYSTEM IDLE ...", in ticks.
std::int64_t busy_ns(const std::string& stat, const cpu_set_t& cpus) {
  std::int64_t ticks = 0;
  for (const std::string& line : text::split(stat, '\n')) {
    if (!line.starts_with("cpu")) break;
    const auto words = text::split(line.substr(3), ' ');
    const auto cpu = text::parse_int(words[0]);
    if (!cpu || *cpu < 0 || *cpu >= CPU_SETSIZE || words.size() < 4 ||
        !CPU_ISSET(static_cast<std::size_t>(*cpu), &cpus))
      continue;
    for (int i = 1; i <= 3; ++i)
      ticks += text::parse_int(words[static_cast<std::size_t>(i)]).value_or(0);
  }
  return ticks * (kSecond / ::sysconf(_SC_CLK_TCK));
}

// Strangers are there when they use half of the busy time (below that, a rank that wakes up takes
// its core from one of ours in most cases), and stay there down to a quarter: ranks that do not
// wait any more run longer themselves.
bool ForeignLoad::is_foreign(std::int64_t busy_ns, std::int64_t ours_ns) const {
  return busy_ns > 0 && (busy_ns - ours_ns) * (is_there_ ? 4 : 2) >= busy_ns;
}

void ForeignLoad::look(std::int64_t now_ns) {
  const std::int64_t elapsed = now_ns - at_ns_, waited = counters_->waited_ns();
  const bool late = at_ns_ != 0 && (waited - waited_ns_) * kLate >= elapsed;
  std::optional<KernelCounters::Use> use;
  if (waited >= 0 && (late || is_there_)) use = counters_->use();
  const bool comparable = use && use_ && use->ranks == use_->ranks;
  const bool was_there = is_there_;
  is_there_ = comparable && is_foreign(use->busy_ns - use_->busy_ns, use->ours_ns - use_->ours_ns);
  // Late, and only among ourselves: that may go on for long, and looking is not free.
  window_ns_ = is_there_                  ? kWatchNs
               : comparable && !was_there ? std::min(2 * window_ns_, kLongestNs)
                                          : kWindowNs;
  at_ns_ = now_ns;
  due_ns_ = now_ns + window_ns_;
  waited_ns_ = waited;
  use_ = use;
}

}  // namespace tutti::transport
