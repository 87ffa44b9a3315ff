// What a call reads and what it writes have no byte in common (checks=all): the memory of each of
// its two buffers, as the arguments describe it. Generated wrappers choose which form that is.
//
// No memory is read or written for a count of zero, MPI_IN_PLACE, or a neighbour that is
// MPI_PROC_NULL; gaps inside types and between blocks belong to nobody. What the body refuses
// (a block's type that is none) is left to it.
#pragma once

#include <vector>

#include "mpi/checks.h"

namespace tutti::mpi {

using BufferList = std::vector<types::Buffer>;

// Whose blocks a buffer has: those of so many ranks, or of neighbours, some of whom are nobody.
struct Owners {
  Count number = 0;
  std::vector<int> ranks;  // of neighbours; else empty

  explicit Owners(Count n) : number(n) {}
  explicit Owners(std::vector<int> neighbours)
      : number(static_cast<Count>(neighbours.size())), ranks(std::move(neighbours)) {}
  bool has(Count i) const { return ranks.empty() || ranks[static_cast<std::size_t>(i)] >= 0; }
};
Owners sources_of(const comm::Communicator& comm);
Owners destinations_of(const comm::Communicator& comm);

// Of one block, `at` bytes from the buffer's address. Beyond what 64 bits hold there is no memory.
void add_block(BufferList& memory, const void* buffer, Count at, Count count,
               const types::Datatype* type);

inline BufferList memory_of(const void* buffer, Count count, const types::Datatype* type) {
  BufferList memory;
  add_block(memory, buffer, 0, count, type);
  return memory;
}
// A block for each, one behind the other.
BufferList blocks_of(const void* buffer, const Owners& owners, Count count,
                     const types::Datatype* type);
// Each has its count and its place, in extents of the type.
template <class Number, class Place>
BufferList blocks_at(const void* buffer, const Owners& owners, const Number* counts,
                     const Place* places, const types::Datatype* type) {
  BufferList memory;
  if (is_in_place(buffer) || type == nullptr) return memory;
  for (Count i = 0; i < owners.number; ++i) {
    Count at = 0;
    if (owners.has(i) && !__builtin_mul_overflow(Count{places[i]}, type->extent(), &at))
      add_block(memory, buffer, at, counts[i], type);
  }
  return memory;
}
// ... in bytes, and a type of its own.
template <class Number, class Place>
BufferList blocks_at(const void* buffer, const Owners& owners, const Number* counts,
                     const Place* places, const MPI_Datatype* kinds) {
  BufferList memory;
  if (is_in_place(buffer)) return memory;
  for (Count i = 0; i < owners.number; ++i)
    if (owners.has(i) && counts[i] > 0)
      add_block(memory, buffer, places[i], counts[i], types::type_of(bits_of(kinds[i])));
  return memory;
}
template <class Number>
Count sum_of(const Number* counts, Count size) {
  Count sum = 0;
  for (Count i = 0; i < size; ++i)
    if (__builtin_add_overflow(sum, Count{counts[i]}, &sum)) return 0;
  return sum;
}

inline bool good_disjoint(const BufferList& a, const BufferList& b, const char* name,
                          const char* other) {
  return !types::overlap(a, b) || bad::overlap(name, other);
}

}  // namespace tutti::mpi
