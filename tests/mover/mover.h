// mover: a library that is preloaded into MPI programs and gives each call GPU memory.
//
// Every buffer of a call is copied to memory of a kind that is drawn, and the call is given that;
// what it wrote there is copied back when it has ended, or its request has. The entry points are
// generated from the interface table; this is what they call. The memory under a buffer keeps its
// layout: what lies in gaps and around it has a pattern that must still be there at the end, and
// what is sent must not change.
//
//   MOVER_SEED=17       other luck; each rank's is its own
//   MOVER_COUNTS=FILE   a line for each function and how many of its buffers were moved, appended
//
// A buffer stays where it is when its call will fail for another reason (a type that is none), or
// it is longer than 32 MiB, or nothing can be read there.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "../gpu/area.h"
#include "../mutants/shape.h"

namespace mover {

using namespace shape;

// --- What a buffer's memory is, in the generator's words (gen/checks.py).

struct Block {
  MPI_Aint at = 0;  // from the address that the call was given
  MPI_Count count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};
using Blocks = std::vector<Block>;

// Whose blocks there are; some may be nobody's.
struct Owners {
  explicit Owners(MPI_Count n) : number(n) {}
  MPI_Count number;
  std::vector<bool> there = {};  // empty: all of them
  bool has(MPI_Count i) const { return there.empty() || there[static_cast<std::size_t>(i)]; }
};
Owners sources_of(const Shape& shape);
Owners destinations_of(const Shape& shape);

MPI_Aint extent_of(MPI_Datatype type);  // 0 of what is none

constexpr MPI_Count kMostMoved = MPI_Count{32} << 20;  // bytes of a buffer

inline Blocks memory_of(const void*, MPI_Count count, MPI_Datatype type) {
  return {{0, count, type}};
}
inline Blocks bytes_of(const void*, MPI_Count bytes) {
  return {{0, bytes, MPI_BYTE}};
}
inline Blocks blocks_of(const void*, const Owners& owners, MPI_Count count, MPI_Datatype type) {
  Blocks blocks;
  MPI_Aint apart = 0, whole = 0;
  if (owners.number > kMostMoved || __builtin_mul_overflow(count, extent_of(type), &apart) ||
      __builtin_mul_overflow(owners.number, apart, &whole))
    return {{0, kMostMoved + 1, MPI_BYTE}};  // it stays
  for (MPI_Count i = 0; i < owners.number; ++i)
    blocks.push_back({i * apart, owners.has(i) ? count : 0, type});
  return blocks;
}
// In extents where all have one type, else in bytes.
template <class Count, class Place>
Blocks blocks_at(const void*, const Owners& owners, const Count* counts, const Place* places,
                 MPI_Datatype type) {
  Blocks blocks;
  const MPI_Aint extent = extent_of(type);
  for (MPI_Count i = 0; counts != nullptr && places != nullptr && i < owners.number; ++i)
    if (owners.has(i)) blocks.push_back({places[i] * extent, counts[i], type});
  return blocks;
}
template <class Count, class Place>
Blocks blocks_at(const void*, const Owners& owners, const Count* counts, const Place* places,
                 const MPI_Datatype* types) {
  Blocks blocks;
  for (MPI_Count i = 0;
       counts != nullptr && places != nullptr && types != nullptr && i < owners.number; ++i)
    if (owners.has(i)) blocks.push_back({static_cast<MPI_Aint>(places[i]), counts[i], types[i]});
  return blocks;
}
template <class Count>
MPI_Count sum_of(const Count* counts, int size) {
  MPI_Count sum = 0;
  for (int i = 0; counts != nullptr && i < size; ++i) sum += counts[i];
  return sum;
}

// --- A buffer that was moved.

enum class Way { sent, received };

class Move {
 public:
  // Null: it stays.
  static std::unique_ptr<Move> make(const void* buffer, const Blocks& blocks, Way way,
                                    const char* what);
  ~Move();
  Move(const Move&) = delete;
  Move& operator=(const Move&) = delete;
  void* address() const;
  bool is_received() const { return way_ == Way::received; }
  // From the program's memory, as it is now, and back to it; all of it, or of some partitions.
  void put();
  void put_partitions(std::size_t first, std::size_t last);
  void finish();
  void finish_partition(std::size_t which);
  // The call may still work there, and nobody will know when it has ended.
  void abandon() { is_abandoned_ = true; }

 private:
  struct Run {
    std::size_t at = 0;  // in the image
    std::byte* host = nullptr;
    std::size_t bytes = 0;
  };
  Move(Way way, const char* what) : way_(way), what_(what) {}
  bool lay_out(const void* buffer, const Blocks& blocks);
  bool read(std::size_t first, std::size_t last);
  void take_back(const Run& run, const std::byte* now);
  void complain(const char* why, std::size_t at, const std::vector<std::byte>& now) const;

  const Way way_;
  const char* const what_;
  std::vector<std::vector<Run>> runs_;  // of each block
  std::vector<std::byte> image_;        // what lies there before the call, with a rim around it
  std::intptr_t shift_ = 0;             // from the area to the address that a call is given
  std::unique_ptr<gpu::Area> area_;
  std::pair<int, int> shelf_;
  bool is_abandoned_ = false;
};

// --- A call.

bool is_open();  // between the program's MPI_Init and MPI_Finalize, sessions too

class Call {
 public:
  explicit Call(const char* name) : name_(name) {}
  // What the call is given instead.
  template <class T>
  T* move(T* buffer, Way way, const Blocks& blocks) {
    std::unique_ptr<Move> moved = take(buffer, blocks, way);
    if (moved == nullptr) return buffer;
    T* const address = static_cast<T*>(moved->address());
    moves_.push_back(std::move(moved));
    return address;
  }
  int end(int code);
  // It goes on as a request, which can be started where it is kept.
  int end(int code, const MPI_Request* request, bool is_kept);

 private:
  std::unique_ptr<Move> take(const void* buffer, const Blocks& blocks, Way way);
  const char* const name_;
  std::vector<std::unique_ptr<Move>> moves_;
};

// A call that may end requests: taken from the table, since other threads may get their handles for
// new ones, and put back where they go on.
struct Pending;
class Ends {
 public:
  Ends(const MPI_Request* requests, int count);
  ~Ends();
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
  // As they are after the call; one that only asks leaves the handles.
  int end(int code, const MPI_Request* requests, bool only_asks);

 private:
  std::vector<std::pair<std::size_t, std::shared_ptr<Pending>>> taken_;
  std::vector<MPI_Request> before_;
};
// Before the call.
void starting(const MPI_Request* requests, int count);
void close_requests();  // before MPI ends
int free_request(MPI_Request* request);

}  // namespace mover
