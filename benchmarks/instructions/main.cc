// instructions LIBRARY_OF_RANK_0 LIBRARY_OF_RANK_1 shm|tcp single|multiple
//
// Counts what MPI calls execute. Under `valgrind --tool=callgrind --collect-atstart=no
// --collect-systime=yes` it leaves a file of callgrind for each row, and prints "row TAB operations
// TAB allocations TAB looks at the clock TAB yields"; benchmarks/instructions/count makes the
// table.
//
// Two ranks in one thread over a real link: whoever has to wait gives the turn to the other
// (turns.h, seams.h). Counts are sums over both.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "instructions/counters.h"
#include "instructions/rows.h"
#include "instructions/turns.h"

using namespace tutti;

namespace {

constexpr int kWarmUp = 600;  // until all pools have grown, and rings and entries come round
constexpr int kOperations = 256;

using Ranks = std::array<ruler::Mpi, 2>;

Ranks load_both(char** files, bool is_tcp) {
  auto wireups = wireup::in_threads({0, is_tcp ? 1 : 0});
  Ranks ranks;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    // A core for each rank, whatever this machine has.
    wireups[rank]->segment().header().cores = 2;
    ranks[rank] = ruler::load(files[rank], {wireups[rank].release(), ruler::turn});
  }
  return ranks;
}

void repeat(int times, const ruler::Part& part) {
  for (int i = 0; i < times; ++i) {
    part.run();
    ruler::moved();
  }
}

void count(const ruler::Row& row, const Ranks& ranks) {
  std::array<std::optional<ruler::Part>, 2> parts;
  ruler::run_both(
      [&](int rank) {
        auto& part = parts[static_cast<std::size_t>(rank)];
        part = row.make(ranks[static_cast<std::size_t>(rank)], rank);
        repeat(kWarmUp, *part);
      },
      false);
  ruler::begin_row();
  ruler::run_both([&](int rank) { repeat(kOperations, *parts[static_cast<std::size_t>(rank)]); },
                  true);
  const ruler::Counts counts = ruler::end_row(row.name.c_str());
  ruler::run_both([&](int rank) { parts[static_cast<std::size_t>(rank)]->end(); }, false);
  std::printf("%s\t%d\t%llu\t%llu\t%llu\n", row.name.c_str(), 2 * kOperations,
              static_cast<unsigned long long>(counts.allocations),
              static_cast<unsigned long long>(counts.clock_reads),
              static_cast<unsigned long long>(counts.yields));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s LIBRARY LIBRARY shm|tcp single|multiple\n", argv[0]);
    return 2;
  }
  const bool is_tcp = std::strcmp(argv[3], "tcp") == 0;
  const int level = std::strcmp(argv[4], "multiple") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  const Ranks ranks = load_both(argv + 1, is_tcp);
  ruler::on_yield = ruler::turn;
  ruler::run_both(
      [&](int rank) {
        int provided = 0;
        if (ranks[static_cast<std::size_t>(rank)].init_thread(nullptr, nullptr, level, &provided) !=
            MPI_SUCCESS)
          std::exit(1);
      },
      false);
  for (const ruler::Row& row : ruler::all_rows(!is_tcp)) count(row, ranks);
  ruler::run_both([&](int rank) { ranks[static_cast<std::size_t>(rank)].finalize(); }, false);
  return 0;
}
