// standin_nccl: NCCL for machines without a GPU, as far as Tutti calls it, with NCCL's rules:
//
//   - one rank a device and host (NCCL_HOSTID, or the host's name), unless
//     NCCL_MULTI_RANK_GPU_ENABLE is 1 and this is 2.30; all or none come to be;
//   - over several hosts each names the interface (NCCL_SOCKET_IFNAME), unless hosts are made up;
//   - members make the same calls in the same order: else the process ends with both calls' names;
//   - nothing but questions is allowed while a communicator is in progress;
//   - work is a stream's: it begins when what is before it has ended, and waits there for the
//   others;
//   - a group is of one communicator and one stream: here alone, others are refused;
//   - in place means NCCL's places: of a reduce_scatter the own block;
//   - an abort ends what is in the stream, here alone.
//
// STANDIN_NCCL_ROOM=1: kernels of two communicators do not fit on a GPU together.
// STANDIN_NCCL_ALLOCATES=1: each call takes memory, and gives some back, as a real one does in the
// first of an algorithm: the driver waits for all streams of the context then, also for one that
// stands still. =first: the first call of a communicator does.
// STANDIN_NCCL_LOAD_US: loading its kernels takes a new communicator so long. The first kernel
// after that waits for all streams of the context, as NCCL's manual hints at (NCCL_SET_STACK_SIZE).
// STANDIN_NCCL_WORK_US: each piece of work takes so long beside its own.
// STANDIN_NCCL_FAIL says which function fails (trouble.cc), STANDIN_NCCL_VERSION what version this
// is.
//
// Data pass through a memory file that the maker of the id owns, chunk by chunk; a member reads and
// writes its device's memory as the stand-in driver's kernels do.
#pragma once

#include <cuda.h>
#include <nccl.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The stand-in driver's.
extern "C" [[gnu::weak]] void tutti_standin_loads(CUcontext context);

namespace standin_nccl {

constexpr int kMostRanks = 16;
constexpr std::size_t kChunk = std::size_t{256} << 10;  // of a rank in the file

// Of the file: what members say, then their chunks.
struct Member {
  std::atomic<std::uint64_t> has_come;
  std::uint64_t host;
  int device;
  std::atomic<std::uint64_t> arrived;  // meetings so far
  char call[64];                       // in words
};
// What goes from one rank to another: only these two take part in it.
struct Pair {
  std::atomic<std::uint64_t> filled;  // bytes that are in the chunk
  std::uint64_t total;                // of the message
};
constexpr std::size_t kPairChunk = std::size_t{64} << 10;
struct File {
  Member members[kMostRanks];
  Pair pairs[kMostRanks][kMostRanks];  // by sender and receiver
  std::byte* chunk(int rank) {
    return reinterpret_cast<std::byte*>(this) + sizeof(File) +
           static_cast<std::size_t>(rank) * kChunk;
  }
  std::byte* pair_chunk(int from, int to) {
    return chunk(kMostRanks) + static_cast<std::size_t>(from * kMostRanks + to) * kPairChunk;
  }
};
constexpr std::size_t kFileBytes =
    sizeof(File) + kMostRanks * kChunk + std::size_t{kMostRanks * kMostRanks} * kPairChunk;

// What an id says.
struct IdWords {
  int pid;
  int fd;
};

// meeting.cc
File* map_file(const IdWords& id);
IdWords make_file();

struct Message {
  const std::byte* from = nullptr;
  std::byte* into = nullptr;
  std::size_t bytes = 0;
  int peer = 0;
};

enum class What { allreduce, reduce, broadcast, allgather, reduce_scatter, group };
// A collective, or the messages of a group.
struct Call {
  What what = What::group;
  const void* send = nullptr;
  void* recv = nullptr;
  std::size_t count = 0;
  ncclDataType_t type = ncclInt8;
  ncclRedOp_t op = ncclSum;
  int root = 0;
  std::vector<Message> messages{};
  std::vector<Call> parts{};  // collectives of a group
};
std::string name_of(const Call& call);
std::size_t size_of(ncclDataType_t type);

}  // namespace standin_nccl

struct ncclComm {
  standin_nccl::File* file = nullptr;
  int rank = 0, size = 1;
  CUcontext context = nullptr;
  std::atomic<ncclResult_t> state{ncclInProgress};
  std::atomic<bool> is_aborted{false};
  std::atomic<int> in_stream{0}, on_its_way{0};
  std::uint64_t meetings = 0;  // of the stream's thread
  bool is_final = false, has_allocated = false;
};

namespace standin_nccl {

// trouble.cc: the result that this call of the function is to have.
ncclResult_t told_to(const char* function);
// This thread's last error; of threads of ours, where it had none itself.
ncclResult_t refuse(ncclResult_t result, const std::string& why);
void note_error(std::string_view why);
const char* last_words();
// meeting.cc: all members, unless one aborts here (false).
bool meet(ncclComm& comm);
int version();  // what it says it is
// Whether each is alone on its device; fills the last error.
bool are_apart(const ncclComm& comm, std::string* why);
// work.cc: on the stream's thread.
void work(ncclComm& comm, const Call& call);

}  // namespace standin_nccl
