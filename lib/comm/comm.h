// comm: groups and communicators, and the calls made on them.
//
// Owner: communicators are counted objects behind handles; a collective under way keeps its
// communicator alive. Every function is called with the world's gate held. Collective calls
// block as MPI says; everything else is local. The bindings convert handles and call here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/object.h"
#include "base/result.h"
#include "coll/coll.h"
#include "comm/context_ids.h"
#include "comm/create.h"
#include "comm/group.h"
#include "comm/topology.h"
#include "p2p/p2p.h"
#include "types/types.h"
#include "watch/calls.h"

namespace tutti::comm {

// A request as users see it: send, receive, collective (also composed of several).
class Request;

class Runtime;  // what all communicators of a process share; runtime.h

class Communicator final : public GatedObject {
 public:
  int rank() const { return rank_; }
  int size() const { return group_->size(); }  // intercommunicators: of the local group
  const Group& group() const { return *group_; }
  const GroupRef& group_ref() const { return group_; }
  // Intercommunicators (MPI 5.0, 7.6): messages and collectives go to the remote group.
  bool is_inter() const { return remote_.get() != nullptr; }
  const Group& remote_group() const { return *remote_; }
  const GroupRef& remote_ref() const { return remote_; }
  bool is_first() const { return first_; }  // my group stands before the remote one, for all alike
  const Group& peers() const { return *peers_; }             // whom ranks in messages mean
  std::uint32_t context() const { return number_.context; }  // point-to-point
  std::uint64_t birth() const { return number_.birth; }      // context_ids.h
  std::uint32_t coll_context() const { return number_.context + 1; }
  int peer(int rank) const { return peers_->at(rank); }  // rank in the job
  Runtime& runtime() const { return *runtime_; }
  std::string name;
  // The bindings' object; null: the default. Kept to the end: what is under way may still fail.
  Ref<Object> errhandler;
  bool errors_end_job = false;      // what that one does, as the bindings know
  std::map<int, void*> attributes;  // keyval -> value; bindings' copies
  std::vector<std::pair<std::string, std::string>> hints;  // bindings' too
  std::shared_ptr<const Topology> topology;                // null: none
  Ref<Object> stream;  // what calls on it are enqueued in, of a room above; null: nothing can be

  // See force().
  const std::string& forced() const;

  struct State;  // selection facts, delegate team, schedule cache, sequence number (state.h)
  State& state() const { return *state_; }

 private:
  friend struct CommMaker;
  Communicator(Runtime& runtime, GroupRef group, int rank, Number number, Handle handle);
  ~Communicator();
  friend class tutti::Object;
  Runtime* runtime_;
  GroupRef group_, remote_;
  const Group* peers_;  // one of them
  bool first_ = true;
  int rank_;
  Number number_;
  std::unique_ptr<State> state_;
};

// What a runtime is made on; outlives it.
struct Ground {
  p2p::Endpoint* endpoint = nullptr;
  wireup::Wireup* wireup = nullptr;
  const Knobs* knobs = nullptr;
};
struct CloseRuntime {
  void operator()(Runtime* runtime) const;
};
using RuntimePtr = std::unique_ptr<Runtime, CloseRuntime>;
RuntimePtr open_runtime(const Ground& ground);
// Why a call failed; without words when its code says it all.
struct Reason {
  std::string text{};
  bool is_mismatch = false;   // ranks called different collectives
  bool failed_there = false;  // another rank gave its call up, and knows why
};
Reason take_reason(Runtime& runtime);  // of the latest blocking call, once
// MPI_COMM_WORLD and MPI_COMM_SELF. The first is collective over the job.
Result<CommRef> make_world_comm(Runtime& runtime);
Result<CommRef> make_self_comm(Runtime& runtime);

Comparison compare(const Communicator& a, const Communicator& b);
// How collectives run here from now on, alike on all members: "allreduce=ring,bcast=binomial";
// "shm" is the delegate; empty: knobs decide. Local.
void force(Communicator& comm, std::string algorithms);
// Everything that is under way on it ends with this code, at this rank, and so does what comes.
void cancel(Communicator& comm, Code code);
// The same of its collectives only.
void cancel_collectives(Communicator& comm, Code code);

// One collective call, as the user made it. Unused fields stay empty.
//   reductions   count and type in recv_count, recv_type (reduce_scatter: recv_counts, or
//                recv_count alone for equal blocks); `recv` may be null where it means nothing
//   bcast        the buffer in recv, recv_count, recv_type
//   others       as MPI names them; on ranks where a side means nothing it stays empty
//   in_place     `send` (on the root of scatter: `recv`) is not looked at
//   w forms      alltoallv with a type a block; displacements are bytes then
//   neighbours   allgather(v), alltoall(v) among the neighbours of the topology
struct CollCall {
  coll::Collective collective = coll::Collective::barrier;
  const void* send = nullptr;
  Count send_count = 0;
  const types::Datatype* send_type = nullptr;
  std::span<const Count> send_counts, send_displs;  // displacements in extents of send_type
  void* recv = nullptr;                             // bcast: the buffer
  Count recv_count = 0;
  const types::Datatype* recv_type = nullptr;
  std::span<const Count> recv_counts, recv_displs;
  std::span<const types::Datatype*const> send_types, recv_types;
  const types::Op* op = nullptr;
  // Comm's own, of a reduction in a wider type (widened.h): what the user said.
  const types::Datatype* said_type = nullptr;
  Count said_count = 0;
  int root = 0;  // intercommunicators: also kRoot, kProcNull
  bool in_place = false;
  bool neighbours = false;
  watch::Purpose purpose = watch::Purpose::users;
  // Comm's own: why this rank gives nothing, which the others are told (own_part_failure,
  // widened.h).
  Code failure = Code::ok;
};

Code run(Communicator& comm, const CollCall& call);  // blocking
// The same of a gather, scatter, allgather, alltoall and their v forms: what a rank gives itself
// must be what it takes. start() and persistent ones ask that of every call.
Code run_blocks(Communicator& comm, const CollCall& call);
Result<Request*> start(Communicator& comm, const CollCall& call);  // nonblocking
// MPI_Finalize's barrier. An error that a program handled has not kept it from its end.
Code run_last_barrier(Communicator& comm);
// Persistent: members make them in the same order and may start them in any. The call's arrays
// live as long as this.
class PersistentCollective {
 public:
  static Result<std::unique_ptr<PersistentCollective>> make(Communicator& comm,
                                                            const CollCall& call);
  ~PersistentCollective();
  PersistentCollective(const PersistentCollective&) = delete;
  PersistentCollective& operator=(const PersistentCollective&) = delete;
  Result<Request*> start();

 private:
  struct Prepared;  // collectives.cc
  explicit PersistentCollective(std::unique_ptr<Prepared> prepared);
  std::unique_ptr<Prepared> prepared_;
};

// What the maker of an open request does in its life; it goes with the request.
struct Hooks {
  virtual ~Hooks() = default;
  virtual void query(p2p::Status&) {}             // of a done one: what to tell the user
  virtual Code freed(Code code) { return code; }  // the user has been told, with this code
  virtual Code cancel(bool /*is_done*/) { return Code::ok; }
  virtual bool is_generalized() const { return false; }  // the user completes it
  virtual const void* maker() const { return nullptr; }  // by which that one knows its own
};

// Requests behind handles. A request keeps its communicator, types and ops alive, and itself
// until it is done: the user's reference may go at any time.
class Request final : public GatedObject {
 public:
  bool is_done() const { return done_; }
  bool is_collective() const { return is_collective_; }  // also when it is done
  const p2p::Status& status() const { return status_; }
  Reason reason() const { return reason_ ? *reason_ : Reason{}; }  // of one that failed
  Communicator* comm() const { return comm_.get(); }
  Hooks* hooks() const { return hooks_.get(); }  // null: none
  // Of one that is not done: called once when it is, inside progress; must not wait.
  using Then = void (*)(void* self, const Request& request);
  void when_done(Then then, void* self) { then_ = then, then_self_ = self; }
  bool passed_over = false;  // the bindings' mark: done, but another one of many was taken

  struct Collective;  // request.h

 private:
  friend struct RequestMaker;
  friend class tutti::Object;
  explicit Request(Communicator& comm);
  ~Request();
  static void destroy(const Object* object);
  CommRef comm_;
  p2p::Pending* message_ = nullptr;
  std::unique_ptr<Collective> collective_;
  types::TypeRef type_;
  p2p::Status status_;
  Then then_ = nullptr;
  void* then_self_ = nullptr;
  std::unique_ptr<Hooks> hooks_;
  std::unique_ptr<Reason> reason_;
  struct {
    int peer;
    std::uint32_t number = 0;
  } sent_;  // a short message that has left; number 0: none
  bool done_ = false, is_collective_ = false;
  bool is_wanted_back_ = false;
};

// A request that its maker completes; until then it keeps itself alive. `hooks` may be null.
Request* open_request(Communicator& comm, std::unique_ptr<Hooks> hooks);
void complete(Request& request, const p2p::Status& status);
void fail(Request& request, const p2p::Status& status, Reason why);
// A completed one is open again, until completed once more.
void reopen(Request& request);

// Point-to-point on a communicator; ranks in the communicator, kProcNull and wildcards allowed.
Code send(Communicator& comm, p2p::Mode mode, const void* data, Count count,
          const types::Datatype& type, int dest, int tag);
p2p::Status recv(Communicator& comm, void* data, Count count, const types::Datatype& type,
                 int source, int tag);
// In the place of a message that its device could not give: its receiver ends with an error.
void send_failure(Communicator& comm, int dest, int tag);
Request* isend(Communicator& comm, p2p::Mode mode, const void* data, Count count,
               const types::Datatype& type, int dest, int tag);
Request* irecv(Communicator& comm, void* data, Count count, const types::Datatype& type, int source,
               int tag);
bool iprobe(Communicator& comm, int source, int tag, p2p::Status* status);
p2p::Status probe(Communicator& comm, int source, int tag);  // blocks
void cancel(Request& request);
// Waits until nothing is under way on it, also of what was freed.
void settle_messages(Communicator& comm);

// A message taken out of matching (MPI 5.0, 3.8.2): it is received once, by irecv_taken.
class MatchedMessage final : public Object {
 public:
  MatchedMessage(Communicator& comm, p2p::KeptMessage* taken);
  Communicator& comm() const { return *comm_; }

 private:
  friend Request* irecv_taken(MatchedMessage&, void*, Count, const types::Datatype&);
  CommRef comm_;
  p2p::KeptMessage* taken_;
};
// `block`: waits for one. Null: none there, or none can come (status->code says why). The
// source is not kProcNull.
MatchedMessage* take(Communicator& comm, int source, int tag, bool block, p2p::Status* status);
Request* irecv_taken(MatchedMessage& message, void* data, Count count, const types::Datatype& type);

// Progress until the request is done. Completing does not free it.
void wait(Runtime& runtime, Request& request);
// The same while no request fails: false once the number of those that did is not `failures`.
bool wait(Runtime& runtime, Request& request, std::uint64_t failures);
std::uint64_t failures(const Runtime& runtime);
// One round of progress; used by the test and wait families while nothing of theirs is done.
int progress(Runtime& runtime);           // events handled
int progress_or_yield(Runtime& runtime);  // the same for calls that may not wait
void idle(Runtime& runtime);              // nothing moved: poll, yield or sleep
void active(Runtime& runtime);            // something moved
// Rounds of progress until `ready` says so, which is asked between them.
template <class Ready>
void progress_until(Runtime& runtime, const Ready& ready) {
  while (!ready()) {
    if (progress(runtime) > 0)
      active(runtime);
    else
      idle(runtime);
  }
}
// Whether nonblocking collectives are under way that take their time; and whether another thread
// may move what is under way, since nothing of it calls a function of the user's.
bool has_long_calls(const Runtime& runtime);
bool may_be_helped(const Runtime& runtime);
// There is such a thread now: it begins long ones, so that starting one takes no time.
void set_helped(Runtime& runtime);

}  // namespace tutti::comm
