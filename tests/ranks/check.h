// What every program of tests/ranks shares: checks that count, and the exit status.
//
// A program is plain MPI in C++. CHECK prints file, line and rank and goes on; done() ends MPI
// and gives main its status. The launcher turns a non-zero status of any rank into a failure.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <string>
#include <vector>

namespace ranks {

inline int failures = 0;
inline int rank = 0;
inline int size = 1;

inline void report(const char* file, int line, const char* what) {
  if (++failures <= 10) std::fprintf(stderr, "%s:%d: rank %d: %s\n", file, line, rank, what);
}

inline void begin(int required = MPI_THREAD_SINGLE) {
  int provided = 0;
  if (required == MPI_THREAD_SINGLE)
    MPI_Init(nullptr, nullptr);
  else
    MPI_Init_thread(nullptr, nullptr, required, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
}

inline int done() {
  MPI_Finalize();
  if (failures > 10) std::fprintf(stderr, "rank %d: %d checks failed\n", rank, failures);
  return failures == 0 ? 0 : 1;
}

inline int class_of(int code) {
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  return error_class;
}

// A value that names its sender, receiver and place, so that a mix-up shows.
inline int value_of(int from, int to, int i) {
  return from * 1000003 + to * 1009 + i;
}

}  // namespace ranks

#define CHECK(condition) ((condition) ? void() : ::ranks::report(__FILE__, __LINE__, #condition))
