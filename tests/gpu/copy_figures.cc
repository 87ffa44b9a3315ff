// A small copy, and how the host sees that it has ended: a JSON object a line, by rank 0 of two.
// The first word is by what the number of copies is divided. Rank 1 lends its memory, and waits.
//
//   {"what": "small_copy", "copy": "to_host", "end": "event", "stream": "own", "bytes": 8, "us": 7}
//
// copy: to_host and to_device (pinned memory), within, neighbour (out of memory opened by its IPC
// handle). end: "event" and "word" follow the driver's copy: an event that is asked again and
// again, or a word in pinned memory that the stream writes; "kernel" is one of ours that copies and
// writes the word (told.cu), "kernel, event" and "kernel, word" the same kernel and what the stream
// does behind it; "plain" the driver's copy that waits itself; "value" eight bytes that the stream
// is told, and a word. stream: one of ours beside the default one, as lib/device has it, or the
// default one. What the driver refuses has its "error" instead of "us".
//
//   {"what": "enqueue_beside", "asks": "kernel, word", "us": 2.1}
//
// What it costs to put the mark of an enqueued call into a stream, while another thread gives the
// driver work and asks for its end.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <thread>

#include "area.h"
#include "rounds.h"
#include "told.h"

namespace tutti::device::cuda {
extern const char kPtxTold[];
}

using namespace ranks;
using gpu::Area;
using gpu::Kind;

namespace {

constexpr std::size_t kMost = 4096;

CUdeviceptr pointer(const void* address) {
  return reinterpret_cast<CUdeviceptr>(address);
}

// What ends by an event, or by a word.
struct Ends {
  Ends() {
    CUmodule module = nullptr;
    CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CU(cuModuleLoadData(&module, tutti::device::cuda::kPtxTold));
    CU(cuModuleGetFunction(&kernel, module, "tutti_told"));
    CU(cuMemHostAlloc(reinterpret_cast<void**>(&word), 64,
                      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
    *word = 0;
  }
  void await_word() const {
    while (std::atomic_ref(*word).load(std::memory_order_acquire) != number) {
    }
  }
  CUevent event = nullptr;
  CUfunction kernel = nullptr;
  std::uint32_t* word = nullptr;
  std::uint32_t number = 0;
};

struct Copy {
  const char* name;
  void* to;
  const void* from;
};

CUresult event_behind(CUevent event, CUstream stream) {
  CUresult said = cuEventRecord(event, stream);
  if (said != CUDA_SUCCESS) return said;
  while ((said = cuEventQuery(event)) == CUDA_ERROR_NOT_READY) {
  }
  return said;
}

CUstreamBatchMemOpParams writing(const std::uint32_t* word, std::uint32_t number) {
  CUstreamBatchMemOpParams write = {};
  write.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  write.writeValue.address = pointer(word);
  write.writeValue.value = number;
  write.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;  // behind a fence
  return write;
}

CUresult word_behind(Ends& ends, CUstream stream) {
  CUstreamBatchMemOpParams write = writing(ends.word, ++ends.number);
  const CUresult said = cuStreamBatchMemOp(stream, 1, &write, 0);
  if (said == CUDA_SUCCESS) ends.await_word();
  return said;
}

CUresult launch(const Ends& ends, const Copy& copy, std::size_t bytes, CUstream stream,
                std::uint32_t* word) {
  gpu::ToldParams params{static_cast<char*>(copy.to), static_cast<const char*>(copy.from),
                         static_cast<std::int64_t>(bytes), word, ends.number};
  void* arguments[] = {&params};
  return cuLaunchKernel(ends.kernel, 1, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr);
}

CUresult by_event(Ends& ends, const Copy& copy, std::size_t bytes, CUstream stream) {
  const CUresult said = cuMemcpyAsync(pointer(copy.to), pointer(copy.from), bytes, stream);
  return said == CUDA_SUCCESS ? event_behind(ends.event, stream) : said;
}

CUresult by_word(Ends& ends, const Copy& copy, std::size_t bytes, CUstream stream) {
  const CUresult said = cuMemcpyAsync(pointer(copy.to), pointer(copy.from), bytes, stream);
  return said == CUDA_SUCCESS ? word_behind(ends, stream) : said;
}

CUresult by_kernel(Ends& ends, const Copy& copy, std::size_t bytes, CUstream stream) {
  ++ends.number;
  const CUresult said = launch(ends, copy, bytes, stream, ends.word);
  if (said == CUDA_SUCCESS) ends.await_word();
  return said;
}

CUresult by_kernel_and_event(Ends& ends, const Copy& copy, std::size_t bytes, CUstream stream) {
  const CUresult said = launch(ends, copy, bytes, stream, ends.word + 1);
  return said == CUDA_SUCCESS ? event_behind(ends.event, stream) : said;
}

CUresult by_kernel_and_word(Ends& ends, const Copy& copy, std::size_t bytes, CUstream stream) {
  const CUresult said = launch(ends, copy, bytes, stream, ends.word + 1);
  return said == CUDA_SUCCESS ? word_behind(ends, stream) : said;
}

// No copy: the processor has the bytes at hand.
CUresult by_value(Ends& ends, const Copy& copy, std::size_t, CUstream stream) {
  CUstreamBatchMemOpParams writes[2] = {};
  writes[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
  writes[0].writeValue.address = pointer(copy.to);
  std::memcpy(&writes[0].writeValue.value64, copy.from, 8);
  writes[1] = writing(ends.word, ++ends.number);
  const CUresult said = cuStreamBatchMemOp(stream, 2, writes, 0);
  if (said == CUDA_SUCCESS) ends.await_word();
  return said;
}

CUresult plain(Ends&, const Copy& copy, std::size_t bytes, CUstream) {
  return std::string(copy.name) == "to_host" ? cuMemcpyDtoH(copy.to, pointer(copy.from), bytes)
                                             : cuMemcpyHtoD(pointer(copy.to), copy.from, bytes);
}

// The bytes are there as soon as the end is seen.
bool has_come(const Copy& copy, std::size_t bytes) {
  std::vector<char> to(bytes), from(bytes);
  const auto get = [bytes](std::vector<char>& into, const void* at, bool is_host) {
    if (is_host)
      std::memcpy(into.data(), at, bytes);
    else
      CU(cuMemcpyDtoH(into.data(), pointer(at), bytes));
  };
  get(to, copy.to, std::string(copy.name) == "to_host");
  get(from, copy.from, std::string(copy.name) == "to_device");
  return to == from;
}

using Way = CUresult (*)(Ends&, const Copy&, std::size_t, CUstream);

void measure(Ends& ends, const Copy& copy, std::size_t bytes, const char* name, Way way,
             CUstream stream) {
  const char* const stream_name = way == &plain ? "none" : stream == nullptr ? "default" : "own";
  std::printf(
      "{\"what\": \"small_copy\", \"copy\": \"%s\", \"end\": \"%s\", \"stream\": \"%s\", "
      "\"bytes\": %zu, ",
      copy.name, name, stream_name, bytes);
  const std::vector<char> fresh(bytes, static_cast<char>(ends.number + 17 * bytes + *name));
  std::string(copy.name) == "to_device"
      ? void(std::memcpy(const_cast<void*>(copy.from), fresh.data(), bytes))
      : CU(cuMemcpyHtoD(pointer(copy.from), fresh.data(), bytes));
  if (const CUresult said = way(ends, copy, bytes, stream); said != CUDA_SUCCESS) {
    std::printf("\"error\": %d}\n", static_cast<int>(said));
    return;
  }
  CHECK(has_come(copy, bytes));
  const int times = 1000 / gpu::fewer + 1;
  std::vector<double> rounds;
  for (int round = 0; round < gpu::kRounds; ++round) {
    const double begin = MPI_Wtime();
    for (int i = 0; i < times; ++i) CHECK(way(ends, copy, bytes, stream) == CUDA_SUCCESS);
    rounds.push_back((MPI_Wtime() - begin) / times * 1e6);
  }
  std::printf("\"us\": %.3f}\n", gpu::middle_of(rounds));
}

void measure_all(const std::vector<Copy>& copies) {
  Ends ends;
  CUstream own = nullptr;
  CU(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
  for (const Copy& copy : copies)
    for (const std::size_t bytes : {std::size_t{8}, kMost}) {
      for (const CUstream stream : {own, CUstream{nullptr}}) {
        measure(ends, copy, bytes, "event", &by_event, stream);
        measure(ends, copy, bytes, "word", &by_word, stream);
        measure(ends, copy, bytes, "kernel", &by_kernel, stream);
      }
      measure(ends, copy, bytes, "kernel, event", &by_kernel_and_event, own);
      measure(ends, copy, bytes, "kernel, word", &by_kernel_and_word, own);
      if (bytes == 8 && std::string(copy.name) == "to_device")
        measure(ends, copy, bytes, "value", &by_value, own);
      if (std::string(copy.name).starts_with("to_"))
        measure(ends, copy, bytes, "plain", &plain, nullptr);
    }
  CU(cuStreamDestroy(own));
}

// As Queue::mark puts it: says that the stream has come, and waits until it may go on, here at
// once.
void enqueue_beside(const char* asks, Way way, const Copy& copy) {
  CUstream marked = nullptr, other = nullptr;
  CU(cuStreamCreate(&marked, CU_STREAM_NON_BLOCKING));
  CU(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  Ends ends, others;
  std::atomic<bool> is_over = way == nullptr;
  std::thread beside([&] {
    CU(cuCtxSetCurrent(gpu::contexts[0]));
    while (!is_over.load()) CHECK(way(others, copy, 8, other) == CUDA_SUCCESS);
  });
  constexpr int kBurst = 100;
  std::vector<double> rounds;
  for (int round = 0; round < 40 / gpu::fewer + 2; ++round) {
    const double begin = MPI_Wtime();
    for (int i = 0; i < kBurst; ++i) {
      CUstreamBatchMemOpParams both[] = {writing(ends.word, ++ends.number), {}};
      both[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
      both[1].waitValue.address = pointer(ends.word);
      both[1].waitValue.value = ends.number;
      both[1].waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
      CU(cuStreamBatchMemOp(marked, 2, both, 0));
    }
    rounds.push_back((MPI_Wtime() - begin) / kBurst * 1e6);
    CU(cuStreamSynchronize(marked));
  }
  is_over = true;
  beside.join();
  std::printf("{\"what\": \"enqueue_beside\", \"asks\": \"%s\", \"us\": %.3f}\n", asks,
              gpu::middle_of(rounds));
  for (CUstream stream : {marked, other}) CU(cuStreamDestroy(stream));
}

}  // namespace

int main(int argc, char** argv) {
  begin();
  gpu::begin();
  if (argc > 1) gpu::fewer = std::atoi(argv[1]);
  Area here(kMost, Kind::device), other(kMost, Kind::device), host(kMost, Kind::pinned);
  CUipcMemHandle handle = {};
  int said = rank == 1 ? static_cast<int>(cuIpcGetMemHandle(&handle, pointer(here.data()))) : 0;
  if (size == 2) {
    MPI_Bcast(&said, 1, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Bcast(&handle, sizeof handle, MPI_BYTE, 1, MPI_COMM_WORLD);
  }
  if (rank == 0) {
    std::vector<Copy> copies = {{"to_host", host.data(), here.data()},
                                {"to_device", here.data(), host.data()},
                                {"within", other.data(), here.data()}};
    CUdeviceptr neighbour = 0;
    if (size == 2 && said == 0 &&
        cuIpcOpenMemHandle(&neighbour, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == CUDA_SUCCESS)
      copies.push_back({"neighbour", other.data(), reinterpret_cast<void*>(neighbour)});
    measure_all(copies);
    enqueue_beside("nobody", nullptr, copies[2]);
    enqueue_beside("kernel, event", &by_kernel_and_event, copies[2]);
    enqueue_beside("kernel, word", &by_kernel_and_word, copies[2]);
    if (neighbour != 0) CU(cuIpcCloseMemHandle(neighbour));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return done();
}
