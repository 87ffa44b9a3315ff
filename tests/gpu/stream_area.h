// stream_area: a stream of the user's with its communicator, and memory that is filled and read by
// that stream alone, so that a call which begins too early, or lets it go on too early, shows.
#pragma once

#include <mpi-ext.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <numeric>

#include "area.h"

namespace gpu {

class Lane {
 public:
  explicit Lane(MPI_Comm over = MPI_COMM_WORLD, unsigned flags = CU_STREAM_NON_BLOCKING) {
    CU(cuStreamCreate(&stream, flags));
    attach(over);
  }
  // Whose maker promises that buffers lie on its GPU, in one piece.
  struct Promised {};
  explicit Lane(Promised, unsigned flags = CU_STREAM_NON_BLOCKING) {
    CU(cuStreamCreate(&stream, flags));
    attach(MPI_COMM_WORLD, "true");
  }
  // The default stream.
  struct Legacy {};
  explicit Lane(Legacy) { attach(MPI_COMM_WORLD); }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane() { close(); }
  void close() {
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    if (handle != MPIX_STREAM_NULL) MPIX_Stream_free(&handle);
    if (stream != nullptr) CU(cuStreamDestroy(std::exchange(stream, nullptr)));
  }
  void wait() const { CU(cuStreamSynchronize(stream)); }

  CUstream stream = nullptr;
  MPIX_Stream handle = MPIX_STREAM_NULL;
  MPI_Comm comm = MPI_COMM_NULL;

 private:
  void attach(MPI_Comm over, const char* promise = nullptr) {
    MPI_Info info;
    MPI_Info_create(&info);
    if (promise != nullptr) MPI_Info_set(info, "tutti_assert_gpu_buffers", promise);
    MPI_Info_set(info, "type", "cudaStream_t");
    MPIX_Info_set_hex(info, "value", &stream, sizeof stream);
    MPIX_Stream_create(info, &handle);
    MPI_Info_free(&info);
    MPIX_Stream_comm_create(over, handle, &comm);
  }
};

// Holds a stream until it is let go.
class Held {
 public:
  explicit Held(const Lane& lane) { CU(cuLaunchHostFunc(lane.stream, &Held::wait, &is_free_)); }
  void let_go() { is_free_.store(true); }

 private:
  static void wait(void* is_free) {
    while (!static_cast<std::atomic<bool>*>(is_free)->load()) ::usleep(100);
  }
  std::atomic<bool> is_free_{false};
};

// Elements whose contents come and go by a stream.
template <class T>
class Flow {
 public:
  Flow(std::size_t size, Kind kind)
      : bytes_(size * sizeof(T)),
        size_(size),
        area_(bytes_, kind),
        in_(bytes_, Kind::pinned),
        out_(bytes_, Kind::pinned) {}
  T* data() const { return static_cast<T*>(area_.data()); }
  // Once: the stream reads it later.
  void put(const std::vector<T>& content, const Lane& lane) {
    if (bytes_ > 0) std::memcpy(in_.data(), content.data(), bytes_);
    move(area_.data(), in_.data(), lane);
  }
  void take(const Lane& lane) { move(out_.data(), area_.data(), lane); }
  // What was taken; the stream has come so far.
  std::vector<T> taken() const {
    const T* const first = static_cast<const T*>(out_.data());
    return {first, first + size_};
  }

 private:
  // The driver's own copies between host memories wait for the stream, in the caller: ranks that
  // fill theirs in other orders would wait for each other.
  void move(void* to, const void* from, const Lane& lane) const {
    if (bytes_ == 0) return;
    if (area_.is_host()) return copy_in_stream(to, from, bytes_, lane.stream);
    CU(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(to), reinterpret_cast<CUdeviceptr>(from), bytes_,
                     lane.stream));
  }
  static void copy_in_stream(void* to, const void* from, std::size_t bytes, CUstream stream) {
    struct Copy {
      void* to;
      const void* from;
      std::size_t bytes;
    };
    const auto run = [](void* copy) {
      const std::unique_ptr<Copy> all(static_cast<Copy*>(copy));
      std::memcpy(all->to, all->from, all->bytes);
    };
    CU(cuLaunchHostFunc(stream, run, new Copy{to, from, bytes}));
  }
  std::size_t bytes_, size_;
  Area area_, in_, out_;
};

// Kinds that a stream copies to and from without the caller.
inline Kind any_streamed() {
  const Kind kind = any_kind();
  return kind == Kind::host ? Kind::device : kind;
}

inline std::vector<int> numbers(std::size_t count, int from) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), from * 1000003);
  return all;
}
inline int right() {
  return (ranks::rank + 1) % ranks::size;
}
inline int left() {
  return (ranks::rank + ranks::size - 1) % ranks::size;
}

}  // namespace gpu
