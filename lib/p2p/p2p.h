// p2p: messages between ranks. The one matcher above all transports.
//
// Owner: one Endpoint per world. Every call is made with the gate held; only wait() blocks
// (it lets go of the gate while it sleeps). Sources in envelopes are ranks in the communicator;
// peers are ranks in the job. Order: messages of one (peer, context) match in the order they were
// sent, whatever their size (MPI 5.0, 3.5).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/fresh.h"
#include "base/knobs.h"
#include "base/result.h"
#include "p2p/frames.h"
#include "p2p/partitioned.h"
#include "transport/transport.h"
#include "types/types.h"

namespace tutti::wireup {
class Wireup;
}

namespace tutti::p2p {

inline constexpr int kAnySource = -1;  // MPI_ANY_SOURCE of the standard ABI
inline constexpr int kAnyTag = -2;     // MPI_ANY_TAG of the standard ABI; matches tags >= 0

// In an envelope, instead of a place in a communicator: a rank of the job, however many there are.
constexpr int as_job_rank(int rank) {
  return rank | 1 << 30;
}

struct Status {
  int source = kAnySource;
  int tag = kAnyTag;
  Code code = Code::ok;
  bool cancelled = false;
  std::int64_t bytes = 0;
};

// Of a message that has just come.
inline void copy_fresh(Status& to, const Status& from) {
  static_assert(sizeof(Status) == 24);  // these five fields
  to.source = fresh(from.source);
  to.tag = fresh(from.tag);
  to.code = fresh(from.code);
  to.cancelled = fresh(from.cancelled);
  to.bytes = fresh(from.bytes);
}

enum class Mode : std::uint8_t { standard, synchronous, ready, buffered };

// What a rank says whose part of a collective failed, in the place of its messages, and in the
// place of any message that a device could not give: its receivers end with an error too instead of
// waiting.
enum class GaveUp : std::uint8_t {
  no,
  lost_peer,  // since a rank is gone
  differs,    // since it met another call than its own
  failed,     // for another reason
};

struct Envelope {
  std::uint32_t context = 0;
  int source = 0;  // sending: my rank in the communicator; receiving: wanted one or kAnySource
  int tag = 0;
  std::uint32_t fingerprint = 0;  // collectives: (collective, count, type, op, root); else 0
  GaveUp gave_up = GaveUp::no;    // sending: not a message, but word of that, which is empty
};

// A pending send or receive, from the endpoint's pool. Stays until release(). It may be done
// when it is handed out; only if it is not, set on_done at once. `done` becomes true just
// before on_done runs, never earlier, so whoever sees it may release the request.
struct Pending {
  bool done = false;
  std::uint32_t number = 0;  // of a short message that has left, for recall(); else 0
  Status status;
  // Called once on completion, inside progress, gate held, also when released before; may
  // post new requests and release this one, must not wait. Set to null it is not called.
  void (*on_done)(Pending* self) = nullptr;
  void* owner = nullptr;

 protected:
  ~Pending() = default;  // release() ends it
};

// Why a message failed; no words where its code says it all. The same of a collective's, which
// names both ranks.
std::string describe_failure(const Status& status);
struct MessageFailure {
  std::string text{};
  bool is_mismatch = false;  // ranks' calls differ
  bool is_theirs = false;    // the other rank gave its call up, and knows why
};

// A message taken out of matching by a matched probe (MPI 5.0, 3.8.2).
struct KeptMessage;

// What an endpoint has done so far, and what it holds now.
struct Counters {
  std::uint64_t messages_sent = 0, bytes_sent = 0;
  std::uint64_t messages_received = 0, bytes_received = 0;
  std::uint64_t offers_sent = 0;    // messages that asked first
  std::uint64_t sends_delayed = 0;  // of these, short ones that found no room with their peer
  std::uint64_t unexpected = 0;     // messages that came before their receive
  std::uint64_t unexpected_most = 0;
  std::uint64_t unexpected_now = 0, unexpected_bytes_now = 0, posted_now = 0;
};
// Told to an observer as it happens, inside calls and progress; it must not call back.
struct Happening {
  enum class What : std::uint8_t { unexpected, send_delayed, peer_lost };
  What what;
  int peer;
  int tag;  // 0 for peer_lost, as bytes
  std::int64_t bytes;
};
using Observer = void (*)(const Happening& what);

class Core;  // what an endpoint is inside (core.h)

class Endpoint {
 public:
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  // Opens transports, publishes addresses. Links are made at first use.
  // `gpus`, which outlives it: those whose memory users' buffers may lie in; null: none so far.
  static Result<std::unique_ptr<Endpoint>> open(wireup::Wireup& wireup, const Knobs& knobs,
                                                types::Vendor* gpus = nullptr);
  // The same over transports of the caller's choice: for tests.
  using Opener = std::function<transport::Opened(const transport::Surroundings&)>;
  static Result<std::unique_ptr<Endpoint>> open_over(wireup::Wireup& wireup, const Knobs& knobs,
                                                     const Opener& opener,
                                                     types::Vendor* gpus = nullptr);

  // Sends at once, without a request, when the message is short and the link has room: the
  // path of small messages. The message's number, for recall(); 0: nothing was sent, use send().
  // Nobody asks for longer ones: to a copy of 1 us a request adds 400 instructions (by the ruler).
  static constexpr types::Count kTryBytes = 16 << 10;
  std::uint32_t try_send(int peer, const Envelope& envelope, const void* data, std::size_t bytes);
  Pending* send(Mode mode, int peer, const Envelope& envelope, const types::Buffer& buffer);
  // peer: rank in the job, or kAnySource.
  Pending* recv(int peer, const Envelope& envelope, const types::Buffer& buffer);
  // Receives at once and to the end: the path of blocking receives. No request is made when
  // the message is short and there, or comes while polling.
  Status recv_now(int peer, const Envelope& envelope, const types::Buffer& buffer);

  // Calls `then` in the next round of progress, whoever makes it, as a request that is done.
  void later(void (*then)(Pending* self), void* owner);
  // The same, once, when a rank of the first world (wireup) has been lost without having left:
  // before or after this. Null: no more.
  void when_lost(void (*then)(Pending* self), void* owner);

  // A message to ourselves, straight into the receive that waits for it. False, and nothing
  // happened: there is none, or something else stands in the way; send it as any other. Now and
  // then it is so anyhow: what goes the usual way makes its receiver look at other messages.
  bool give_to_self(const Envelope& envelope, const void* data, std::size_t bytes);

  // One look. A peer that is gone and left nothing: probe is true, take null, and the status
  // has a code that is not ok; otherwise the code is ok.
  bool probe(int peer, const Envelope& envelope, Status* status);
  KeptMessage* take(int peer, const Envelope& envelope, Status* status);
  Pending* recv_taken(KeptMessage* message, const types::Buffer& buffer);
  // Asks the peer for a message back that has left; done when it has answered.
  Pending* recall(int peer, std::uint32_t number);
  void cancel(Pending* request);  // if no message or receive has met it yet
  // Everything of this context ends with this code: what others have no hand in at once, the rest
  // as soon as they have answered. So does all that is posted in it later; a short message may
  // still leave, and is dropped where its context is cancelled too. The context stays so.
  void cancel(std::uint32_t context, Code code);
  void release(Pending* request);  // detached: freed when it is done

  // The devices whose memory buffers may lie in: a buffer says so itself.
  types::Devices& devices();
  // Work of which some memory is a device's, as a request: it may end later.
  Pending* copy(const types::Buffer& from, const types::Buffer& into);
  Pending* fold(const types::Fold& fold);
  // Done when what its caller gave the device before its latest call has ended.
  Pending* await_caller(types::Device& device);
  // Waits for such work, and releases it; its code. What is thrown meanwhile leaves here when the
  // work is done: until then the device reads and writes memory that may be the caller's.
  Code end(Pending* work);

  // Sides of one (context, source, tag) meet in the order they are made. No wildcards.
  Partitioned* send_partitioned(int peer, const Envelope& envelope,
                                const Partitioned::Shape& shape);
  Partitioned* recv_partitioned(int peer, const Envelope& envelope,
                                const Partitioned::Shape& shape);

  int progress();  // one round over the transports that are in use
  // The same for calls that may not wait (MPI_Test, MPI_Iprobe): where they come again and again in
  // vain, other ranks get the core.
  int progress_or_yield();
  void wait(Pending* request);  // until done
  // Waits once (poll, yield or sleep) when progress found nothing; for loops over many.
  void idle();
  void active();  // something moved: poll afresh

  // Whether messages of this kind of memory from that rank are read by the device that they go to:
  // there is a link for it, and the latest was not refused. Whether it can be given our buffer so,
  // which is in one piece; or what our device packs for it.
  bool reads_devices(int peer, MemoryKind kind);
  bool lets_read(int peer, const types::Buffer& buffer);
  // A collective's messages are packed from so many bytes on.
  static constexpr std::uint64_t kPackedFrom = std::uint64_t{4} << 10;
  bool lets_read_packed(int peer, types::Device& device, std::uint64_t bytes);

  // For the cost model and --report-links.
  transport::Traits traits(int peer);
  std::string link_name(int peer);
  // How messages between memory of GPUs went, a line for each peer and direction; empty: none did.
  std::string gpu_links_text();
  // Lines "FIRST-LAST TAB link TAB why" of peers, "- TAB not used TAB why" of transports left out.
  std::string links_text();
  // Lines "peer TAB link TAB messages TAB bytes" for every peer that something was sent to.
  std::string sent_text() const;
  // A receive whose fingerprint differs from its message's, or whose sender gave up, ends with
  // Code::other (since a rank is gone: with Code::proc_aborted, and no words). This is what to say
  // of one that is done, and not released; the hook turns a fingerprint into words ("allreduce of 4
  // int"), without it numbers are shown.
  MessageFailure failure_of(const Pending& request) const;
  // Why the peer that was lost last was lost; empty when none was.
  const std::string& loss_text() const;
  Code loss_code() const;  // that calls end with which need that rank
  void set_fingerprint_text(std::function<std::string(std::uint32_t)> describe);
  Counters counters() const;
  // Null: none. From any thread, gate held or not.
  void set_observer(Observer observer);
  bool is_observed() const;
  wireup::Wireup& wireup();
  transport::Waiter& waiter();
  // How waits let other threads in; null: single thread.
  void set_gate(transport::Waiter::Gate* gate);
  // The wireup knows further ranks (Wireup::add): from now on they are peers like all others, of
  // any receive from any source, too. Not from inside a callback. They know this rank before it
  // sends. (Ready, not called yet.)
  void grow();
  // Frames of other rooms: who registered a kind here is told of its frames, from any peer. (Ready,
  // not called yet, as is post_frame.)
  FrameTable& frames();
  // Sends one, at most traits(peer).max_frame bytes; a room's frames to a peer arrive in their
  // order, but may pass messages. `aux` is p2p's. Full: nothing happened, progress and try again.
  enum class Posted : std::uint8_t { yes, full, lost };
  Posted post_frame(int peer, const transport::FrameHeader& header,
                    std::span<const std::byte> payload);
  // Whether a send or receive in this context is under way, also one that was released.
  bool is_used(std::uint32_t context) const;
  // Waits until all that was sent is with its receivers; all goes on afterwards. Ours: others go on
  // and may ask for it late. Everybody's: all ranks are here, so that what no receive waits for by
  // now is taken back.
  enum class End : std::uint8_t { ours, everybodys };
  void see_off(End end);
  // Sends what is queued, then tells peers and closes links. After it nothing is received.
  void close();

  Core& core() { return *core_; }  // for tests

 private:
  explicit Endpoint(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

}  // namespace tutti::p2p
