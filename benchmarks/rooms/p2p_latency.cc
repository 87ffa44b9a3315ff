// p2p_latency: what the endpoint costs, without the rooms above it. Two processes on two cores.
//
//   bare        one cache line handed to and fro: the floor of this machine
//   latency     half round trips of try_send and recv_now, by size
//   stream      long messages in a window of nonblocking sends, bytes per second
//   matching    half round trip with 10 and with 1000 other receives posted
//
// Usage: p2p_latency [apart]. "apart": the two are said to be on different hosts, so the link is
// the network's (over loopback). Each line: median over batches, fastest tenth. Run it alone: it
// needs both cores.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "base/clock.h"
#include "bind.h"
#include "p2p/p2p.h"
#include "wireup/wireup.h"

namespace {

using namespace tutti;
using p2p::Endpoint;
using types::Buffer;

constexpr int kBatches = 101;

struct alignas(kCacheLine) Line {
  std::atomic<std::uint64_t> word;
};

// Times of one run, over batches: the middle one, and the fastest tenth (what a busy machine
// would do if it were quiet).
struct Times {
  double median_us;
  double tenth_us;
};

Times summary(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values[values.size() / 10]};
}

// Runs body() `repeats` times per batch.
template <class Body>
Times time_us(int repeats, Body&& body) {
  std::vector<double> batches;
  for (int batch = 0; batch < kBatches; ++batch) {
    const std::int64_t begin = now_ns();
    for (int i = 0; i < repeats; ++i) body();
    batches.push_back(static_cast<double>(now_ns() - begin) / 1000.0 / repeats);
  }
  return summary(batches);
}

void say(int rank, const char* what, std::size_t size, const Times& times, const char* unit) {
  if (rank != 0) return;
  std::printf("%-10s %8zu %10.3f %10.3f  %s\n", what, size, times.median_us, times.tenth_us, unit);
  std::fflush(stdout);
}

void bare(int rank, Line* lines) {
  std::uint64_t count = 0;
  const Times times = time_us(500, [&] {
    ++count;
    // release, acquire: each side's store is the other's load.
    if (rank == 0) lines[0].word.store(count, std::memory_order_release);
    while (lines[1 - rank].word.load(std::memory_order_acquire) < count) {
    }
    if (rank == 1) lines[1].word.store(count, std::memory_order_release);
  });
  say(rank, "bare line", 0, {times.median_us / 2, times.tenth_us / 2}, "us half round trip");
}

class Side {
 public:
  Side(int rank, Endpoint& endpoint) : rank_(rank), peer_(1 - rank), endpoint_(endpoint) {}

  void send(void* data, std::size_t bytes, int tag) {
    const p2p::Envelope envelope{1, rank_, tag, 0};
    if (endpoint_.try_send(peer_, envelope, data, bytes)) return;
    p2p::Pending* request = endpoint_.send(p2p::Mode::standard, peer_, envelope,
                                           Buffer::plain(data, static_cast<types::Count>(bytes)));
    endpoint_.wait(request);
    endpoint_.release(request);
  }
  void recv(void* data, std::size_t bytes, int tag) {
    const p2p::Status status = endpoint_.recv_now(
        peer_, {1, peer_, tag, 0}, Buffer::plain(data, static_cast<types::Count>(bytes)));
    TUTTI_CHECK(status.code == Code::ok && status.bytes == static_cast<std::int64_t>(bytes));
  }

  Times ping_pong(std::size_t bytes) {
    std::vector<std::byte> out(bytes), in(bytes);
    const int repeats = bytes <= 1024 ? 500 : bytes <= 65536 ? 50 : 4;
    const Times times = time_us(repeats, [&] {
      if (rank_ == 0) send(out.data(), bytes, 1);
      recv(in.data(), bytes, 1);
      if (rank_ == 1) send(out.data(), bytes, 1);
    });
    return {times.median_us / 2, times.tenth_us / 2};
  }

  // Rank 0 sends a window of messages, rank 1 answers with one byte.
  Times stream_gbs(std::size_t bytes) {
    const std::size_t window_size = std::clamp<std::size_t>((8UL << 20) / bytes, 2, 64);
    std::vector<std::byte> data(bytes);
    std::byte answer{};
    std::vector<p2p::Pending*> window(window_size);
    const Buffer buffer = Buffer::plain(data.data(), static_cast<types::Count>(bytes));
    const Times times = time_us(bytes <= 65536 ? 10 : 1, [&] {
      for (p2p::Pending*& each : window)
        each = rank_ == 0 ? endpoint_.send(p2p::Mode::standard, peer_, {1, rank_, 2, 0}, buffer)
                          : endpoint_.recv(peer_, {1, peer_, 2, 0}, buffer);
      for (p2p::Pending* each : window) {
        endpoint_.wait(each);
        endpoint_.release(each);
      }
      if (rank_ == 0) recv(&answer, 1, 3);
      if (rank_ == 1) send(&answer, 1, 3);
    });
    const double kilobytes = static_cast<double>(bytes * window_size) / 1000.0;
    return {kilobytes / times.median_us, kilobytes / times.tenth_us};
  }

  Times with_posted(int count) {
    std::vector<p2p::Pending*> others;
    std::byte byte{};
    for (int i = 0; i < count; ++i)
      others.push_back(endpoint_.recv(peer_, {1, peer_, 1000 + i, 0}, Buffer::plain(&byte, 1)));
    const Times times = ping_pong(8);
    for (p2p::Pending* each : others) {
      endpoint_.cancel(each);
      endpoint_.release(each);
    }
    return times;
  }

  void run() {
    for (const std::size_t bytes : {8UL, 64UL, 1024UL, 8192UL, 65536UL, 1UL << 20, 4UL << 20})
      say(rank_, "latency", bytes, ping_pong(bytes), "us half round trip");
    for (const std::size_t bytes : {8UL, 8192UL, 65536UL, 1UL << 20, 4UL << 20})
      say(rank_, "stream", bytes, stream_gbs(bytes), "GB/s");
    for (const int count : {0, 10, 1000})
      say(rank_, "posted", static_cast<std::size_t>(count), with_posted(count),
          "us half round trip");
  }

 private:
  int rank_;
  int peer_;
  Endpoint& endpoint_;
};

int run_rank(int rank, wireup::Wireup& wireup, Line* lines) {
  bind_to(rank);
  wireup.segment().local(static_cast<std::uint32_t>(wireup.local_rank())).pid = ::getpid();
  bare(rank, lines);
  auto endpoint = Endpoint::open(wireup, *Knobs::read([](const char* n) { return ::getenv(n); }));
  TUTTI_CHECK(endpoint.has_value(), endpoint.error().text);
  Side(rank, **endpoint).run();
  (*endpoint)->close();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool apart = argc > 1 && std::strcmp(argv[1], "apart") == 0;
  const auto worlds = tutti::wireup::in_threads({0, apart ? 1 : 0});
  void* shared = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  Line* const lines = static_cast<Line*>(shared);
  const pid_t child = ::fork();
  if (child < 0) return 1;
  if (child == 0) return run_rank(1, *worlds[1], lines);
  const int status = run_rank(0, *worlds[0], lines);
  int ended = 0;
  ::waitpid(child, &ended, 0);
  return status != 0 ? status : (ended == 0 ? 0 : 1);
}
