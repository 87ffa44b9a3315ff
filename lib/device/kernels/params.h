// params: what a kernel is told, as the host fills it in and the GPU reads it: one block each.
#pragma once

#include <cstdint>

namespace tutti::device {

// Equal blocks of a message in memory, and where they are in its packed stream (types::Row).
struct KernelRow {
  char* data;
  std::int64_t position;
  std::int64_t bytes, count;
  std::int64_t stride, stream_stride;
};

struct RowsParams {
  static constexpr int kFew = 40;  // rows that travel with the launch
  const KernelRow* many;           // in pinned memory; null: few
  std::int64_t rows;
  char* packed;  // the stream from position 0 on
  int unit;      // bytes moved at once: divides every number and address there is
  int packs;     // 1: rows to packed; 0: packed to rows
  KernelRow few[kFew];
};

// A run of an element, in a table of all its runs in stream order: where it lies, counted from the
// element's origin, and where it starts in the element's packed bytes. It ends where the next
// starts.
struct alignas(16) RunEntry {
  std::int64_t offset, start;
};

// Bytes [from, to) of the packed stream of elements whose runs a table lists.
struct RunsParams {
  const RunEntry* table;  // and one more, which says where the last one ends
  std::int64_t runs;
  char* memory;         // the first element's origin
  std::int64_t extent;  // from one to the next
  std::int64_t from, to;
  char* packed;                    // byte `from` of the stream
  std::int64_t first_item, items;  // of runs, counted through all elements
  int lane_bits;                   // two to the power of it: threads that share a run
  int unit;                        // as above
  int packs;
};

// out[i] = a[i] op b[i]; out may be a or b.
struct FoldParams {
  const void* a;
  const void* b;
  void* out;
  std::int64_t count;
  int op;  // its handle in the standard ABI
};

// Floats of two bytes to float32, or back, rounded.
struct ConvertParams {
  void* narrow;
  float* wide;
  std::int64_t count;
  int widens;
};

enum FoldOp : int {
  kSum = 0x21,
  kMin = 0x22,
  kMax = 0x23,
  kProduct = 0x24,
  kBitAnd = 0x28,
  kBitOr = 0x29,
  kBitXor = 0x2a,
  kAnd = 0x30,
  kOr = 0x31,
  kXor = 0x32,
  kMinLoc = 0x38,
  kMaxLoc = 0x39,
};

constexpr int kThreads = 256;  // of a block

}  // namespace tutti::device
