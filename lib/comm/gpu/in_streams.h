// in_streams.h: collectives that a GPU's library runs in a stream of the user's itself (part of
// this room's door).
//
// Nobody waits in such a call, so that nobody can say in it where the others' buffers are. So
// whoever makes a stream promises once that all buffers of collectives in it lie on its GPU, in one
// piece each, and members agree once, when the communicator is made for it. Of a process one
// communicator at a time has that: kernels of two could wait for each other for ever (record 0052).
#pragma once

#include <memory>

#include "base/result.h"
#include "comm/comm.h"

namespace tutti::delegate {
class GpuTeam;
struct GpuCall;
}  // namespace tutti::delegate

namespace tutti::comm {

struct StreamPlace {
  void* stream = nullptr;  // the vendor's handle
  int device = -1;         // its GPU; -1: there is no stream that a library could be given
  bool is_promised = false;
};

// Collective over the communicator, which is new; waits. From then on StreamedCall::make says
// whether a call goes so. Errors: members could not agree.
Code settle_in_streams(Communicator& comm, const StreamPlace& place);

// One call, put once. It lives until the stream has passed it.
class StreamedCall {
 public:
  // Null: it goes by ours, on all members alike. Errors: this member has not kept its promise, or
  // the library has failed on some member; who puts later calls is told the same.
  static Result<std::unique_ptr<StreamedCall>> make(Communicator& comm, const CollCall& call);
  ~StreamedCall();
  StreamedCall(const StreamedCall&) = delete;
  StreamedCall& operator=(const StreamedCall&) = delete;
  // Behind what the stream holds, in the order of make(). NOT with the gate held: it waits while
  // the stream is full, and for the library to take it.
  Result<void> put() const;

  // With the gate, when the stream has passed it.
  Code code() const;
  void fail(Code code) const;  // it was not put: the others' part ends with an error

 private:
  StreamedCall(std::shared_ptr<delegate::GpuTeam> team, void* stream,
               std::unique_ptr<delegate::GpuCall> said);
  const std::shared_ptr<delegate::GpuTeam> team_;
  void* const stream_;
  const std::unique_ptr<delegate::GpuCall> said_;
};

// With the gate, now and then while such calls are in streams or are put: a member that is gone, or
// has failed, ends what is there.
void look_in_streams(Runtime& runtime);

}  // namespace tutti::comm
