// Statuses, levels, comparisons and strings, to and from the interface.
#include "mpi/convert.h"

#include <algorithm>
#include <cstring>

namespace tutti::mpi {

std::int64_t bytes_in(const MPI_Status& status) {
  std::int64_t bytes = 0;
  std::memcpy(&bytes, status.MPI_internal, sizeof bytes);
  return bytes;
}

void set_bytes(MPI_Status& status, std::int64_t bytes) {
  std::memcpy(status.MPI_internal, &bytes, sizeof bytes);
}

void put_status(const p2p::Status& from, MPI_Status* into) {
  if (into == MPI_STATUS_IGNORE) return;
  into->MPI_SOURCE = from.source;
  into->MPI_TAG = from.tag;
  set_bytes(*into, from.bytes);
  set_cancelled(*into, from.cancelled);
}

void put_empty_status(MPI_Status* into) {
  if (into == MPI_STATUS_IGNORE) return;
  put_status({MPI_ANY_SOURCE, MPI_ANY_TAG, Code::ok, false, 0}, into);
  into->MPI_ERROR = MPI_SUCCESS;
}

void put_null_status(MPI_Status* into) {
  put_status({MPI_PROC_NULL, MPI_ANY_TAG, Code::ok, false, 0}, into);
}

int level_to_mpi(world::ThreadLevel level) {
  switch (level) {
    case world::ThreadLevel::single:
      return MPI_THREAD_SINGLE;
    case world::ThreadLevel::funneled:
      return MPI_THREAD_FUNNELED;
    case world::ThreadLevel::serialized:
      return MPI_THREAD_SERIALIZED;
    case world::ThreadLevel::multiple:
      break;
  }
  return MPI_THREAD_MULTIPLE;
}

world::ThreadLevel level_from_mpi(int level) {
  if (level >= MPI_THREAD_MULTIPLE) return world::ThreadLevel::multiple;
  if (level >= MPI_THREAD_SERIALIZED) return world::ThreadLevel::serialized;
  if (level >= MPI_THREAD_FUNNELED) return world::ThreadLevel::funneled;
  return world::ThreadLevel::single;
}

int to_mpi(comm::Comparison comparison) {
  switch (comparison) {
    case comm::Comparison::identical:
      return MPI_IDENT;
    case comm::Comparison::congruent:
      return MPI_CONGRUENT;
    case comm::Comparison::similar:
      return MPI_SIMILAR;
    case comm::Comparison::unequal:
      break;
  }
  return MPI_UNEQUAL;
}

int put_text(std::string_view text, char* into, int room) {
  if (room <= 0) return 0;
  const std::size_t length = std::min(text.size(), static_cast<std::size_t>(room) - 1);
  std::memcpy(into, text.data(), length);
  into[length] = '\0';
  return static_cast<int>(length);
}

}  // namespace tutti::mpi
