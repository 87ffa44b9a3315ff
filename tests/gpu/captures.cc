// The program captures a graph while calls of MPI on GPU memory go on. The word says how:
//   own, other  calls in the thread that captures, or in another one, between beginning and end
//   helper      no call: a receive is under way, and a thread of the library's makes progress
//   legacy      a stream is captured that the default stream waits for: nobody can then tell when
//               that is through, so calls fail, and the capture is none the worse
//   earlier     the same, while a receive is under way that began before: it ends well
//   streamed    the same, and after it a call is put into a stream: so does that
//   made        the same, while partitioned messages are made: rounds after it are none the worse
#include <unistd.h>

#include <thread>

#include "stream_area.h"

using namespace ranks;
using gpu::Kind;

namespace {

constexpr int kElements = 300000;

struct Exchange {
  explicit Exchange(int count)
      : n(count),
        out(std::vector<int>(static_cast<std::size_t>(count), rank), Kind::pool),
        in(std::vector<int>(static_cast<std::size_t>(count), -1), Kind::pool) {}
  int run(int tag) {
    return MPI_Sendrecv(out.data(), n, MPI_INT, other, tag, in.data(), n, MPI_INT, other, tag,
                        MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  bool has_come() { return in.get() == std::vector<int>(static_cast<std::size_t>(n), other); }

  const int other = 1 - rank;
  const int n;
  gpu::Vector<int> out, in;
};

CUstream begin_capture(unsigned flags) {
  CUstream stream = nullptr;
  CU(cuStreamCreate(&stream, flags));
  CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  return stream;
}

void end_capture(CUstream stream) {
  CUgraph graph = nullptr;
  CHECK(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  if (graph != nullptr) CU(cuGraphDestroy(graph));
  CU(cuStreamDestroy(stream));
}

void beside_calls(bool in_other_thread) {
  Exchange exchange(kElements);
  CHECK(exchange.run(1) == MPI_SUCCESS);
  const auto call = [&exchange] {
    CU(cuCtxSetCurrent(gpu::contexts[0]));
    for (int round = 0; round < 5; ++round) CHECK(exchange.run(2) == MPI_SUCCESS);
  };
  const CUstream stream = begin_capture(CU_STREAM_NON_BLOCKING);
  if (in_other_thread)
    std::thread(call).join();
  else
    call();
  end_capture(stream);
  CHECK(exchange.has_come());
}

// Our streams and memory come to be inside.
void before_first_call() {
  Exchange exchange(kElements);
  const CUstream stream = begin_capture(CU_STREAM_NON_BLOCKING);
  CHECK(exchange.run(1) == MPI_SUCCESS);
  end_capture(stream);
  CHECK(exchange.has_come());
}

// The peer sends when rank 0 captures; bytes come and are copied while rank 0 is in no call.
void helped() {
  Exchange exchange(kElements);
  if (rank == 0) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(exchange.in.data(), kElements, MPI_INT, 1, 3, MPI_COMM_WORLD, &request);
    const CUstream stream = begin_capture(CU_STREAM_NON_BLOCKING);
    MPI_Send(nullptr, 0, MPI_INT, 1, 4, MPI_COMM_WORLD);
    ::usleep(300000);
    end_capture(stream);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(exchange.has_come());
  } else {
    MPI_Recv(nullptr, 0, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(MPI_Send(exchange.out.data(), kElements, MPI_INT, 0, 3, MPI_COMM_WORLD) == MPI_SUCCESS);
  }
}

// What the default stream still has to write comes before a send, or the send fails.
void beside_default_stream() {
  Exchange exchange(1 << 22);
  CHECK(exchange.run(1) == MPI_SUCCESS);
  exchange.out.put(std::vector<int>(std::size_t{1} << 22, 100 + rank));  // takes its time
  const CUstream stream = begin_capture(CU_STREAM_DEFAULT);
  CHECK(exchange.run(2) != MPI_SUCCESS);
  end_capture(stream);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(exchange.run(3) == MPI_SUCCESS);
  CHECK(exchange.in.get() == std::vector<int>(std::size_t{1} << 22, 100 + exchange.other));
}

// A call on GPU memory that fails, since nobody can tell what it would have to wait for.
void fail_beside_default_stream(Exchange& exchange) {
  std::vector<int> packed(kElements);
  int position = 0;
  exchange.out.put(std::vector<int>(kElements, rank));  // takes its time
  const CUstream stream = begin_capture(CU_STREAM_DEFAULT);
  CHECK(MPI_Pack(exchange.out.data(), kElements, MPI_INT, packed.data(), kElements * 4, &position,
                 MPI_COMM_WORLD) != MPI_SUCCESS);
  end_capture(stream);
}

void goes_on() {
  Exchange exchange(kElements);
  CHECK(exchange.run(1) == MPI_SUCCESS);
  if (rank == 0) {
    exchange.in.put(std::vector<int>(kElements, -1));
    MPI_Request receive = MPI_REQUEST_NULL;
    MPI_Irecv(exchange.in.data(), kElements, MPI_INT, 1, 2, MPI_COMM_WORLD, &receive);
    fail_beside_default_stream(exchange);
    MPI_Send(nullptr, 0, MPI_INT, 1, 3, MPI_COMM_WORLD);
    CHECK(MPI_Wait(&receive, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(exchange.has_come());
  } else {
    MPI_Recv(nullptr, 0, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(MPI_Send(exchange.out.data(), kElements, MPI_INT, 0, 2, MPI_COMM_WORLD) == MPI_SUCCESS);
  }
}

void goes_on_in_stream() {
  Exchange exchange(kElements);
  CHECK(exchange.run(1) == MPI_SUCCESS);
  const gpu::Lane lane;
  exchange.in.put(std::vector<int>(kElements, -1));
  fail_beside_default_stream(exchange);
  CU(cuStreamSynchronize(CU_STREAM_LEGACY));
  MPIX_Allreduce_enqueue(exchange.out.data(), exchange.in.data(), kElements, MPI_INT, MPI_SUM,
                         lane.comm);
  lane.wait();
  CHECK(exchange.in.get() == std::vector<int>(kElements, 1));
}

// Its start, in the capture, fails; the next one does not.
void made_beside_default_stream() {
  Exchange exchange(kElements);
  CHECK(exchange.run(1) == MPI_SUCCESS);
  exchange.in.put(std::vector<int>(kElements, -1));
  exchange.out.put(std::vector<int>(kElements, rank));  // takes its time
  MPI_Request both[2];
  const CUstream stream = begin_capture(CU_STREAM_DEFAULT);
  CHECK(MPI_Psend_init(exchange.out.data(), 1, kElements, MPI_INT, exchange.other, 2,
                       MPI_COMM_WORLD, MPI_INFO_NULL, &both[0]) == MPI_SUCCESS);
  CHECK(MPI_Precv_init(exchange.in.data(), 1, kElements, MPI_INT, exchange.other, 2, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &both[1]) == MPI_SUCCESS);
  CHECK(MPI_Start(&both[1]) != MPI_SUCCESS);
  end_capture(stream);
  CHECK(MPI_Startall(2, both) == MPI_SUCCESS);
  CHECK(MPI_Pready(0, both[0]) == MPI_SUCCESS);
  CHECK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
  CHECK(exchange.has_come());
  for (MPI_Request& each : both) MPI_Request_free(&each);
}

}  // namespace

int main(int, char** argv) {
  const std::string how = argv[1];
  begin(MPI_THREAD_MULTIPLE);
  gpu::begin();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (how == "own") before_first_call();
  if (how == "own" || how == "other") beside_calls(how == "other");
  if (how == "helper") helped();
  if (how == "legacy") beside_default_stream();
  if (how == "earlier") goes_on();
  if (how == "streamed") goes_on_in_stream();
  if (how == "made") made_beside_default_stream();
  return done();
}
