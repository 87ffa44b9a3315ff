// What goes wrong with calls in streams: an error that names the call and the stream, and nothing
// that stands still. The word says what.
#include <csignal>
#include <cstring>
#include <thread>

#include "stream_area.h"

using namespace ranks;
using gpu::Flow;
using gpu::Kind;
using gpu::Lane;

namespace {

int create(const char* type, std::uintptr_t value, MPIX_Stream* stream, bool has_value = true) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "type", type);
  if (has_value) MPIX_Info_set_hex(info, "value", &value, sizeof value);
  const int code = MPIX_Stream_create(info, stream);
  MPI_Info_free(&info);
  return class_of(code);
}

void wrong_streams(const Lane& lane) {
  MPIX_Stream none = MPIX_STREAM_NULL;
  CHECK(create("hipStream_t", 1, &none) == MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK(create("cudaStream_t", 0, &none, false) == MPI_ERR_INFO_VALUE);
  CHECK(create("cudaStream_t", reinterpret_cast<std::uintptr_t>(CU_STREAM_PER_THREAD), &none) ==
        MPI_ERR_ARG);
  CHECK(class_of(MPIX_Stream_create(MPI_INFO_NULL, nullptr)) == MPI_ERR_ARG);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "type", "cudaStream_t");
  MPI_Info_set(info, "value", "zz00000000000000");
  CHECK(class_of(MPIX_Stream_create(info, &none)) == MPI_ERR_INFO_VALUE);
  CHECK(class_of(MPIX_Info_set_hex(info, "value", &none, -1)) == MPI_ERR_ARG);
  CHECK(class_of(MPIX_Info_set_hex(info, "value", &none, 1 << 30)) == MPI_ERR_INFO_VALUE);
  CHECK(class_of(MPIX_Info_set_hex(MPI_INFO_NULL, "value", &none, 8)) == MPI_ERR_INFO);
  char hex[32] = "";
  int room = sizeof hex, found = 0;
  const unsigned char bytes[] = {0, 0x1f, 0xfe};
  MPIX_Info_set_hex(info, "other", bytes, sizeof bytes);
  MPI_Info_get_string(info, "other", &room, hex, &found);
  CHECK(found == 1 && std::strcmp(hex, "001ffe") == 0);
  MPI_Info_free(&info);
  CHECK(none == MPIX_STREAM_NULL);
  CHECK(class_of(MPIX_Stream_free(&none)) == MPI_ERR_ARG);
  // One of the host is a stream, but not one that works.
  MPI_Comm host;
  CHECK(MPIX_Stream_create(MPI_INFO_NULL, &none) == MPI_SUCCESS);
  CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, none, &host) == MPI_SUCCESS);
  CHECK(class_of(MPIX_Barrier_enqueue(host)) == MPI_ERR_COMM);
  MPI_Comm_free(&host);
  MPIX_Stream freed = none;
  CHECK(MPIX_Stream_free(&none) == MPI_SUCCESS && none == MPIX_STREAM_NULL);
  CHECK(class_of(MPIX_Stream_free(&freed)) == MPI_ERR_ARG);
  MPIX_Stream found_stream = MPIX_STREAM_NULL;
  CHECK(MPIX_Comm_get_stream(lane.comm, 0, &found_stream) == MPI_SUCCESS &&
        found_stream == lane.handle);
  CHECK(class_of(MPIX_Comm_get_stream(lane.comm, 1, &found_stream)) == MPI_ERR_ARG);
  CHECK(MPIX_Comm_get_stream(MPI_COMM_WORLD, 0, &found_stream) == MPI_SUCCESS &&
        found_stream == MPIX_STREAM_NULL);
}

void wrong_calls(const Lane& lane) {
  int word[2] = {};
  MPI_Request request = MPI_REQUEST_NULL, other = MPI_REQUEST_NULL;
  CHECK(class_of(MPIX_Barrier_enqueue(MPI_COMM_WORLD)) == MPI_ERR_COMM);
  CHECK(class_of(MPIX_Barrier_enqueue(MPI_COMM_NULL)) == MPI_ERR_COMM);
  CHECK(class_of(MPIX_Send_enqueue(word, -1, MPI_INT, 0, 0, lane.comm)) == MPI_ERR_COUNT);
  CHECK(class_of(MPIX_Send_enqueue(word, 1, MPI_DATATYPE_NULL, 0, 0, lane.comm)) == MPI_ERR_TYPE);
  CHECK(class_of(MPIX_Send_enqueue(word, 1, MPI_INT, size, 0, lane.comm)) == MPI_ERR_RANK);
  CHECK(class_of(MPIX_Send_enqueue(word, 1, MPI_INT, 0, -1, lane.comm)) == MPI_ERR_TAG);
  CHECK(class_of(MPIX_Recv_enqueue(nullptr, 1, MPI_INT, 0, 0, lane.comm, MPI_STATUS_IGNORE)) ==
        MPI_ERR_BUFFER);
  CHECK(class_of(MPIX_Bcast_enqueue(word, 1, MPI_INT, size, lane.comm)) == MPI_ERR_ROOT);
  CHECK(class_of(MPIX_Bcast_enqueue(nullptr, 1, MPI_INT, 0, lane.comm)) == MPI_ERR_BUFFER);
  CHECK(class_of(MPIX_Alltoall_enqueue(word, 1, MPI_DATATYPE_NULL, word, 1, MPI_INT, lane.comm)) ==
        MPI_ERR_TYPE);
  const MPI_Count too_many = MPI_Count{1} << 60;
  if (size > 1)
    CHECK(class_of(MPIX_Allgather_enqueue_c(word, 1, MPI_INT, word, too_many, MPI_INT,
                                            lane.comm)) == MPI_ERR_COUNT);
  CHECK(class_of(MPIX_Allreduce_enqueue(word, word, 1, MPI_INT, MPI_OP_NULL, lane.comm)) ==
        MPI_ERR_OP);
  CHECK(class_of(MPIX_Allreduce_enqueue(word, word, 1, MPI_FLOAT, MPI_BAND, lane.comm)) ==
        MPI_ERR_OP);
  CHECK(class_of(MPIX_Wait_enqueue(nullptr, MPI_STATUS_IGNORE)) == MPI_ERR_ARG);
  CHECK(class_of(MPIX_Waitall_enqueue(-1, &request, MPI_STATUSES_IGNORE)) == MPI_ERR_ARG);
  CHECK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);  // null: nothing to do
  // A request of the host's, and those of two streams.
  MPI_Irecv(word, 1, MPI_INT, rank, 1, lane.comm, &request);
  CHECK(class_of(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE)) == MPI_ERR_REQUEST);
  MPI_Send(word, 1, MPI_INT, rank, 1, lane.comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  Lane second;
  MPI_Request both[2];
  MPIX_Irecv_enqueue(word, 1, MPI_INT, MPI_PROC_NULL, 1, lane.comm, &both[0]);
  MPIX_Irecv_enqueue(word, 1, MPI_INT, MPI_PROC_NULL, 1, second.comm, &both[1]);
  other = both[0];
  CHECK(class_of(MPIX_Waitall_enqueue(2, both, MPI_STATUSES_IGNORE)) == MPI_ERR_REQUEST);
  CHECK(both[0] == other);
  CHECK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
}

// One request twice, and by a copy of its handle once more.
void wrong_requests(const Lane& lane) {
  static int in = 0;
  const int out = 1;
  MPI_Request request;
  for (const bool is_enqueued : {true, false}) {
    MPIX_Irecv_enqueue(&in, 1, MPI_INT, rank, 2, lane.comm, &request);
    MPI_Request copy = request, twice[2] = {request, request};
    CHECK(class_of(MPIX_Waitall_enqueue(2, twice, MPI_STATUSES_IGNORE)) == MPI_ERR_REQUEST);
    CHECK(twice[0] == request && twice[1] == request);
    if (is_enqueued)
      CHECK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    else
      CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
    CHECK(class_of(MPIX_Wait_enqueue(&copy, MPI_STATUS_IGNORE)) == MPI_ERR_REQUEST);
    CHECK(class_of(MPI_Request_free(&copy)) == MPI_ERR_REQUEST);
    MPI_Send(&out, 1, MPI_INT, rank, 2, lane.comm);
    lane.wait();
  }
}

void captured(const Lane& lane) {
  int word = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  CU(cuStreamBeginCapture(lane.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(class_of(MPIX_Barrier_enqueue(lane.comm)) == MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK(class_of(MPIX_Irecv_enqueue(&word, 1, MPI_INT, 0, 1, lane.comm, &request)) ==
        MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK(request == MPI_REQUEST_NULL);
  CUgraph graph = nullptr;
  CU(cuStreamEndCapture(lane.stream, &graph));
  if (graph != nullptr) CU(cuGraphDestroy(graph));
  CHECK(MPIX_Barrier_enqueue(lane.comm) == MPI_SUCCESS);
  lane.wait();
}

// Its communicator may outlive a stream; nothing can be enqueued any more.
void freed_stream() {
  Lane lane;
  MPIX_Stream_free(&lane.handle);
  CHECK(class_of(MPIX_Barrier_enqueue(lane.comm)) == MPI_ERR_OTHER);
  MPIX_Stream found = MPIX_STREAM_NULL;
  CHECK(MPIX_Comm_get_stream(lane.comm, 0, &found) == MPI_SUCCESS && found == MPIX_STREAM_NULL);
}

void too_long(const Lane& lane) {
  Flow<int> pair(2, Kind::device), one(1, Kind::device);
  pair.put({1, 2}, lane);
  if (rank == 0) MPIX_Send_enqueue(pair.data(), 2, MPI_INT, size - 1, 1, lane.comm);
  if (rank == size - 1)
    MPIX_Recv_enqueue(one.data(), 1, MPI_INT, 0, 1, lane.comm, MPI_STATUS_IGNORE);
  lane.wait();
}

// Of two ranks the second waits for the first, which calls something else.
void differ() {
  Lane lane;
  Flow<int> word(1, Kind::device);
  if (rank == 0)
    MPIX_Allreduce_enqueue(MPI_IN_PLACE, word.data(), 1, MPI_INT, MPI_SUM, lane.comm);
  else
    MPIX_Bcast_enqueue(word.data(), 1, MPI_INT, 0, lane.comm);
  lane.wait();
}

void wrong() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  Lane lane;
  wrong_streams(lane);
  wrong_calls(lane);
  wrong_requests(lane);
  captured(lane);
  freed_stream();
  too_long(lane);
  MPI_Barrier(MPI_COMM_WORLD);
  // Told by the next call, which does nothing else, or by the stream's end.
  const int wanted = rank == size - 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
  CHECK(class_of(MPIX_Barrier_enqueue(lane.comm)) == wanted);
  if (wanted != MPI_SUCCESS) CHECK(MPIX_Barrier_enqueue(lane.comm) == MPI_SUCCESS);
  too_long(lane);
  CHECK(class_of(MPIX_Stream_free(&lane.handle)) == wanted);
  CHECK(lane.handle == MPIX_STREAM_NULL);
}

// The line that says why names the call that was enqueued.
void freed_memory() {
  Lane lane;
  MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN);
  CUdeviceptr gone = 0;
  CU(cuMemAlloc(&gone, 8));
  CU(cuMemFree(gone));
  MPIX_Allreduce_enqueue(MPI_IN_PLACE, reinterpret_cast<void*>(gone), 2, MPI_INT, MPI_SUM,
                         lane.comm);
  lane.wait();
  CHECK(class_of(MPIX_Stream_free(&lane.handle)) == MPI_ERR_BUFFER);
}

// The others stand in a receive from it and in a sum with it.
void killed() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Lane receives, sums;
  Flow<int> got(1000, Kind::device), sum(1000, Kind::device);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) std::raise(SIGKILL);
  MPI_Request request;
  MPIX_Irecv_enqueue(got.data(), 1000, MPI_INT, size - 1, 2, receives.comm, &request);
  MPIX_Recv_enqueue(got.data(), 1000, MPI_INT, size - 1, 1, receives.comm, MPI_STATUS_IGNORE);
  MPIX_Allreduce_enqueue(MPI_IN_PLACE, sum.data(), 1000, MPI_INT, MPI_SUM, sums.comm);
  receives.wait();
  sums.wait();
  CHECK(class_of(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE)) == MPI_ERR_PROC_ABORTED);
  CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_PROC_ABORTED);
  CHECK(class_of(MPIX_Stream_free(&sums.handle)) == MPI_ERR_PROC_ABORTED);
  std::printf("rank %d goes on\n", rank);
  std::exit(failures == 0 ? 0 : 1);
}

// A GPU is lost while a stream is still on its way to a call (STANDIN_CUDA_FAIL).
void lost() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  static std::atomic<bool> goes_on = false;
  Lane lane;
  int word = 0;
  MPI_Request request;
  CU(cuLaunchHostFunc(
      lane.stream,
      [](void*) {
        while (!goes_on.load()) std::this_thread::yield();
      },
      nullptr));
  MPIX_Irecv_enqueue(&word, 1, MPI_INT, rank, 1, lane.comm, &request);
  MPIX_Recv_enqueue(&word, 1, MPI_INT, rank, 1, lane.comm, MPI_STATUS_IGNORE);
  CUdeviceptr memory = 0;
  CHECK(cuMemAllocManaged(&memory, 8, CU_MEM_ATTACH_GLOBAL) != CUDA_SUCCESS);
  CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_OTHER);
  CHECK(class_of(MPIX_Stream_free(&lane.handle)) == MPI_ERR_OTHER);
  goes_on.store(true);
  lane.stream = nullptr;
  MPI_Comm_free(&lane.comm);
}

}  // namespace

int main(int argc, char** argv) {
  begin();
  gpu::begin();
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "wrong") wrong();
  if (what == "killed") killed();
  if (what == "freed") freed_memory();
  if (what == "lost") lost();
  if (what == "fatal") too_long(Lane());
  if (what == "differ") differ();
  if (what == "untold") {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    auto* const kept = new Lane;
    too_long(*kept);
  }
  if (what == "exits") {
    auto* const kept = new Lane;
    auto* const word = new int;
    MPIX_Recv_enqueue(word, 1, MPI_INT, rank, 9, kept->comm, MPI_STATUS_IGNORE);
    std::exit(3);
  }
  return done();
}
