// rounds: what the programs have in common that print figures: how often, and the middle.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace gpu {

inline int fewer = 1;              // so many times fewer calls: to see that it runs
inline constexpr int kRounds = 6;  // with the first, in which connections are made

struct Often {
  int small, middle, large;  // calls of 64 KiB and less, of 16 MiB and less, of more
};
inline int times_of(std::size_t bytes, const Often& often) {
  return (bytes <= 65536                     ? often.small
          : bytes <= (std::size_t{16} << 20) ? often.middle
                                             : often.large) /
             fewer +
         1;
}

// Us a call of one round, on this rank.
template <class Call>
double round_of(int times, const Call& call) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < times; ++i) call();
  return (MPI_Wtime() - begin) / times * 1e6;
}

// Of all rounds but the first.
inline double middle_of(std::vector<double> rounds) {
  rounds.erase(rounds.begin());
  std::sort(rounds.begin(), rounds.end());
  return rounds[rounds.size() / 2];
}

}  // namespace gpu
