// The memory of a call's buffers, block by block (overlap.h).
#include "mpi/overlap.h"

namespace tutti::mpi {

Owners sources_of(const comm::Communicator& comm) {
  if (comm.topology == nullptr) return Owners(0);
  return Owners(comm.topology->neighbours(comm.rank()).sources);
}
Owners destinations_of(const comm::Communicator& comm) {
  if (comm.topology == nullptr) return Owners(0);
  return Owners(comm.topology->neighbours(comm.rank()).destinations);
}

void add_block(BufferList& memory, const void* buffer, Count at, Count count,
               const types::Datatype* type) {
  if (is_in_place(buffer) || count <= 0 || type == nullptr || type->size() == 0) return;
  Count bytes = 0, where = 0;
  if (__builtin_mul_overflow(count, type->size(), &bytes) ||
      __builtin_add_overflow(static_cast<Count>(bits_of(buffer)), at, &where))
    return;
  memory.push_back(
      types::Buffer::whole(reinterpret_cast<void*>(static_cast<Handle>(where)), count, *type));
}

BufferList blocks_of(const void* buffer, const Owners& owners, Count count,
                     const types::Datatype* type) {
  BufferList memory;
  Count all = 0, each = 0;
  if (is_in_place(buffer) || count <= 0 || type == nullptr) return memory;
  if (__builtin_mul_overflow(count, owners.number, &all)) return memory;
  if (owners.ranks.empty()) {
    add_block(memory, buffer, 0, all, type);
    return memory;
  }
  if (__builtin_mul_overflow(all, type->extent(), &each)) return memory;
  each = count * type->extent();
  for (Count i = 0; i < owners.number; ++i)
    if (owners.has(i)) add_block(memory, buffer, i * each, count, type);
  return memory;
}

}  // namespace tutti::mpi
