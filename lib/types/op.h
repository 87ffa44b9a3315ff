// op.h: operations that fold elements (part of this room's door, types.h includes it).
//
// Owner: nobody; operations are immutable once made and shared by Ref. Predefined ones have
// kernels, one loop per element class; users' ones are called back.
#pragma once

#include "types/types.h"

namespace tutti::types {

// MPI 5.0, 6.9.
class Op final : public Object {
 public:
  // How a user's function is called: by whom it was registered decides (C, C with large
  // counts, another ABI). a: input, b: input and result, both count elements.
  using Invoke = void (*)(void* function, const void* a, void* b, Count count, Handle type);
  using Kernel = void (*)(const void* a, const void* b, void* out, Count count);
  using Convert = void (*)(const void* from, void* to, Count count);

  bool is_commutative() const { return commutative_; }
  bool is_user() const { return invoke_ != nullptr; }
  // True when this operation is defined on that type: user operations and replace, no_op on
  // every type, the others on the predefined types that MPI 5.0, 6.9.2 names.
  bool accepts(const Datatype& type) const;
  // Predefined operations on predefined types: out[i] = a[i] op b[i]; out may be a or b, but
  // not overlap them otherwise; any alignment. Null when there is none (user operations,
  // derived types, replace, no_op).
  Kernel kernel(const Datatype& type) const {
    return type.is_basic() ? kernels_[static_cast<std::size_t>(type.element())] : nullptr;
  }
  // The type in which a whole reduction of `type` accumulates, to be rounded once at its end:
  // float32 for sums and products of two-byte floats, complex ones likewise. Null: its own.
  const Datatype* accumulator(const Datatype& type) const;
  // into[i] = from[i] op into[i], the MPI order. `type` as the user gave it. Addresses are
  // MPI's: the first byte lies at the type's true lower bound from them.
  void fold(const void* from, void* into, Count count, const Datatype& type) const;
  // into[i] = into[i] op from[i]: the same with the operands' order swapped; `spare` (an
  // address like the others) has room for count elements and is used only when the operation
  // does not commute.
  void fold_right(const void* from, void* into, Count count, const Datatype& type,
                  void* spare) const;

  static Ref<Op> user(void* function, Invoke invoke, bool commutative);

 private:
  friend struct OpTable;
  explicit Op(Handle handle);
  ~Op() = default;
  friend class tutti::Object;
  bool commutative_ = true;
  const Kernel* kernels_;  // by element; all null for user operations
  void* function_ = nullptr;
  Invoke invoke_ = nullptr;
};

// From elements of a `type` that has an accumulator to those of it, and back, rounded to the
// nearest. Any alignment, no overlap.
void widen(const Datatype& type, const void* from, void* to, Count count);
void narrow(const Datatype& type, const void* from, void* to, Count count);

// The predefined operation with this standard handle, or null (so also for the null one). O(1).
Op* predefined_op(Handle handle);
inline Op* op_of(Handle handle) {
  return handle < 0x400 ? predefined_op(handle) : object_at<Op>(handle, ObjectKind::op);
}

}  // namespace tutti::types
