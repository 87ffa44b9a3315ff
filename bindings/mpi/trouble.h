// Trouble: what went wrong in this thread's current call, in words, until the handler says it.
//
// Bodies and checks return a Code, which costs nothing when all is well; the sentence waits here.
#pragma once

#include <string>

#include "base/result.h"
#include "comm/comm.h"
#include "wireup/wireup.h"

namespace tutti::mpi {

struct Trouble {
  Code code = Code::ok;
  std::string text{};
  bool is_mismatch = false;  // ranks called different collectives
  wireup::Blame blame = wireup::Blame::own;
  bool was_enqueued = false;  // the call has returned: where this thread is says nothing of it
  comm::CommRef where{};      // raises the error instead of the call's communicator
};

// This thread's trouble. The reference stays valid for the thread's life.
Trouble& trouble();

void add_reason(Trouble& trouble, const comm::Reason& reason);

// Notes what went wrong and gives the code back, for `return refuse(Code::arg, "...")`.
Code refuse(Code code, std::string text);
// The same for an error that belongs to another communicator than the call's (requests).
Code refuse_on(comm::Communicator* where, Code code, std::string text);

template <class T>
Code note(const Result<T>& result) {
  return refuse(result.error().code, result.error().text);
}

// For constructors: the object goes to the user's handle, or the error is noted.
template <class Made, class UserHandle>
Code give(Result<Ref<Made>>&& made, UserHandle* handle) {
  if (!made) return note(made);
  *handle = reinterpret_cast<UserHandle>(made->get() == nullptr ? 0 : (*made)->handle());
  made->hand_out();
  return Code::ok;
}

}  // namespace tutti::mpi
