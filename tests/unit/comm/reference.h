// Every collective against what it should give, computed from everyone's input.
//
// Inputs are made of (rank, index), so each rank knows all of them and can say what must come
// out. A Trial holds the buffers of one call; check() looks at them afterwards.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ranks.h"

namespace tutti::reference {

using coll::Collective;
using comm::CollCall;
using comm::Communicator;
using types::Count;

inline constexpr Handle kInt = 0x209, kSum = 0x21, kMax = 0x23;

struct Plan {
  Collective collective = Collective::barrier;
  Count count = 0;
  int root = 0;
  bool in_place = false;
  const types::Op* op = nullptr;  // reductions of int32; null: sum
};

// A user's operation on pairs (a, b) that stand for the map x -> a x + b modulo a prime:
// composing maps is associative and does not commute. `type` is contiguous(2, int).
Ref<types::Op> compose_op();
types::TypeRef pair_type();

class Trial {
 public:
  Trial(const Communicator& comm, const Plan& plan);
  CollCall call() const { return call_; }
  bool check() const;
  std::string what() const;
  // Its own vectors, for who has the call done in other memory.
  using Ints = std::vector<std::int32_t>;
  const Ints& send() const { return send_; }
  Ints& recv() { return recv_; }

 private:
  void make_reduction();
  void make_movement();
  void make_uneven();
  Count block(int rank) const { return plan_.count + rank % 3; }  // of v forms
  Count sent(int from, int to) const { return plan_.count + (from + 2 * to) % 3; }
  Ints expected() const;
  Ints expected_reduction() const;
  Ints expected_movement() const;
  Ints expected_uneven() const;
  Ints fold(int first, int last) const;  // ranks [first, last) in order
  Ints input(int rank) const;            // of a reduction
  Count width() const { return plan_.op == nullptr || !plan_.op->is_user() ? 1 : 2; }

  Plan plan_;
  int rank_, size_;
  Ints send_, recv_, before_;
  std::vector<Count> send_counts_, send_displs_, recv_counts_, recv_displs_;
  types::TypeRef pair_;
  CollCall call_;
};

// All collectives, all sensible forms, for this count.
std::vector<Plan> plans(int size, Count count);

}  // namespace tutti::reference
