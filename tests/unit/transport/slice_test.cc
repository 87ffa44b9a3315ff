// The short time slice of sleepers: when others are believed to run here, what is asked of the
// kernel, and what is left as it was.
#include "transport/slice.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "catch.h"
#include "transport/foreign.h"

using namespace tutti::transport;

namespace {

constexpr std::int64_t kMs = 1'000'000;

// Of each 200 ms, in ms.
struct Pace {
  std::int64_t waited = 0, busy = 0, ours = 0;
};
struct Totals {
  std::int64_t waited_ns = 0;
  KernelCounters::Use use{0, 0, 4};
  int looks = 0;  // at the use
};
class Scripted final : public KernelCounters {
 public:
  explicit Scripted(Totals& totals) : totals_(totals) {}
  std::int64_t waited_ns() override { return totals_.waited_ns; }
  std::optional<Use> use() override {
    ++totals_.looks;
    return totals_.use;
  }

 private:
  Totals& totals_;
};

// A rank that sleeps every 200 ms.
struct Rank {
  Pace pace;
  Totals totals;
  ForeignLoad load{std::make_unique<Scripted>(totals)};
  std::int64_t now_ns = 1'000 * kMs;

  bool ask() {
    now_ns += 200 * kMs;
    totals.waited_ns += pace.waited * kMs;
    totals.use.busy_ns += pace.busy * kMs;
    totals.use.ours_ns += pace.ours * kMs;
    return load.is_there(now_ns);
  }
};

}  // namespace

TEST_CASE("others are believed to be there when wake-ups are late and cores busy beyond us",
          "[slice]") {
  Rank rank;
  rank.pace = {100, 400, 40};  // two cores, of which 1.8 are not ours
  CHECK_FALSE(rank.ask());     // nothing to compare with yet
  CHECK_FALSE(rank.ask());     // late
  CHECK(rank.ask());           // late again, and not by our doing
}

TEST_CASE("a crowd of our own is none of others, and is looked at more and more rarely",
          "[slice]") {
  Rank rank;
  rank.pace = {190, 400, 395};
  for (int i = 0; i < 300; ++i) CHECK_FALSE(rank.ask());  // a minute
  CHECK(rank.totals.looks < 15);
}

TEST_CASE("beside a few others a crowd goes on as before; waiters may become workers", "[slice]") {
  Rank rank;
  rank.pace = {190, 400, 250};
  for (int i = 0; i < 20; ++i) CHECK_FALSE(rank.ask());
  rank.pace.ours = 100;
  for (int i = 0; i < 60; ++i) rank.ask();
  CHECK(rank.ask());
  rank.pace.ours = 250;
  for (int i = 0; i < 20; ++i) CHECK(rank.ask());
}

TEST_CASE("others who disturb nobody are let be", "[slice]") {
  Rank rank;
  rank.pace = {5, 400, 40};
  for (int i = 0; i < 20; ++i) CHECK_FALSE(rank.ask());
  CHECK(rank.totals.looks == 0);
}

TEST_CASE("others stay believed in while they run, late or not, and not longer", "[slice]") {
  Rank rank;
  rank.pace = {100, 400, 40};
  for (int i = 0; i < 3; ++i) rank.ask();
  rank.pace.waited = 0;
  for (int i = 0; i < 20; ++i) CHECK(rank.ask());
  rank.pace.ours = 400;
  bool there = true;
  for (int i = 0; i < 20 && there; ++i) there = rank.ask();
  CHECK_FALSE(there);
}

TEST_CASE("ranks that came or went make no comparison", "[slice]") {
  Rank rank;
  rank.pace = {100, 400, 40};
  for (int i = 0; i < 2; ++i) CHECK_FALSE(rank.ask());
  rank.totals.use.ranks = 3;  // and the time of one is not counted any more
  CHECK_FALSE(rank.ask());
  CHECK(rank.ask());
}

TEST_CASE("a kernel that counts nothing changes nothing", "[slice]") {
  class Silent final : public KernelCounters {
    std::int64_t waited_ns() override { return -1; }
    std::optional<Use> use() override { return std::nullopt; }
  };
  ForeignLoad load(std::make_unique<Silent>());
  for (std::int64_t now = 1; now < 5'000 * kMs; now += 200 * kMs) CHECK_FALSE(load.is_there(now));
}

TEST_CASE("busy time is that of programs on one's own cores", "[slice]") {
  const std::string stat =
      "cpu  1000 2000 3000 9 9 9 9 9 0 0\n"
      "cpu0 10 20 30 900 800 700 600 500 5 0\n"
      "cpu1 1 2 3 900 800 700 600 500 0 0\n"
      "cpu7 100 0 0 1 1 1 1 1 0 0\n"
      "intr 12345 0 9\n";
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(0, &cpus);
  CPU_SET(7, &cpus);
  const std::int64_t tick = 1'000 * kMs / ::sysconf(_SC_CLK_TCK);
  CHECK(busy_ns(stat, cpus) == 160 * tick);
  CHECK(busy_ns("cpu0 1\ncpux 1 2 3\n\n", cpus) == 0);
}

namespace {

// A thread's scheduling as a kernel keeps it.
struct Thread {
  Scheduling is;
  bool refuses = false;
  int writes = 0;
};
class Kept final : public Scheduler {
 public:
  explicit Kept(Thread& thread) : thread_(thread) {}
  bool read(Scheduling* out) override {
    *out = thread_.is;
    return true;
  }
  bool write(const Scheduling& wish) override {
    ++thread_.writes;
    if (!thread_.refuses) thread_.is = wish;
    return !thread_.refuses;
  }

 private:
  Thread& thread_;
};

Thread ordinary() {
  Thread thread;
  thread.is.slice_ns = 2'800'000;
  thread.is.nice = 5;
  thread.is.flags = 1;
  return thread;
}

}  // namespace

TEST_CASE("a slice is taken for a sleep and given back, and nothing else changes", "[slice]") {
  Thread thread = ordinary();
  ShortSlice slice(std::make_unique<Kept>(thread));
  for (int sleeps = 0; sleeps < 3; ++sleeps) {
    slice.take();
    CHECK(thread.is.slice_ns == ShortSlice::kSliceNs);
    if (sleeps == 1) thread.is.nice = 10;  // somebody's renice
    slice.give_back();
    CHECK(thread.is.slice_ns == 2'800'000);
    CHECK(thread.is.nice == (sleeps == 0 ? 5 : 10));
    CHECK(thread.is.flags == 1);
    CHECK(thread.is.policy == 0);
  }
  slice.give_back();  // none taken
  CHECK(thread.writes == 6);
}

TEST_CASE("what is not an ordinary thread's own default is left alone", "[slice]") {
  Thread old = ordinary(), fifo = ordinary(), shorter = ordinary(), refused = ordinary();
  old.is.slice_ns = 0;  // a kernel without slices of ordinary threads
  fifo.is.policy = 1;
  shorter.is.slice_ns = ShortSlice::kSliceNs;
  for (Thread* thread : {&old, &fifo, &shorter}) {
    const std::uint64_t before = thread->is.slice_ns;
    ShortSlice slice(std::make_unique<Kept>(*thread));
    slice.take();
    slice.give_back();
    CHECK(thread->writes == 0);
    CHECK(thread->is.slice_ns == before);
  }
  refused.refuses = true;
  ShortSlice slice(std::make_unique<Kept>(refused));
  for (int sleeps = 0; sleeps < 3; ++sleeps) {
    slice.take();
    slice.give_back();
  }
  CHECK(refused.writes == 1);  // asked for once
}

TEST_CASE("the kernel's own scheduler is read and written back unchanged", "[slice]") {
  const auto kernel = kernel_scheduler();
  Scheduling before, after;
  REQUIRE(kernel->read(&before));
  REQUIRE(kernel->write(before));
  REQUIRE(kernel->read(&after));
  CHECK(after.policy == before.policy);
  CHECK(after.nice == before.nice);
  CHECK(after.slice_ns == before.slice_ns);
  if (before.slice_ns <= ShortSlice::kSliceNs) {
    WARN("this kernel has no time slices of ordinary threads: taking one is not tried here");
    return;
  }
  ShortSlice slice(kernel_scheduler());
  slice.take();
  REQUIRE(kernel->read(&after));
  CHECK(after.slice_ns == ShortSlice::kSliceNs);
  slice.give_back();
  REQUIRE(kernel->read(&after));
  CHECK(after.slice_ns == before.slice_ns);
}
