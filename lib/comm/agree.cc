// Numbers that the members of a communicator exchange in the middle of a call, to go on alike.
#include "comm/agree.h"

#include "comm/delegated.h"
#include "types/handles.h"

namespace tutti::comm {

// By our own ways: nobody is asked about it.
[[gnu::cold]] static Code fold_numbers(Communicator& comm, std::span<std::int64_t> numbers,
                                       Handle op) {
  CollCall call;
  call.collective = coll::Collective::allreduce;
  call.recv = numbers.data();
  call.recv_count = static_cast<Count>(numbers.size());
  call.recv_type = types::predefined_type(types::abi::kInt64);
  call.op = types::predefined_op(op);
  call.in_place = true;
  call.purpose = watch::Purpose::asks;
  comm.runtime().reason = {};  // what is there after a failure is this one's
  return run_said(comm, call);
}

[[gnu::cold]] Code allreduce_max(Communicator& comm, std::span<std::int64_t> numbers) {
  return fold_numbers(comm, numbers, types::abi::kMax);
}

[[gnu::cold]] Code allreduce_xor(Communicator& comm, std::int64_t& word) {
  return fold_numbers(comm, std::span(&word, 1), types::abi::kBitXor);
}

[[gnu::cold]] Code explain_failure(Communicator& comm, const Error& error) {
  Reason& why = comm.runtime().reason;
  why.text = error.text + (why.text.empty() ? "" : ": " + why.text);
  return error.code;
}

}  // namespace tutti::comm
