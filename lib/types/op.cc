// op.cc: operations: the table of the predefined ones, and calls of users' functions.
#include "base/check.h"
#include "types/handles.h"
#include "types/kernels/kernels.h"

namespace tutti::types {

namespace {

constexpr Handle kFirstOp = abi::kNullOp;
constexpr Handle kLastOp = 0x3f;

struct Named {
  Handle handle;
  Operation operation;
};

constexpr Named kPredefined[] = {
    {abi::kSum, Operation::sum},         {abi::kMin, Operation::min},
    {abi::kMax, Operation::max},         {abi::kProduct, Operation::prod},
    {abi::kBitAnd, Operation::band},     {abi::kBitOr, Operation::bor},
    {abi::kBitXor, Operation::bxor},     {abi::kAnd, Operation::land},
    {abi::kOr, Operation::lor},          {abi::kXor, Operation::lxor},
    {abi::kMinLoc, Operation::minloc},   {abi::kMaxLoc, Operation::maxloc},
    {abi::kReplace, Operation::replace}, {abi::kNoOp, Operation::no_op},
};

constexpr Op::Kernel kNoKernels[kElements] = {};

KernelTable kernel_table;  // filled when the program is loaded, constant after that
Op* predefined_ops[kLastOp - kFirstOp + 1];  // likewise

}  // namespace

bool fill_kernels(KernelLevel level, KernelTable& table) {
  switch (level) {
    case KernelLevel::avx512:
#if defined(TUTTI_KERNELS_AVX512)
      if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
          !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl")) {
        return false;
      }
      avx512::fill_arithmetic(table);
      avx512::fill_minmax(table);
      avx512::fill_logic(table);
      avx512::fill_loc(table);
      avx512::fill_widening(table);
      return true;
#else
      return false;
#endif
    case KernelLevel::avx2:
#if defined(TUTTI_KERNELS_AVX2)
      if (!__builtin_cpu_supports("avx2")) return false;
      avx2::fill_arithmetic(table);
      avx2::fill_minmax(table);
      avx2::fill_logic(table);
      avx2::fill_loc(table);
      avx2::fill_widening(table);
      return true;
#else
      return false;
#endif
    case KernelLevel::plain:
      break;
  }
  plain::fill_arithmetic(table);
  plain::fill_minmax(table);
  plain::fill_logic(table);
  plain::fill_loc(table);
  plain::fill_widening(table);
  return true;
}

Op::Op(Handle handle)
    : Object(ObjectKind::op, &Object::destroy_as<Op>, handle), kernels_(kNoKernels) {}

struct OpTable {
  static void fill() {
#if defined(TUTTI_KERNELS_AVX2)
    __builtin_cpu_init();
#endif
    const bool filled = fill_kernels(KernelLevel::avx512, kernel_table) ||
                        fill_kernels(KernelLevel::avx2, kernel_table) ||
                        fill_kernels(KernelLevel::plain, kernel_table);
    TUTTI_CHECK(filled, "no level of kernels");
    for (const Named& named : kPredefined) {
      Op* op = new Op(named.handle);
      op->kernels_ = kernel_table.rows[static_cast<std::size_t>(named.operation)];
      op->commutative_ = named.handle != abi::kReplace && named.handle != abi::kNoOp;
      predefined_ops[named.handle - kFirstOp] = op;
    }
  }
};

namespace {
// When the program is loaded, before the initialisers of other files.
[[gnu::constructor(200)]] void fill_operations() {
  OpTable::fill();
}
}  // namespace

Op* predefined_op(Handle handle) {
  return handle - kFirstOp <= kLastOp - kFirstOp ? predefined_ops[handle - kFirstOp] : nullptr;
}

Ref<Op> Op::user(void* function, Invoke invoke, bool commutative) {
  Op* op = new Op(0);
  op->function_ = function;
  op->invoke_ = invoke;
  op->commutative_ = commutative;
  return Ref<Op>::adopt(op);
}

const Datatype* Op::accumulator(const Datatype& type) const {
  const auto element = static_cast<std::size_t>(type.element());
  const bool adds = handle() == abi::kSum || handle() == abi::kProduct;
  if (!adds || kernel(type) == nullptr || kernel_table.widen[element] == nullptr) return nullptr;
  return predefined_type(type.element() == Element::complex32 ? abi::kFloatComplex : abi::kFloat);
}

void widen(const Datatype& type, const void* from, void* to, Count count) {
  kernel_table.widen[static_cast<std::size_t>(type.element())](from, to, count);
}

void narrow(const Datatype& type, const void* from, void* to, Count count) {
  kernel_table.narrow[static_cast<std::size_t>(type.element())](from, to, count);
}

bool Op::accepts(const Datatype& type) const {
  return is_user() || handle() == abi::kReplace || handle() == abi::kNoOp ||
         kernel(type) != nullptr;
}

void Op::fold(const void* from, void* into, Count count, const Datatype& type) const {
  if (const Kernel fast = kernel(type)) {
    fast(from, into, into, count);
  } else if (is_user()) {
    invoke_(function_, from, into, count, type.handle());
  } else if (handle() == abi::kNoOp) {  // the first operand
    copy(Buffer::whole(const_cast<void*>(from), count, type), Buffer::whole(into, count, type));
  } else {
    TUTTI_CHECK(handle() == abi::kReplace, "no such operation on " + type.name());
  }
}

void Op::fold_right(const void* from, void* into, Count count, const Datatype& type,
                    void* spare) const {
  const Buffer source = Buffer::whole(const_cast<void*>(from), count, type);
  const Buffer target = Buffer::whole(into, count, type);
  if (const Kernel fast = kernel(type)) {
    fast(into, from, into, count);
  } else if (is_user() && commutative_) {
    invoke_(function_, from, into, count, type.handle());
  } else if (is_user()) {
    const Buffer result = Buffer::whole(spare, count, type);
    copy(source, result);
    invoke_(function_, into, spare, count, type.handle());
    copy(result, target);
  } else if (handle() == abi::kReplace) {  // the second operand
    copy(source, target);
  } else {
    TUTTI_CHECK(handle() == abi::kNoOp, "no such operation on " + type.name());
  }
}

}  // namespace tutti::types
