// transport: moves frames between two processes. Knows no tags, communicators, collectives.
//
// Owner: the world owns the transports; links, regions, remotes and loans are objects of whoever
// asked for them, and end before the transport they are of. Everything here is called
// with the world's gate held (one thread at a time) and nothing blocks except Waiter::pause.
// Frames of one link arrive in the order they were posted; only on bulk links they may overtake
// each other. A transport calls back only through the Sink it was given, and only from inside
// progress() or try_post().
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/knobs.h"
#include "base/memory.h"
#include "base/result.h"
#include "transport/loan.h"    // IWYU pragma: export
#include "transport/region.h"  // IWYU pragma: export
#include "transport/waiter.h"  // IWYU pragma: export

namespace tutti::wireup {
class Segment;
class Wireup;
}  // namespace tutti::wireup
namespace tutti::types {
class Devices;
struct Buffer;
}  // namespace tutti::types

namespace tutti::transport {

// 32 bytes in front of every payload. Transports carry it; only p2p gives its fields meaning.
struct FrameHeader {
  std::uint32_t context = 0;  // communicator's context
  std::int32_t tag = 0;
  std::uint32_t source = 0;  // sender's rank in that communicator
  std::uint8_t kind = 0;
  std::uint8_t flags = 0;
  std::uint16_t aux = 0;
  std::uint64_t length = 0;  // of the whole message, or an offset, by kind
  std::uint64_t cookie = 0;  // a request of one side, or a fingerprint, by kind
};
static_assert(sizeof(FrameHeader) == 32);

struct FrameView {
  const FrameHeader* header;
  const std::byte* payload;
  std::size_t bytes;
  // Null: the payload is copied or gone when try_post returns true. Set: it stays valid until
  // done->fire, which may come before try_post returns.
  Done* done = nullptr;
  // Where the payload lies; other than the host's only with `done`, and where Link::kinds has it.
  MemoryKind kind = MemoryKind::host;
  int device = 0;         // of that kind
  bool is_piece = false;  // of a message that is longer than a frame may be
};

struct Peer {
  int rank = 0;  // in the job
  int host = 0;
  int local_rank = 0;
  bool same_host = false;
};

// Receives what transports deliver. Implemented by p2p (and by test doubles).
class Sink {
 public:
  virtual ~Sink() = default;
  // A whole frame. `payload` is valid during the call only, unless place() gave its address. False:
  // nobody sends such a frame, and nothing was done with it. The transport then breaks off with
  // that peer (on_peer_gone) and asks for no place and delivers nothing of it any more. Where it
  // throws, there was no memory for the frame, and nothing was done with it either: it is given
  // again in the next progress(), before what came behind it. (Not by ucx.)
  virtual bool on_frame(int from, const FrameHeader& header, std::span<std::byte> payload) = 0;
  // Before the payload of a long frame is read from a stream: where it should go, or null for
  // the transport's own staging. The address must stay valid until on_frame for it. All earlier
  // frames of that peer were delivered (but for those of bulk links), and the next on_frame of this
  // transport for it is for this one.
  virtual std::byte* place(int from, const FrameHeader& header, std::size_t bytes) = 0;
  // The same from a transport whose link to that peer moves other memory than the host's, too.
  virtual Memory place_any(int from, const FrameHeader& header, std::size_t bytes) {
    return {place(from, header, bytes), bytes};
  }
  // Asked before place(), where the transport can lend the payload (loan.h). True: it is not
  // placed, and on_lent() gives it.
  virtual bool wants_loan(int /*from*/, const FrameHeader& /*header*/, std::size_t /*bytes*/) {
    return false;
  }
  // on_frame() of such a payload, which is valid as long as the loan.
  virtual bool on_lent(int from, const FrameHeader& header, std::span<std::byte> payload,
                       Loan /*loan*/) {
    return on_frame(from, header, payload);
  }
  // The process is gone; no frame of it comes any more, and no memory that place() gave for one is
  // written to. Called once per peer.
  virtual void on_peer_gone(int peer, const Error& why) = 0;
  // The job segment says that the peer has ended, and `link` (a transport's name) has no connection
  // with it. That counts only for the peer's ordered link: another link has nothing to say of one
  // that may still bring what the peer sent.
  virtual void on_peer_ended(int peer, const char* /*link*/, const Error& why) {
    on_peer_gone(peer, why);
  }
};

inline constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();  // of bytes

struct Traits {
  bool reaches = false;
  std::string why;              // one clause, for --report-links: "same host", "no RDMA device"
  const char* kind = "tcp";     // its row in the table of costs (model/costs.h)
  double wire_gbits = 0;        // rate of the network below; 0: none, or not known
  std::size_t max_frame = 0;    // payload bytes of one frame; 0: it only reads the peer's memory
  std::size_t eager_bytes = 0;  // up to here one frame without asking is cheapest
  // Beside another link: from so many bytes on it carries the data of a message. kNever: it is no
  // bulk link. And between which kinds of memory.
  std::size_t bulk_from = kNever;
  // One of several alike, beside this transport's ordered link only: the parts of a message go by
  // them in turn.
  bool is_rail = false;
  MemoryKinds kinds = kinds_of(MemoryKind::host);
  bool gets = false;              // expose, import and get work
  bool puts = false;              // put, too
  bool atomics = false;           // and atomic
  std::size_t get_from = kNever;  // bytes from which memory is offered for gets
  bool gets_are_judged = false;   // whether a get beats frames is found out; else it is known to
};

class Link {
 public:
  virtual ~Link() = default;
  // False: full for now; call progress() and retry. Never partial.
  virtual bool try_post(const FrameView& frame) = 0;
  // All that was posted has been delivered. False where the link does not know.
  virtual bool is_empty() const { return false; }
  // Memory that payloads may be posted from, and are placed in by the peer: both ends can.
  virtual MemoryKinds kinds() const { return kinds_of(MemoryKind::host); }
  // Something that was posted lies in this process and leaves by progress() only.
  virtual bool has_unsent() const { return false; }
  // The peer's region with this key, which it says that it made: nothing in it is believed unseen.
  // Where importing costs much, the link keeps what was imported, by key, and hands out shares.
  virtual Result<std::unique_ptr<Remote>> import(BlobView key);
  // Reads into.bytes from `offset` of a remote that this link imported; an error where that lies
  // outside of it. Fires done, possibly at once, and touches neither `from` nor `into` after that.
  // Links that reach the host's memory take contiguous buffers of the host's only.
  virtual Result<void> get(Remote& from, std::uint64_t offset, const types::Buffer& into,
                           Done* done);
  // (Ready, not called yet: this and the two below.)
  // Writes from.bytes there, likewise. Fires done when `from` may be changed again; that it has
  // arrived says flush only, and until then puts may overtake each other.
  virtual Result<void> put(Remote& to, std::uint64_t offset, const types::Buffer& from, Done* done);
  // On a word of 4 or 8 bytes, as long as `before`, at a multiple of its length. Fires done when
  // what stood there is in `before`. It is atomic beside what the same kind of link does there, and
  // beside nothing else: not the peer's own stores, nor what comes to the peer as frames.
  virtual Result<void> atomic(Remote& at, std::uint64_t offset, const Atomic& what,
                              const Memory& before, Done* done);
  // Fires done when all that was put before has arrived in the peer's memory; with false where some
  // of it could not. Links whose puts are there when put() returns keep this one.
  virtual Result<void> flush(Done* done);
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual const char* name() const = 0;
  virtual Traits traits(const Peer& peer) const = 0;
  virtual Blob address() const = 0;  // empty: peers need nothing
  virtual Result<std::unique_ptr<Link>> connect(const Peer& peer, BlobView address) = 0;
  // Lets peers that have a link of this transport read `memory` until the region ends.
  virtual Result<std::unique_ptr<Region>> expose(const Memory& memory);
  virtual int progress() = 0;  // events handled; 0 means idle
  // A descriptor that polls readable when progress() would find something, or -1 when the
  // transport wakes sleepers through the job segment (shm) or never needs to (self). Always the
  // same one; asking arms it, so the waiter asks before every sleep, then progresses once more.
  virtual int wait_fd() = 0;
  // Asked now and then while the rank waits: the next progress() also looks for peers that are
  // gone without having said so on a link.
  virtual void look_around() {}
  // Asked where rounds are long: the next progress() looks at all there is, not only at what is
  // busy.
  virtual void look_at_all() {}
  // A further connection to each peer, from 1 on, as a transport that is served by this one and
  // used no longer; null: there are no more.
  virtual std::unique_ptr<Transport> rail(int /*number*/) { return nullptr; }
  // Another link of this peer has lost it. From here on nothing of it is delivered, no memory that
  // place() gave for it is written to, and what is pinned for it is given back. Said where a peer
  // has bulk links, to the transports of all its links.
  virtual void drop(int peer);
};

// Everything a transport is made from; outlives it.
struct Surroundings {
  wireup::Wireup* wireup;
  Sink* sink;
  const Knobs* knobs;
  const types::Devices* devices = nullptr;  // complete from the start; null: none
};

// The explicit list, in order of preference (order.cc): self, shm, cuda_ipc, ucx, tcp. Each only if
// this job can use it. A transport that cannot start is left out, and says why in the report.
struct Opened {
  std::vector<std::unique_ptr<Transport>> transports;
  std::vector<std::string> left_out;  // "ucx: libucp.so.0 not found"
  std::vector<std::string> unnamed;   // by TUTTI_LINK, which leaves them out
};
Opened open_all(const Surroundings& around);
// "TUTTI_LINK=shm leaves out ucx, tcp", where there are some.
std::string unnamed_text(const Opened& opened, const Knobs& knobs);

// The links to a peer. The ordered one carries what opens and ends messages, and all that no bulk
// link is for; there may be any number of those.
struct Picked {
  std::size_t index;  // into the list of transports
  Traits traits;
};
struct Route {
  Picked ordered;
  std::vector<Picked> bulk;  // in order of preference
  // Carry no frames and read memory of the peer's that is not the host's.
  std::vector<Picked> readers;
};
// TUTTI_LINK honoured; an error names the peer, its host and every transport's reason.
Result<Route> pick(const Opened& opened, const Peer& peer, const Knobs& knobs);
// Whether data of such a message, from and to memory of these kinds, go by a bulk link with these
// traits: by the first that says so; by the ordered one where none does.
bool carries(const Traits& bulk, std::uint64_t bytes, MemoryKind from, MemoryKind to);

// Memory of another rank of this host, read by process_vm_readv, for callers that work in shared
// memory and have no link to it. is_readable(): the rank has started and lets others read. Whether
// the kernel lets us, a read of no bytes finds out.
struct LocalPair {
  std::uint32_t me, peer;  // local ranks
};
// So much of a peer's memory is read at a time, by whatever link: others have their turn in
// between.
inline constexpr std::size_t kMostReadAtOnce = std::size_t{1} << 20;
bool is_readable(const wireup::Segment& segment, std::uint32_t local);
Result<void> read_neighbour(const wireup::Segment& segment, LocalPair who, std::uint64_t from,
                            const Memory& into);

}  // namespace tutti::transport
