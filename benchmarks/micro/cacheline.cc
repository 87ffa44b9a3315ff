// cacheline: the bare exchange of one cache line between two cores: the floor under every
// message through shared memory. No MPI: two threads, each bound to a core of its own.
//
// A number goes to and fro in one line; each side polls for the other's next number. Half of a
// round trip is what one message costs at the least.
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <limits>
#include <thread>

#include "../harness/harness.h"

namespace {

constexpr long kRounds = 2000;  // of a sample
constexpr std::size_t kFewestSamples = 9;
constexpr long kEnd = std::numeric_limits<long>::max();  // in place of a number

struct alignas(128) Line {
  std::atomic<long> number{0};
};

bool bind_to(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

// The first two cores this process may use.
std::vector<int> two_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE && cores.size() < 2; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

// acquire and release: each side sees what the other wrote before its number.
void answer(Line& ping, Line& pong) {
  for (long i = 1;; ++i) {
    long seen;
    while ((seen = ping.number.load(std::memory_order_acquire)) < i) {
    }
    if (seen == kEnd) return;
    pong.number.store(i, std::memory_order_release);
  }
}

double sample(Line& ping, Line& pong, long from) {
  const auto start = std::chrono::steady_clock::now();
  for (long i = from + 1; i <= from + kRounds; ++i) {
    ping.number.store(i, std::memory_order_release);
    while (pong.number.load(std::memory_order_acquire) < i) {
    }
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  return time.count() / (2 * kRounds);
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report;
  if (!bench::parse(argc, argv, report.options, "64")) return 2;
  const std::vector<int> cores = two_cores();
  if (cores.size() < 2) {
    std::fprintf(stderr, "cacheline: needs two cores\n");
    return 2;
  }
  Line ping, pong;
  bool is_bound = false;
  std::thread other([&] {
    is_bound = bind_to(cores[1]);
    answer(ping, pong);
  });
  const bool both_bound = bind_to(cores[0]);
  std::vector<double> samples;
  const auto start = std::chrono::steady_clock::now();
  const std::chrono::duration<double> whole(report.options.min_time);
  long number = 0;
  for (; samples.size() < kFewestSamples || std::chrono::steady_clock::now() - start < whole;
       number += kRounds) {
    samples.push_back(sample(ping, pong, number));
  }
  ping.number.store(kEnd, std::memory_order_release);
  other.join();
  bench::Point point;
  point.bytes = 64;
  point.iterations = kRounds;
  point.samples = samples.size();
  point.time = bench::summarise(samples);
  point.is_right = both_bound && is_bound && pong.number.load() == number;
  report.name = "cacheline";
  report.library = "no library: two threads and one line each way";
  report.ranks = 2;
  report.points.push_back(point);
  std::printf("%s%s", bench::table_head(report).c_str(), bench::table_row(report, point).c_str());
  if (!report.options.json.empty() &&
      !bench::write_file(report.options.json, bench::json_text(report))) {
    return 1;
  }
  return point.is_right ? 0 : 1;
}
