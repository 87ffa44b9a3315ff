// Making requests. Private to comm.
#pragma once

#include <memory>

#include "comm/runtime.h"
#include "comm/scheduled.h"

namespace tutti::comm {

// From here on (bytes) a thread of ours gains more by moving a collective than it costs to call it.
inline constexpr Count kLong = Count{256} << 10;

// A collective under way: what must live until it is done. CollectivePool keeps idle ones.
struct Request::Collective {
  BoundCall bound;
  types::TypeRef send_type, recv_type;
  std::vector<types::TypeRef> types;  // of the w forms
  Ref<const types::Op> op;
  bool is_long() const { return bound.bytes >= kLong; }
  bool calls_user() const { return op && op->is_user(); }
  void forget() {  // when it has ended
    send_type = recv_type = {};
    types.clear();
    op = {};
  }
};

struct RequestMaker {
  // Done from the start: short sends; null peers.
  static Request* sent(Communicator& comm, int peer, std::uint32_t number);
  static Request* completed(Communicator& comm, const p2p::Status& status);
  // peer (in the job) and tag: what a wait for it says that it waits for.
  static Request* of_message(Communicator& comm, p2p::Pending* message, const types::Datatype& type,
                             int peer = watch::kNoPeer, int tag = 0);
  static void note_wait(Runtime& runtime, const Request& request);
  // To be begun.
  static Request* of_collective(Communicator& comm, const CollCall& call,
                                std::unique_ptr<Request::Collective> bound);
  static void begin(Request& request);
  static Request* open(Communicator& comm, std::unique_ptr<Hooks> hooks);
  static void finish(Request& request, const p2p::Status& status);
  static void end(Request& request);                  // with the status that it has
  static void explain(Request& request, Reason why);  // before it ends with an error
  static void reopen(Request& request);
  static void cancel(Request& request);

 private:
  static Request* make(Communicator& comm);
  static void on_message(p2p::Pending* message);
  static void on_turn(p2p::Pending* turn);
  static void on_run(engine::Run* run);
  static void count_under_way(const Request& request, int by);
  static void take_status(Request& request, p2p::Pending* message);
  static void ask_back(Request& request);
};

}  // namespace tutti::comm
