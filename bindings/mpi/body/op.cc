// Chapter 6: operations, users' ones too.
#include <algorithm>
#include <exception>
#include <limits>

#include "base/log.h"
#include "bodies.h"
#include "mpi/checks.h"
#include "mpi/memory.h"
#include "mpi/trouble.h"

namespace tutti::mpi::body {
namespace {

// Whose call runs an operation is open, and others wait for what it gives: its exception ends us.
template <class Function, class... Arguments>
void operate(Function function, Arguments... arguments) {
  try {
    function(arguments...);
  } catch (...) {
    log::warn(
        "the function of an operation that the program made (MPI_Op_create) threw an "
        "exception" +
        log::in_call() + "; a reduction cannot be left in its midst");
    std::terminate();
  }
}

// How a function registered through the C interface is called; int counts are cut in pieces.
void invoke_small(void* function, const void* a, void* b, Count count, Handle type) {
  auto* const user = reinterpret_cast<MPI_User_function*>(function);
  auto handle = reinterpret_cast<MPI_Datatype>(type);
  const Count extent = types::type_of(type)->extent();
  auto* in = static_cast<std::byte*>(const_cast<void*>(a));
  auto* inout = static_cast<std::byte*>(b);
  while (count > 0) {
    int part = static_cast<int>(std::min<Count>(count, std::numeric_limits<int>::max()));
    const Count done = part;
    operate(user, in, inout, &part, &handle);
    in += done * extent;
    inout += done * extent;
    count -= done;
  }
}

void invoke_large(void* function, const void* a, void* b, Count count, Handle type) {
  auto handle = reinterpret_cast<MPI_Datatype>(type);
  operate(reinterpret_cast<MPI_User_function_c*>(function), const_cast<void*>(a), b, &count,
          &handle);
}

Code make(void* function, types::Op::Invoke invoke, int commute, MPI_Op* op) {
  if (function == nullptr) return refuse(Code::arg, "user_fn is a null pointer");
  *op = handle_to(types::Op::user(function, invoke, commute != 0).hand_out(), MPI_OP_NULL);
  return Code::ok;
}

}  // namespace

Code op_create(MPI_User_function* user_fn, int commute, MPI_Op* op) {
  return make(reinterpret_cast<void*>(user_fn), invoke_small, commute, op);
}
Code op_create_c(MPI_User_function_c* user_fn, int commute, MPI_Op* op) {
  return make(reinterpret_cast<void*>(user_fn), invoke_large, commute, op);
}

Code op_free(MPI_Op* op) {
  const types::Op* const object = op_of(*op);
  if (object == nullptr || object->is_predefined() || !object->take_back())
    return refuse_to_free(Code::op, "operation", "op", bits_of(*op), object);
  object->release();
  *op = MPI_OP_NULL;
  return Code::ok;
}

Code op_commutative(types::Op& op, int* commute) {
  *commute = op.is_commutative();
  return Code::ok;
}

Code reduce_local(const void* inbuf, void* inoutbuf, Count count, types::Datatype& datatype,
                  types::Op& op) {
  const auto from = message_at(inbuf, count, datatype);
  const auto into = message_at(inoutbuf, count, datatype);
  if (from.device != nullptr || into.device != nullptr) [[unlikely]]
    return end_work(process.world->endpoint().fold({&op, from, into, true}));
  op.fold(inbuf, inoutbuf, count, datatype);
  return Code::ok;
}

}  // namespace tutti::mpi::body
