// enqueue: calls that users put into a device's streams.
//
// Such a call returns at once. It begins when the stream has reached it, and what the stream holds
// behind it waits for its end. A thread of ours begins what was reached and makes progress; it
// starts with the first stream. So does one that says what is wrong when the driver does not
// answer.
//
// Owner: whoever owns the world, which outlives this. Functions are called with the world's gate
// held where they do not say otherwise.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/backoff.h"
#include "base/object.h"
#include "base/quiet_thread.h"
#include "base/result.h"
#include "comm/comm.h"
#include "comm/gpu/in_streams.h"
#include "types/types.h"
#include "world/world.h"

namespace tutti::enqueue {

class CallQueue;    // call_queue.h
class CallStreams;  // below

// One call, as its user makes it. Buffers are left alone until its end; all else is kept here.
struct QueuedCall {
  enum class What : std::uint8_t { nothing, send, recv, collective, streamed, wait };
  // Fills a status of the user's: of a message its one, of a wait the one at `place`.
  using Tell = void (*)(void* statuses, std::size_t place, const p2p::Status& status);

  What what = What::nothing;
  const char* call = "";  // its name, for the line that says that it failed
  comm::CommRef comm;
  // Prepared when it was called, so that collectives of one communicator match in the order of
  // their calls, the host's and those of streams, whichever begin first. Its arrays are the user's.
  std::unique_ptr<comm::PersistentCollective> collective;
  // Of `streamed`: the vendor's library runs it in the stream, all by itself.
  std::unique_ptr<comm::StreamedCall> streamed;
  void* data = nullptr;  // of messages, as in comm
  types::Count count = 0;
  const types::Datatype* type = nullptr;
  int peer = 0, tag = 0;
  // Not null: done when the message is; the stream goes on at once.
  Ref<comm::Request> request;
  std::vector<Ref<comm::Request>> waited;  // requests made here, some perhaps null
  Tell tell = nullptr;                     // null: nobody asked
  void* statuses = nullptr;
  std::array<types::TypeRef, 2> types;  // kept alive
  Ref<const types::Op> op;

  // With everything kept that the user may free. Predefined types and operations live anyway.
  static QueuedCall of_message(What what, comm::Communicator& comm, const types::Datatype& type);
  static Result<QueuedCall> of_collective(comm::Communicator& comm, const comm::CollCall& call);
};

struct Failure {
  const char* call = "";
  comm::CommRef comm;
  Code code = Code::other;
  // Its words: "enqueued in stream 0x5560 of GPU 0", and why it failed if that is known.
  comm::Reason why;
};

// A stream of the user's, behind a handle. Communicators keep those that were attached to them.
class UserStream final : public Object {
 public:
  // False: one of the host, in which nothing can be enqueued.
  bool has_queue() const { return calls_ != nullptr; }
  // A new communicator gets its stream, perhaps none (null); collective, waits. Where all members'
  // makers have promised, its collectives may go by the vendor's library in the stream itself.
  static Code attach(comm::Communicator& comm, UserStream* stream);
  // NOT with the gate held, since it waits while much is under way or the stream itself is full.
  // What failed is still in `operation`.
  Result<void> put(QueuedCall& operation);
  // A request for a message that is put here, completed at its end. For its user and `operation`.
  comm::Request* make_request(QueuedCall& operation);
  bool made(const comm::Request& request) const;
  // What failed and nobody was told of yet.
  std::optional<Failure> take_failure();
  void drain();  // until all that was put has ended
  void close();  // the same, and nothing can be put any more

 private:
  friend class CallStreams;
  friend struct QueuedCall;
  UserStream(CallStreams* streams, std::shared_ptr<CallQueue> calls, bool is_promised);
  ~UserStream();
  friend class tutti::Object;
  CallStreams* streams_;
  std::shared_ptr<CallQueue> calls_;
  const bool is_promised_;
};

class CallStreams final : public types::Enqueued {
 public:
  // Who is told at once of a failure on a communicator whose errors end the job; may be null.
  using Fatal = void (*)(const Failure& failure);
  CallStreams(world::World& world, Fatal fatal);
  ~CallStreams();
  // For good: nobody works for streams any more, and nothing can be put. Other threads of the
  // program may still be in calls that look here.
  void stop();
  CallStreams(const CallStreams&) = delete;
  CallStreams& operator=(const CallStreams&) = delete;

  // By the C type of its handle, such as cudaStream_t. The caller is inside of one call: where
  // there was no gate there is one then. `is_promised`: the buffers of collectives in it lie on its
  // GPU, in one piece each.
  Result<Ref<UserStream>> open(std::string_view type, std::uintptr_t handle,
                               bool is_promised = false);
  Ref<UserStream> open_of_host();
  // Until all that was put has ended; says what failed and nobody was told of.
  void drain();

  bool is_under_way() const override { return under_way_.load(std::memory_order_seq_cst) > 0; }
  void pause() override { world_.pause(); }
  bool step_out() override { return world_.step_out(); }
  void step_in() override { world_.step_in(); }
  bool begin_rest() override;
  void end_rest() override;
  void ask(const char* function, bool is_barred) override;

 private:
  friend class UserStream;
  friend class CallQueue;
  Result<void> start();
  void work();
  bool step();
  void nap(Backoff& backoff);
  void sleep();
  void wake();
  void look_for_losses();
  void look_at_members();
  bool is_any_reached();
  void watch();
  const char* say_silence(int seconds, bool is_barred);
  std::string oldest_call();
  void forget(const CallQueue& queue);

  world::World& world_;
  const Fatal fatal_;
  // Who puts counts and marks with a share of it; while queues rest it is taken, and no stream
  // comes to stand still.
  std::shared_mutex marks_;
  bool rests_ = false;  // with the gate
  std::mutex mutex_;    // of queues_, which change with the gate held, too
  std::vector<std::shared_ptr<CallQueue>> queues_;
  // seq_cst, with sleeps_: whoever puts an operation counts it and then looks whether our thread
  // sleeps; our thread says that it sleeps and then looks at the count. A call that is not enqueued
  // looks at the count, too, after it has put its event (types/device.cc, Devices::begin).
  std::atomic<std::int64_t> under_way_ = 0;
  // Of these, those that a vendor's library runs: relaxed, a matter of when our thread looks.
  std::atomic<int> streamed_ = 0;
  std::atomic<bool> sleeps_ = false;
  std::atomic<std::uint32_t> wake_word_ = 0;
  std::atomic<bool> is_over_ = false;
  std::int64_t looked_ns_ = 0, looked_at_members_ns_ = 0;
  int in_flight_ = 0;  // begun and not ended: guarded by the gate
  QuietThread thread_;
  // Who sees that the driver does not answer. The function that was asked is relaxed, for a line to
  // a person; the word changes at the end.
  std::atomic<const char*> asked_ = nullptr;
  std::atomic<std::uint32_t> watch_word_ = 0;
  QuietThread watch_;
};

}  // namespace tutti::enqueue
