// foreign: whether processes of others run on this rank's cores and make its wake-ups late.
//
// Two things must hold, over the same stretch of time:
//
//   late     the thread was ready to run, but without a core, for a tenth of the time
//   foreign  of the time for which its cores were busy the ranks of this host ran for less than
//   half
//
// Late wake-ups alone prove nothing: where our own ranks outnumber the cores every wake-up is late,
// and one that takes the core from another of ours is no gain.
// Once others are there, lateness is not asked for again (what is done about them mends it).
#pragma once

#include <sched.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "wireup/segment.h"

namespace tutti::transport {

// What the kernel has counted since it started.
class KernelCounters {
 public:
  struct Use {
    std::int64_t busy_ns = 0;  // of the cores that this thread may use, all together
    std::int64_t ours_ns = 0;  // of the ranks that may use one of these cores
    int ranks = 0;             // that were counted
  };
  virtual ~KernelCounters() = default;
  // Of the calling thread, ready without a core; -1: this kernel does not say.
  virtual std::int64_t waited_ns() = 0;
  virtual std::optional<Use> use() = 0;  // nothing: not to be known here
};
std::unique_ptr<KernelCounters> kernel_counters(const wireup::Segment& segment,
                                                std::uint32_t local);
// Time that programs ran on these processors, by the text of /proc/stat.
std::int64_t busy_ns(const std::string& stat, const cpu_set_t& cpus);

class ForeignLoad {
 public:
  explicit ForeignLoad(std::unique_ptr<KernelCounters> counters) : counters_(std::move(counters)) {}
  // Whether others are there, to be asked by a thread that sleeps again and again. Looks at the
  // counters now and then: five times a second while something is wrong, or about to be known.
  bool is_there(std::int64_t now_ns) {
    if (now_ns >= due_ns_) [[unlikely]]
      look(now_ns);
    return is_there_;
  }

 private:
  void look(std::int64_t now_ns);
  bool is_foreign(std::int64_t busy_ns, std::int64_t ours_ns) const;

  std::unique_ptr<KernelCounters> counters_;
  bool is_there_ = false;
  std::int64_t due_ns_ = 0, at_ns_ = 0, window_ns_ = 0, waited_ns_ = 0;
  std::optional<KernelCounters::Use> use_;  // at the last look
};

}  // namespace tutti::transport
