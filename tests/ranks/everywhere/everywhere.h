// What the families of threads_everywhere share: whose turn it is, and the tables of families.
//
// A family is a function that makes calls of one kind as one thread of several. Threads of the
// same number on all ranks go through the families in the same order, on a communicator of their
// own; threads of different numbers are in different families at a time.
#pragma once

#include <array>
#include <span>
#include <thread>

#include "../check.h"

namespace everywhere {

using namespace ranks;

struct Mine {
  int thread = 0;
  int turn = 0;
  MPI_Comm comm = MPI_COMM_NULL;  // of this thread on all ranks
};
using Family = void (*)(const Mine&);

inline int right() {
  return (rank + 1) % size;
}
inline int left() {
  return (rank + size - 1) % size;
}
inline std::size_t as_size(int n) {
  return static_cast<std::size_t>(n);
}

std::span<const Family> messages();
std::span<const Family> kept_messages();
std::span<const Family> collectives();
std::span<const Family> topologies();
std::span<const Family> communicators();
std::span<const Family> objects();
std::span<const Family> datatypes();
std::span<const Family> tools();

}  // namespace everywhere

// A collective in its three forms: blocking, nonblocking, persistent. `good` is asked after each.
#define IN_THREE_FORMS(Name, name, good, ...)                 \
  do {                                                        \
    MPI_Request request_;                                     \
    MPI_##Name(__VA_ARGS__);                                  \
    CHECK(good);                                              \
    MPI_I##name(__VA_ARGS__, &request_);                      \
    MPI_Wait(&request_, MPI_STATUS_IGNORE);                   \
    CHECK(good);                                              \
    MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request_); \
    MPI_Start(&request_);                                     \
    MPI_Wait(&request_, MPI_STATUS_IGNORE);                   \
    MPI_Request_free(&request_);                              \
    CHECK(good);                                              \
  } while (false)
