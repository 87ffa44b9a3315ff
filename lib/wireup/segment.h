// The job segment: everything the ranks of one host share, in one memory file.
//
// The daemon (or a rank that starts alone, or a test) makes it with memfd_create, sizes and
// fills it (make_segment) and hands the descriptor to every rank. There is no
// name in any file system, so nothing can be left behind, and the limit of /dev/shm does not
// apply. The file is sparse: a lane that is not used costs no memory.
//
//   | SegmentHeader | HostRecord[hosts] | RankPlace[ranks] | rank of each local rank |
//   | topology text | RankRecord[ranks] | LocalRecord[local] | lanes: local x local | team areas |
//
// What the daemon writes at the start is compact: the records cost memory once ranks use them.
// All fields are fixed-size and position-free (offsets, not pointers). Zero-filled memory is a
// valid empty state of every lane and area. Atomics state their partner where they are used.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "model/costs.h"

namespace tutti::wireup {

inline constexpr std::uint32_t kSegmentVersion = 17;
inline constexpr std::size_t kAddressBytes = 228;
inline constexpr std::size_t kHostNameBytes = 64;

enum class RankState : std::uint32_t { starting, running, finalized, gone };
// What a sender must do to wake this rank; written by the sleeper (transport/waiter.cc).
enum class SleepState : std::uint32_t { awake, futex, doorbell };

struct HostRecord {
  char name[kHostNameBytes];  // as the launcher says, zero-terminated
  std::uint32_t local_ranks;
};

// Where a rank is; constant from the start.
struct RankPlace {
  std::int32_t host;
  std::int32_t local_rank;
};

// One per rank of the job. `ready` is set (release) by the daemon after the bytes are there;
// readers load it with acquire.
struct RankRecord {
  std::atomic<std::uint32_t> ready;
  std::uint32_t address_bytes;
  // Of its process, set by daemons.
  std::atomic<std::uint32_t> gone;  // 1: it ended without finalizing; release, acquire by readers
  std::atomic<std::uint32_t> left;  // 1: it ended behind that; relaxed
  std::byte address[kAddressBytes];
};
static_assert(sizeof(RankRecord) % 4 == 0);

// What WatchRecord::asked holds, of a rank that has calls in a GPU's streams and asks the driver
// something from inside of the library (enqueue/silence.cc).
inline constexpr std::uint64_t kAsks = 1;      // bit: it waits for the answer
inline constexpr std::uint64_t kIsBarred = 2;  // bit: none comes before those streams go on
inline constexpr std::uint64_t kQuestion = 4;  // unit of the rest: how many it has asked so far

// What a rank is in, written by the rank, read by the daemon.
struct WatchRecord {
  std::atomic<std::uint32_t> function;  // index in the interface table + 1; 0: computing
  std::uint32_t context;
  std::atomic<std::uint64_t> calls;  // entries so far: the daemon sees movement
  std::int32_t peer;
  std::int32_t tag;
  std::uint64_t bytes;
  std::uint64_t sequence;  // collective number on that communicator
  std::atomic<std::uint64_t> asked;
  std::uint64_t detailed;           // the call (its number) that the fields above are about
  std::atomic<std::uint64_t> gpus;  // bit N modulo 64: the process uses its GPU N, as we know
};
static_assert(sizeof(WatchRecord) <= kCacheLine);

// A collective call, as the other members must make it too (watch/calls.h says what is what).
struct CallRecord {
  std::uint64_t birth;    // of the communicator (comm/context_ids.h), and
  std::int32_t first;     // its first member: together they name it in this job for good
  std::uint32_t context;  // of its collectives; for words
  std::uint64_t number;   // among its calls of this kind, from 1; 0: nothing is here
  std::uint64_t others;   // calls of the other kind on it before this one
  std::uint64_t bytes;
  std::int32_t root;
  std::uint32_t fingerprint;  // operation, type, ...
  std::uint32_t terms;        // what only one side of an intercommunicator must say alike
  std::uint32_t history;      // of everything before, on that communicator; no intercommunicator's
  std::uint32_t function;     // index in the interface table + 1; 0: not known
  std::uint32_t flags;        // of watch/calls.h
};
inline constexpr std::uint32_t kRecentCalls = 16;

// The last collectives that a rank began, in turn: blocking ones, and the others; written by the
// rank, read by the daemon.
struct RecentCalls {
  struct Kind {
    std::atomic<std::uint64_t> begun;  // so far: release by the rank, acquire by the daemon
    CallRecord calls[kRecentCalls];
  } kinds[2];
};

// Messages that came to a rank and that it has not received yet; written by it, read by the daemon.
struct KeptRecord {
  std::atomic<std::uint64_t> messages;
  std::atomic<std::uint64_t> bytes;    // of them that are here; others were only announced
  std::atomic<std::uint64_t> waiting;  // of them whose senders wait for room here
};

// One per rank of this host, on lines of its own.
struct alignas(kCacheLine) LocalRecord {
  // Line 0: read by every sender, written rarely.
  std::atomic<std::uint32_t> sleep;      // SleepState
  std::atomic<std::uint32_t> wake_word;  // futex word: bumped by whoever wakes
  std::int32_t pid;                      // 0 until the rank has joined; for process_vm_readv
  std::atomic<std::uint32_t> state;      // RankState
  // What neighbours ask before they trust a way of the kernel's to this process (transport/wake.h,
  // transport/shm/single_copy.cc).
  std::uint64_t probe_address;  // of a word in that rank's memory
  std::uint64_t probe_value;    // what the word holds; 0: not there yet
  std::uint64_t has_barriers;   // 1: membarrier works in that rank
  std::uint64_t pid_namespace;  // the one that its process id belongs to
  // Line 1: watch record.
  alignas(kCacheLine) WatchRecord watch;
  alignas(kCacheLine) RecentCalls recent;
  alignas(kCacheLine) KeptRecord kept;
  // Last lines: bitmap of local ranks that have ever sent here (the shm transport's).
  alignas(kCacheLine) std::atomic<std::uint64_t> senders[64];  // 4096 local ranks
};

// The plain part of the header: written before any rank starts, constant from then on.
struct SegmentFacts {
  char magic[8];  // "tuttiseg"
  std::uint32_t version;
  std::uint32_t ranks;
  std::uint32_t hosts;
  std::uint32_t this_host;
  std::uint32_t local_ranks;
  // Ranks of the job on this machine, those of its other names and virtual hosts included, and the
  // processors that they may use together (cgroup, quota, affinity included).
  std::uint32_t machine_ranks, cores;
  bool is_oversubscribed() const { return machine_ranks > cores; }
  model::Costs costs;  // the same on every host: algorithms are chosen by them
  std::uint64_t job_id;
  // Which of the MPI programs that each rank runs one after another this is, from 0. Each has a
  // segment of its own: nothing that neighbours know of the one before holds for the next.
  std::uint32_t generation;
  std::uint8_t job_key[32];  // secret of this job (libsodium), the same on every host
  std::uint64_t bytes;
  std::uint64_t hosts_at, places_at, ranks_of_at, topology_at, topology_bytes, ranks_at, locals_at;
  std::uint64_t lanes_at, lane_bytes;                          // lane(from, to): see lane_offset
  std::uint32_t lane_lines, lane_data_bytes, lane_cell_bytes;  // geometry of a lane
  std::uint64_t areas_at, area_bytes;                          // team areas (shm delegate)
  std::uint32_t area_count, area_slot_bytes;                   // an area: local_ranks slots
};

struct SegmentHeader : SegmentFacts {
  std::atomic<std::uint64_t> areas_used[4];  // bitmap; taken by CAS by a team's lowest rank
  alignas(kCacheLine) std::atomic<std::uint32_t> addresses_epoch;  // futex: addresses arrived
  std::atomic<std::uint32_t> aborted;  // 1: the job is being ended; futex-woken
};

struct SegmentShape {
  std::uint32_t ranks = 1;
  std::uint32_t hosts = 1;
  std::uint32_t local_ranks = 1;
  std::size_t topology_bytes = 0;
  std::uint64_t address_space = 0;  // that each process may have (ulimit -v); 0: without limit
};

// Offsets and geometry for a job of this shape (everything but names, keys and facts).
SegmentFacts plan_segment(const SegmentShape& shape);

// A mapped segment. Move-only; unmaps at the end. Pointers stay valid for its lifetime.
class Segment {
 public:
  Segment() = default;
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  ~Segment();

  // Makes the file, sizes and seals it, maps it and writes `facts`. Errors: no memory file.
  static Result<Segment> create(const SegmentFacts& facts);
  // Maps an inherited descriptor; checks magic, version and size.
  static Result<Segment> attach(int fd);

  int fd() const { return fd_.get(); }
  SegmentHeader& header() const { return *reinterpret_cast<SegmentHeader*>(base_); }
  // How it is laid out, by which everything below is found: this process's own copy, since any rank
  // can write into the header. What make_segment() fills in besides, and the key, stand there only.
  const SegmentFacts& layout() const { return layout_; }
  HostRecord& host(std::uint32_t host) const;
  RankPlace& place(std::uint32_t rank) const;
  std::int32_t& rank_of(std::uint32_t local) const;
  RankRecord& rank(std::uint32_t rank) const;
  LocalRecord& local(std::uint32_t local) const;
  std::byte* lane(std::uint32_t from_local, std::uint32_t to_local) const;
  std::byte* area(std::uint32_t area) const;  // area_slot_bytes per local rank
  std::string_view topology() const;          // topo's text of the machine, may be empty
  std::byte* base() const { return base_; }

 private:
  UniqueFd fd_;
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  SegmentFacts layout_{};
};

// What a launcher knows of a job, as far as one host needs it.
struct JobFacts {
  std::vector<std::string> hosts;  // names, as the launcher says
  std::vector<int> host_of;        // host index of each rank of the job
  int this_host = 0;
  int machine_ranks = 0;    // of the job, on the machine that this host is or is a part of
  std::uint32_t cores = 1;  // processors that these may use together
  model::Costs costs;
  std::uint64_t job_id = 0;
  std::uint32_t generation = 0;
  std::span<const std::uint8_t> key;  // 32 bytes
  std::string topology;               // topo's text of the machine, may be empty
};

// Makes and fills the segment of one host. Local ranks are numbered in rank order.
Result<Segment> make_segment(const JobFacts& facts);

}  // namespace tutti::wireup
