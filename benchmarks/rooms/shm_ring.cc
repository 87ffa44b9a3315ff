// The shm transport alone: half round trips, streams, and a crowd's barrier, beside the bare
// exchange of a cache line. Two processes on two cores; the crowd on the same two.
//
// Usage: shm_ring [frame_bytes | crowd]
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "bind.h"
#include "transport/transport.h"
#include "wireup/wireup.h"

using namespace tutti;
using namespace tutti::transport;

namespace {

// Copies what arrives to one place, as p2p does for a posted receive.
class Copier final : public Sink {
 public:
  std::size_t frames = 0;
  std::size_t bytes = 0;
  std::byte* into = nullptr;
  bool on_frame(int, const FrameHeader& header, std::span<std::byte> payload) override {
    if (into != nullptr && !payload.empty())
      std::memcpy(into + header.length, payload.data(), payload.size());
    ++frames;
    bytes += payload.size();
    return true;
  }
  std::byte* place(int, const FrameHeader&, std::size_t) override { return nullptr; }
  void on_peer_gone(int, const Error&) override {}
};

struct End {
  wireup::Wireup* wireup;
  Knobs knobs = Knobs::defaults();
  Copier sink;
  Opened opened;
  Transport* shm = nullptr;
  std::unique_ptr<Link> link;
  std::unique_ptr<Waiter> waiter;
  std::size_t frame_bytes = 0;

  void open(wireup::Wireup& own) {
    wireup = &own;
    const Surroundings around{wireup, &sink, &knobs};
    opened = open_all(around);
    for (auto& each : opened.transports)
      if (std::strcmp(each->name(), "shm") == 0) shm = each.get();
    waiter = std::make_unique<Waiter>(around, opened.transports);
  }
  std::unique_ptr<Link> connect(int to) { return *shm->connect(Peer{to, 0, to, true}, {}); }

  void send(const std::byte* data, std::size_t bytes) {
    std::size_t at = 0;
    do {
      const std::size_t step = std::min(bytes - at, frame_bytes);
      FrameHeader header;
      header.length = at;
      while (!link->try_post({&header, data + at, step, nullptr})) {
      }
      at += step;
    } while (at < bytes);
  }
  void receive(std::size_t total) {
    while (sink.bytes < total) shm->progress();
  }
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct alignas(64) Flag {
  std::atomic<std::uint64_t> value;
};

double cache_line_us(Flag* flags, int me) {
  constexpr std::uint64_t kRounds = 20'000;
  std::vector<double> samples;
  std::uint64_t turn = flags[2 + me].value.load();
  for (int sample = 0; sample < 7; ++sample) {
    const std::int64_t began = now_ns();
    for (std::uint64_t i = 0; i < kRounds; ++i) {
      ++turn;
      if (me == 0) flags[0].value.store(turn, std::memory_order_release);
      while (flags[1 - me].value.load(std::memory_order_acquire) != turn) {
      }
      if (me == 1) flags[1].value.store(turn, std::memory_order_release);
    }
    samples.push_back(static_cast<double>(now_ns() - began) / kRounds / 2e3);
  }
  flags[2 + me].value = turn;
  return median(samples);
}

double ping_pong_us(End& end, int me, std::size_t bytes, std::vector<std::byte>& buffer) {
  const std::size_t rounds =
      std::max<std::size_t>(50, std::min<std::size_t>(10'000, (32 << 20) / bytes));
  std::vector<double> samples;
  for (int sample = 0; sample < 9; ++sample) {
    const std::int64_t began = now_ns();
    for (std::size_t i = 0; i < rounds; ++i) {
      const std::size_t total = end.sink.bytes + bytes;
      if (me == 0) end.send(buffer.data(), bytes);
      end.receive(total);
      if (me == 1) end.send(buffer.data(), bytes);
    }
    samples.push_back(static_cast<double>(now_ns() - began) / static_cast<double>(rounds) / 2e3);
  }
  return median(samples);
}

// Messages in a row, one answer: bytes per nanosecond.
double stream_gbs(End& end, int me, std::size_t bytes, std::vector<std::byte>& buffer) {
  const std::size_t messages = std::max<std::size_t>(4, (64 << 20) / bytes);
  std::vector<double> samples;
  for (int sample = 0; sample < 9; ++sample) {
    const std::int64_t began = now_ns();
    const std::size_t total = end.sink.bytes;
    for (std::size_t i = 1; i <= messages; ++i) {
      if (me == 0)
        end.send(buffer.data(), bytes);
      else
        end.receive(total + i * bytes);
    }
    if (me == 1)
      end.send(buffer.data(), 8);
    else
      end.receive(total + 8);
    samples.push_back(static_cast<double>(bytes * messages) /
                      static_cast<double>(now_ns() - began));
  }
  return median(samples);
}

void pair(const std::vector<std::unique_ptr<wireup::Wireup>>& worlds, Flag* flags, int me,
          std::size_t frame_bytes) {
  bind_to(me);
  End end;
  end.open(*worlds[static_cast<std::size_t>(me)]);
  end.link = end.connect(1 - me);
  const std::size_t largest = end.shm->traits(Peer{1 - me, 0, 1 - me, true}).max_frame;
  end.frame_bytes = frame_bytes == 0 ? largest : std::min(frame_bytes, largest);
  std::vector<std::byte> out(64 << 20), in(64 << 20);
  std::memset(out.data(), 1, out.size());
  std::memset(in.data(), 1, in.size());
  end.sink.into = in.data();
  for (int round = 0; round < 3; ++round) {
    const double line = cache_line_us(flags, me);
    if (me == 0) std::printf("frame %zu, cache line %.3f us |", end.frame_bytes, line);
    for (const std::size_t bytes :
         {std::size_t{8}, std::size_t{64}, std::size_t{1024}, std::size_t{8} << 10,
          std::size_t{64} << 10, std::size_t{1} << 20}) {
      const double us = ping_pong_us(end, me, bytes, out);
      if (me == 0) std::printf(" %zu: %.3f", bytes, us), std::fflush(stdout);
    }
    for (const std::size_t bytes :
         {std::size_t{1} << 20, std::size_t{4} << 20, std::size_t{64} << 20}) {
      const double gbs = stream_gbs(end, me, bytes, out);
      if (me == 0) std::printf(" | %zu MiB %.1f GB/s", bytes >> 20, gbs);
    }
    if (me == 0) std::printf("\n"), std::fflush(stdout);
  }
}

class Counter final : public Sink {
 public:
  std::array<int, 16> got{};
  bool on_frame(int, const FrameHeader& header, std::span<std::byte>) override {
    ++got[static_cast<std::size_t>(header.tag)];
    return true;
  }
  std::byte* place(int, const FrameHeader&, std::size_t) override { return nullptr; }
  void on_peer_gone(int, const Error&) override {}
};

// One rank's part of a dissemination barrier over lanes.
class Barrier {
 public:
  Barrier(wireup::Wireup& wireup, int ranks) {
    const Surroundings around{&wireup, &counter_, &knobs_};
    opened_ = open_all(around);
    for (auto& each : opened_.transports)
      if (std::strcmp(each->name(), "shm") == 0) shm_ = each.get();
    waiter_ = std::make_unique<Waiter>(around, opened_.transports);
    for (int step = 1; step < ranks; step *= 2) {
      const int to = (wireup.rank() + step) % ranks;
      links_.push_back(*shm_->connect(Peer{to, 0, to, true}, {}));
    }
  }
  void pass() {
    ++passed_;
    for (std::size_t round = 0; round < links_.size(); ++round) {
      FrameHeader header;
      header.tag = static_cast<int>(round);
      while (!links_[round]->try_post({&header, nullptr, 0, nullptr})) shm_->progress();
      while (counter_.got[round] < passed_) wait_once();
    }
  }

 private:
  void wait_once() {
    if (shm_->progress() > 0)
      waiter_->busy();
    else
      waiter_->pause(nullptr);
  }

  Knobs knobs_ = Knobs::defaults();
  Counter counter_;
  Opened opened_;
  Transport* shm_ = nullptr;
  std::unique_ptr<Waiter> waiter_;
  std::vector<std::unique_ptr<Link>> links_;
  int passed_ = 0;
};

void crowd(const std::vector<std::unique_ptr<wireup::Wireup>>& worlds, int me, bool bind) {
  if (bind) bind_to(me % 2);
  Barrier barrier(*worlds[static_cast<std::size_t>(me)], static_cast<int>(worlds.size()));
  std::vector<double> samples;
  for (int sample = 0; sample < 15; ++sample) {
    constexpr int kRounds = 300;
    const std::int64_t began = now_ns();
    for (int i = 0; i < kRounds; ++i) barrier.pass();
    samples.push_back(static_cast<double>(now_ns() - began) / kRounds / 1e3);
  }
  if (me != 0) return;
  std::sort(samples.begin(), samples.end());
  std::printf("%zu ranks on 2 cores%s, dissemination barrier: median %.1f us, %.1f to %.1f\n",
              worlds.size(), bind ? ", bound" : "", samples[7], samples[0], samples[14]);
}

template <class Body>
void in_processes(int count, Body&& body) {
  std::vector<pid_t> children;
  for (int me = 0; me < count; ++me) {
    const pid_t child = ::fork();
    if (child == 0) {
      body(me);
      std::fflush(stdout);
      std::_Exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_crowd = argc > 1 && std::strcmp(argv[1], "crowd") == 0;
  const std::size_t frame_bytes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 0;
  auto* flags = static_cast<Flag*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (!is_crowd) {
    const auto worlds = wireup::in_threads({0, 0});
    in_processes(2, [&](int me) { pair(worlds, flags, me, frame_bytes); });
    return 0;
  }
  for (const bool bind : {false, true})
    for (const int ranks : {4, 16}) {
      const auto worlds = wireup::in_threads(std::vector<int>(static_cast<std::size_t>(ranks), 0));
      in_processes(ranks, [&](int me) { crowd(worlds, me, bind); });
    }
  return 0;
}
