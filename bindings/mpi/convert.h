// Values to and from the interface: statuses, thread levels, comparisons, strings.
#pragma once

#include <string_view>

#include "mpi/objects.h"

namespace tutti::mpi {

// The private words of MPI_Status: bytes received (64 bits), cancelled flag. 12 bytes, so that
// they fit the hidden fields of other ABIs too.
std::int64_t bytes_in(const MPI_Status& status);
void set_bytes(MPI_Status& status, std::int64_t bytes);
inline bool is_cancelled(const MPI_Status& status) {
  return status.MPI_internal[2] != 0;
}
inline void set_cancelled(MPI_Status& status, bool flag) {
  status.MPI_internal[2] = flag;
}

// Fills a user's status except MPI_ERROR, which only the many-request calls set
// (MPI 5.0, 3.2.5). Null (MPI_STATUS_IGNORE) is left alone.
void put_status(const p2p::Status& from, MPI_Status* into);
void put_empty_status(MPI_Status* into);  // MPI 5.0, 3.7.3
void put_null_status(MPI_Status* into);   // from MPI_PROC_NULL, 3.10

int level_to_mpi(world::ThreadLevel level);
world::ThreadLevel level_from_mpi(int level);  // the highest not above a number between
int to_mpi(comm::Comparison comparison);

// Copies at most `room` - 1 bytes and a zero; returns the length copied.
int put_text(std::string_view text, char* into, int room);

}  // namespace tutti::mpi
