// NCCL's functions: communicators that come to be in a thread, calls that are put into streams.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "standin_nccl.h"

using namespace standin_nccl;

namespace {

std::atomic<unsigned long long> served{0};

struct Group {
  int depth = 0;
  ncclComm_t comm = nullptr;
  CUstream stream = nullptr;
  Call call;
};
thread_local Group group;

#define TOLD(function) \
  if (const ncclResult_t no = told_to(function); no != ncclSuccess) return no

std::uint64_t host_number() {
  char name[256] = "";
  const char* const given = std::getenv("NCCL_HOSTID");
  ::gethostname(name, sizeof name - 1);
  return std::hash<std::string>{}(given != nullptr ? given : name);
}

void take_as_long_as(const char* variable) {
  if (const char* const us = std::getenv(variable))
    ::usleep(static_cast<useconds_t>(std::atoi(us)));
}

// As the real one does first of all. STANDIN_NCCL_LOAD_US: that takes so long.
void load_kernels(CUcontext context) {
  take_as_long_as("STANDIN_NCCL_LOAD_US");
  if (&tutti_standin_loads != nullptr) tutti_standin_loads(context);
}

bool spans_hosts(const ncclComm& comm) {
  const Member* const members = comm.file->members;
  return std::any_of(members, members + comm.size,
                     [members](const Member& each) { return each.host != members[0].host; });
}

// Whether it knows by which interface to reach other hosts; where hosts are made up, nobody asks.
bool knows_its_way(const ncclComm& comm) {
  return !spans_hosts(comm) || std::getenv("NCCL_HOSTID") != nullptr ||
         std::getenv("NCCL_SOCKET_IFNAME") != nullptr;
}

// Until all members have come, or this one gives up.
void come_to_be(ncclComm* comm) {
  load_kernels(comm->context);
  comm->file->members[comm->rank].has_come.store(1);
  for (int rank = 0; rank < comm->size; ++rank)
    while (comm->file->members[rank].has_come.load() == 0) {
      if (comm->is_aborted.load()) return;
      ::usleep(100);
    }
  std::string why;
  const bool is_apart = are_apart(*comm, &why);
  const bool is_good = is_apart && knows_its_way(*comm);
  if (is_apart && !is_good) why = "no interface is named (NCCL_SOCKET_IFNAME)";
  if (!is_good) note_error(why);
  comm->state.store(is_good ? ncclSuccess : is_apart ? ncclSystemError : ncclInvalidUsage);
}

struct InStream {
  ncclComm* comm;
  Call call;
};

// STANDIN_NCCL_ROOM=1: the GPU of this process is full with one kernel; the next waits for its end.
class Room {
 public:
  explicit Room(const ncclComm& comm) {
    if (std::getenv("STANDIN_NCCL_ROOM") == nullptr) return;
    while (taken_.exchange(true) && !comm.is_aborted.load()) ::usleep(20);
    has_it_ = true;
  }
  ~Room() {
    if (has_it_) taken_.store(false);
  }

 private:
  static inline std::atomic<bool> taken_{false};
  bool has_it_ = false;
};

void run(void* data) {
  auto* const what = static_cast<InStream*>(data);
  const Room room(*what->comm);
  take_as_long_as("STANDIN_NCCL_WORK_US");
  if (spans_hosts(*what->comm)) take_as_long_as("STANDIN_NCCL_BETWEEN_US");
  if (const ncclResult_t no = told_to("work"); no != ncclSuccess) {
    what->comm->state.store(no);
    while (!what->comm->is_aborted.load()) ::usleep(50);  // a kernel that is stuck
  }
  if (!what->comm->is_aborted.load()) work(*what->comm, what->call);
  if (!what->comm->is_aborted.load()) ++served;
  --what->comm->in_stream;
  delete what;
}

// It takes memory for this call, and gives some back.
bool allocates(ncclComm& comm) {
  static const char* const told = std::getenv("STANDIN_NCCL_ALLOCATES");
  const bool is_first = !std::exchange(comm.has_allocated, true);
  return told != nullptr && (is_first || std::string_view(told) != "first");
}
bool allocate() {
  CUdeviceptr memory = 0;
  return cuMemAlloc(&memory, 8) == CUDA_SUCCESS && cuMemFree(memory) == CUDA_SUCCESS;
}

// NCCL may take a call at once or a little later, in a thread of its own.
ncclResult_t launch(ncclComm* comm, CUstream stream, Call call) {
  ++comm->in_stream;
  auto* const what = new InStream{comm, std::move(call)};
  static std::atomic<unsigned> calls{0};
  const bool takes_memory = allocates(*comm);
  if (++calls % 2 == 0 && !takes_memory)
    return cuLaunchHostFunc(stream, run, what) == CUDA_SUCCESS ? ncclSuccess
                                                               : ncclUnhandledCudaError;
  comm->state.store(ncclInProgress);
  ++comm->on_its_way;
  std::thread([comm, stream, what, takes_memory] {
    ::usleep(200);
    const bool is_good = cuCtxPushCurrent(comm->context) == CUDA_SUCCESS &&
                         (!takes_memory || allocate()) &&
                         cuLaunchHostFunc(stream, run, what) == CUDA_SUCCESS;
    if (!is_good) note_error("the stream took nothing");
    ncclResult_t in_progress = ncclInProgress;  // unless the work has failed by now
    comm->state.compare_exchange_strong(in_progress,
                                        is_good ? ncclSuccess : ncclUnhandledCudaError);
    --comm->on_its_way;
  }).detach();
  return ncclInProgress;
}

ncclResult_t join_group(ncclComm* comm, CUstream stream) {
  if (group.comm == nullptr) {
    group.comm = comm;
    group.stream = stream;
  }
  return group.comm == comm && group.stream == stream
             ? ncclSuccess
             : refuse(ncclInvalidUsage,
                      "the stand-in has one communicator and one stream in a group");
}

ncclResult_t put(ncclComm* comm, CUstream stream, Call call) {
  if (group.depth > 0) {
    if (const ncclResult_t no = join_group(comm, stream); no != ncclSuccess) return no;
    group.call.parts.push_back(std::move(call));
    return ncclSuccess;
  }
  if (comm->state.load() != ncclSuccess || comm->is_final)
    return refuse(ncclInvalidUsage, "a call on a communicator that is in progress, or over");
  CUcontext current = nullptr;
  if (cuCtxGetCurrent(&current) != CUDA_SUCCESS || current != comm->context)
    return refuse(ncclInvalidUsage, "the communicator's device is not current");
  return launch(comm, stream, std::move(call));
}

}  // namespace

// How many calls were served, for tests.
extern "C" unsigned long long tutti_standin_nccl_served() {
  return served.load();
}

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  TOLD("ncclGetVersion");
  *version = standin_nccl::version();
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSuccess        ? "no error"
         : result == ncclInvalidUsage ? "invalid usage (as the stand-in sees it)"
                                      : "unhandled error (as the stand-in sees it)";
}
const char* ncclGetLastError(ncclComm_t) {
  return last_words();
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  TOLD("ncclGetUniqueId");
  const IdWords words = make_file();
  std::memset(id, 0, sizeof *id);
  std::memcpy(id->internal, &words, sizeof words);
  return ncclSuccess;
}

// For good, also after its end: its threads may still look at it.
static ncclComm* make_comm() {
  static auto& all = *new std::deque<ncclComm>;
  static auto& mutex = *new std::mutex;
  const std::scoped_lock hold(mutex);
  return &all.emplace_back();
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  TOLD("ncclCommInitRankConfig");
  CUdevice device = 0;
  int bus = 0;  // by which processes know that they mean the same
  auto* const comm = make_comm();
  if (config->blocking != 0) return refuse(ncclInvalidArgument, "the stand-in never blocks");
  if (size > kMostRanks) return refuse(ncclInvalidArgument, "the stand-in has room for 16 ranks");
  if (cuCtxGetDevice(&device) != CUDA_SUCCESS ||
      cuDeviceGetAttribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device) != CUDA_SUCCESS ||
      cuCtxGetCurrent(&comm->context) != CUDA_SUCCESS)
    return refuse(ncclUnhandledCudaError, "no device is current");
  IdWords words{};
  std::memcpy(&words, id.internal, sizeof words);
  comm->file = map_file(words);
  if (comm->file == nullptr) return refuse(ncclSystemError, "nobody is at this id");
  comm->rank = rank;
  comm->size = size;
  Member& mine = comm->file->members[rank];
  mine.host = host_number();
  mine.device = bus;
  *made = comm;
  if (told_to("meeting") == ncclSuccess) std::thread(come_to_be, comm).detach();  // else never
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  *state = comm->state.load();
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (comm->is_final) return refuse(ncclInvalidUsage, "finalized twice");
  comm->is_final = true;
  comm->state.store(ncclInProgress);
  std::thread([comm] {
    while (comm->in_stream.load() > 0 && !comm->is_aborted.load()) ::usleep(50);
    comm->state.store(told_to("ncclCommFinalize"));
  }).detach();
  return ncclInProgress;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (!comm->is_final || comm->in_stream.load() > 0)
    return refuse(ncclInvalidUsage, "destroyed before it was finalized");
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  comm->is_aborted.store(true);
  while (comm->on_its_way.load() > 0) ::usleep(20);  // its stream may go away now
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  TOLD("ncclGroupStart");
  if (group.depth++ == 0) group = {1, nullptr, nullptr, {}};
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (group.depth == 0) return refuse(ncclInvalidUsage, "no group was started");
  if (--group.depth > 0 || group.comm == nullptr) return ncclSuccess;
  TOLD("ncclGroupEnd");
  return put(group.comm, group.stream, std::move(group.call));
}

static ncclResult_t message(Message what, std::size_t count, ncclDataType_t type, int peer,
                            ncclComm_t comm, cudaStream_t stream) {
  if (group.depth == 0) return refuse(ncclInvalidUsage, "the stand-in has messages in groups only");
  what.bytes = count * size_of(type);
  what.peer = peer;
  if (const ncclResult_t no = join_group(comm, stream); no != ncclSuccess) return no;
  group.call.messages.push_back(what);
  return ncclSuccess;
}
ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  TOLD("ncclSend");
  return message({static_cast<const std::byte*>(from)}, count, type, peer, comm, stream);
}
ncclResult_t ncclRecv(void* into, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  TOLD("ncclRecv");
  return message({nullptr, static_cast<std::byte*>(into)}, count, type, peer, comm, stream);
}

ncclResult_t ncclAllReduce(const void* send, void* recv, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  TOLD("ncclAllReduce");
  return put(comm, stream, {What::allreduce, send, recv, count, type, op});
}
ncclResult_t ncclReduce(const void* send, void* recv, size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  TOLD("ncclReduce");
  return put(comm, stream, {What::reduce, send, recv, count, type, op, root});
}
ncclResult_t ncclBroadcast(const void* send, void* recv, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  TOLD("ncclBroadcast");
  return put(comm, stream,
             {What::broadcast, send, recv, count * size_of(type), ncclInt8, ncclSum, root});
}
ncclResult_t ncclAllGather(const void* send, void* recv, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  TOLD("ncclAllGather");
  return put(comm, stream, {What::allgather, send, recv, count * size_of(type), ncclInt8});
}
ncclResult_t ncclReduceScatter(const void* send, void* recv, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  TOLD("ncclReduceScatter");
  const auto* const from = static_cast<const std::byte*>(send);
  const std::size_t block = count * size_of(type);
  if (recv >= from && recv < from + static_cast<std::size_t>(comm->size) * block &&
      recv != from + static_cast<std::size_t>(comm->rank) * block)
    return refuse(ncclInvalidArgument, "in place means the own block");
  return put(comm, stream, {What::reduce_scatter, send, recv, count, type, op});
}

}  // extern "C"
