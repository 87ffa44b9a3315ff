// Collective calls as values: what the user passed, MPI_IN_PLACE understood. Types and operations
// are null where the rank's role has none (the entry points pass nothing for what is absent).
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "base/blank.h"
#include "mpi/checks.h"
#include "mpi/process.h"

namespace tutti::mpi {

using coll::Collective;

// One side of a data-moving collective: blocks of `count`, or of `counts` at `displs`.
struct BlockArguments {
  const void* data = nullptr;
  Count count = 0;
  const types::Datatype* type = nullptr;
  std::span<const Count> counts = {};
  std::span<const Count> displs = {};
  std::span<const types::Datatype* const> types = {};  // w forms: one a block
};

// The types of a w form; good() notes what is wrong with them.
class TypeList {
 public:
  TypeList(const MPI_Datatype* handles, std::span<const Count> counts, const char* name)
      : handles_(handles), counts_(counts), name_(name) {
    if (handles != nullptr) make_room(counts.size());
    for (std::size_t i = 0; handles != nullptr && i < counts.size(); ++i)
      types_.push_back(type_of(handles[i]) != nullptr ? type_of(handles[i])
                                                      : nothing_for(handles[i], counts[i] == 0));
  }
  bool good() const {
    for (std::size_t i = 0; i < types_.size(); ++i)
      if (!good_committed(types_[i], handles_[i], name_)) return false;
    Count all = 0;
    for (std::size_t i = 0; i < types_.size(); ++i) {
      Count bytes = 0;
      if (__builtin_mul_overflow(counts_[i], types_[i]->size(), &bytes) ||
          __builtin_add_overflow(all, bytes, &all))
        return bad::too_many_bytes(name_, counts_[i], types_[i]->size());
    }
    return true;
  }
  std::span<const types::Datatype* const> span() const { return types_; }

 private:
  void make_room(std::size_t types) {
    take_for_others([&] {
      types_.reserve(types);
      return true;
    });
  }

  const MPI_Datatype* handles_;
  std::span<const Count> counts_;
  const char* name_;
  std::vector<const types::Datatype*> types_;
};

inline comm::CollCall call_barrier() {
  return blank<comm::CollCall>();
}

inline comm::CollCall call_bcast(void* buffer, Count count, const types::Datatype* type, int root) {
  auto call = blank<comm::CollCall>();
  call.collective = Collective::bcast;
  call.recv = buffer;
  call.recv_count = count;
  call.recv_type = type;
  call.root = root;
  return call;
}

// MPI_IN_PLACE on either side: that side's arguments were not looked at.
inline comm::CollCall call_blocks(Collective collective, const BlockArguments& send,
                                  const BlockArguments& recv, int root = 0) {
  auto call = blank<comm::CollCall>();
  call.collective = collective;
  call.root = root;
  call.in_place = is_in_place(send.data) || is_in_place(recv.data);
  if (!is_in_place(send.data)) {
    call.send = send.data;
    call.send_count = send.count;
    call.send_type = send.type;
    call.send_counts = send.counts;
    call.send_displs = send.displs;
    call.send_types = send.types;
  }
  if (!is_in_place(recv.data)) {
    call.recv = const_cast<void*>(recv.data);
    call.recv_count = recv.count;
    call.recv_type = recv.type;
    call.recv_counts = recv.counts;
    call.recv_displs = recv.displs;
    call.recv_types = recv.types;
  }
  return call;
}

// Among the neighbours of a topology.
inline comm::CollCall call_neighbours(Collective collective, const BlockArguments& send,
                                      const BlockArguments& recv) {
  comm::CollCall call = call_blocks(collective, send, recv);
  call.neighbours = true;
  return call;
}

// Reductions: the same count and type on both sides.
inline comm::CollCall call_fold(Collective collective, const void* send, void* recv, Count count,
                                const types::Datatype* type, const types::Op* op) {
  comm::CollCall call = call_blocks(collective, {send, count, type}, {recv, count, type});
  call.op = op;
  return call;
}

inline comm::CollCall call_reduce(const void* send, void* recv, Count count,
                                  const types::Datatype* type, const types::Op* op, int root) {
  comm::CollCall call = call_fold(Collective::reduce, send, recv, count, type, op);
  call.root = root;
  return call;
}

// Counts per rank, or one count for all of them when there are none.
inline comm::CollCall call_reduce_scatter(const void* send, const BlockArguments& recv,
                                          const types::Op& op) {
  comm::CollCall call =
      call_blocks(Collective::reduce_scatter, {send, recv.count, recv.type}, recv);
  call.op = &op;
  return call;
}

}  // namespace tutti::mpi
