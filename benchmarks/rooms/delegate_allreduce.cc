// delegate_allreduce [ranks] [shm|schedule] [best]: what collectives of one host cost below the
// bindings. With `best` the fastest of many single calls, for a machine that others use too.
//
// Ranks are threads of one process, bound to cores in turn when each can have one. Prints a bare
// exchange of cache lines (the floor), barrier, bcast and allreduce by size: medians of batches.
// Run it alone: it needs all cores.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "bind.h"
#include "world/world.h"

namespace {

using namespace tutti;

constexpr Handle kDouble = 0x214, kByte = 0x247, kSum = 0x21;

struct alignas(64) Line {
  std::atomic<std::uint64_t> word{0};
};
Line g_lines[2];

bool g_best = false;

double middle(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return g_best ? values.front() : values[values.size() / 2];
}

// Median time of one body() in us over batches.
template <class Body>
double time_us(int batches, int repeats, Body&& body) {
  std::vector<double> times;
  if (g_best) {
    batches *= 20;
    repeats = std::max(1, repeats / 200);
  }
  for (int b = 0; b < batches; ++b) {
    const std::int64_t begin = now_ns();
    for (int i = 0; i < repeats; ++i) body();
    times.push_back(static_cast<double>(now_ns() - begin) / 1e3 / repeats);
  }
  return middle(std::move(times));
}

// One way of a cache line between two threads.
double bare_us(int rank) {
  std::uint64_t number = 0;
  return time_us(51, 5000,
                 [&] {
                   ++number;
                   // release/acquire: the two lines are a ping-pong.
                   if (rank == 0) g_lines[0].word.store(number, std::memory_order_release);
                   while (g_lines[1 - rank].word.load(std::memory_order_acquire) != number) {
                   }
                   if (rank == 1) g_lines[1].word.store(number, std::memory_order_release);
                 }) /
         2;
}

comm::CollCall call_of(coll::Collective collective, std::vector<double>& in,
                       std::vector<double>& out, std::size_t bytes) {
  comm::CollCall call;
  call.collective = collective;
  call.send = in.data();
  call.recv = out.data();
  const bool folds = collective == coll::Collective::allreduce;
  call.recv_type = types::predefined_type(folds ? kDouble : kByte);
  call.recv_count = static_cast<types::Count>(folds ? bytes / 8 : bytes);
  call.op = folds ? types::predefined_op(kSum) : nullptr;
  return call;
}

int repeats_for(std::size_t bytes, int ranks, bool oversubscribed) {
  const double guess_us = (oversubscribed ? 30.0 : 0.3) + static_cast<double>(bytes) * ranks / 5000;
  return std::max(1, static_cast<int>(4000 / guess_us));
}

void measure(world::World& world, int ranks, bool oversubscribed) {
  comm::Communicator& comm = world.world_comm();
  const bool prints = comm.rank() == 0;
  comm::CollCall barrier;
  comm::run(comm, barrier);
  if (ranks == 2) {
    const double bare = bare_us(comm.rank());
    if (prints) std::printf("bare line    %8.3f us\n", bare);
  }
  const int batches = 31;
  const double us =
      time_us(batches, repeats_for(8, ranks, oversubscribed), [&] { comm::run(comm, barrier); });
  if (prints) std::printf("barrier      %8.3f us\n", us);
  for (const std::size_t bytes : {8UL, 64UL, 1024UL, 8192UL, 65536UL, 1UL << 20, 1UL << 24}) {
    std::vector<double> in(bytes / 8, 1.0), out(bytes / 8, 0.0);
    const int repeats = repeats_for(bytes, ranks, oversubscribed);
    const auto fold = call_of(coll::Collective::allreduce, in, out, bytes);
    const double allreduce = time_us(batches, repeats, [&] { comm::run(comm, fold); });
    const auto spread = call_of(coll::Collective::bcast, in, out, bytes);
    comm::run(comm, barrier);
    const double bcast = time_us(batches, repeats, [&] { comm::run(comm, spread); });
    comm::run(comm, barrier);
    if (prints)
      std::printf("%9zu B  allreduce %10.3f us   bcast %10.3f us\n", bytes, allreduce, bcast);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 2;
  const bool schedules = argc > 2 && std::strcmp(argv[2], "schedule") == 0;
  g_best = argc > 3 && std::strcmp(argv[3], "best") == 0;
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  auto wireups = wireup::in_threads(std::vector<int>(static_cast<std::size_t>(ranks), 0));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      if (ranks <= cores) bind_to(rank % cores);
      auto world =
          world::World::open(std::move(wireups[static_cast<std::size_t>(rank)]),
                             *Knobs::read([](const char* name) { return std::getenv(name); }),
                             world::ThreadLevel::single, 0);
      if (!world) {
        std::fprintf(stderr, "%s\n", world.error().text.c_str());
        std::exit(1);
      }
      (void)(*world)->make_world_comm();
      if (argc > 2 && !schedules)
        comm::force((*world)->world_comm(), "barrier=shm,allreduce=shm,bcast=shm");
      if (schedules)
        comm::force((*world)->world_comm(),
                    "barrier=dissemination,allreduce=recursive_doubling,bcast=binomial");
      measure(**world, ranks, ranks > cores);
      comm::Reason why;
      (void)(*world)->finish(true, why);
    });
  for (std::thread& thread : threads) thread.join();
  return 0;
}
