// Every predefined operation on every predefined type that it is defined on, by MPI_Reduce_local
// and MPI_Allreduce, on memory of kinds that are drawn: bit for bit what host memory gives. With
// the word "nccl" all of it is the GPU's, and what NCCL has goes by NCCL.
#include <mpi-ext.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "counted.h"
#include "served.h"

using namespace ranks;

namespace {

bool is_nccls = false;
gpu::Kind any_kind() {
  return is_nccls ? gpu::Kind::device : gpu::any_kind();
}

__extension__ typedef __int128 Int128;

const MPI_Op kOps[] = {MPI_SUM,  MPI_PROD, MPI_MIN, MPI_MAX,  MPI_BAND,   MPI_BOR,
                       MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_MINLOC, MPI_MAXLOC};

// Small whole numbers in whatever form, so that a sum is the same in any order. One is below zero,
// or the greatest there is.
template <class T>
std::vector<char> whole(int count, int seed, int parts = 1) {
  std::vector<T> values;
  for (int i = 0; i < count * parts; ++i)
    values.push_back(static_cast<T>((i * 7 + seed * 3) % 4 - 1));
  const auto* const bytes = reinterpret_cast<const char*>(values.data());
  return {bytes, bytes + values.size() * sizeof(T)};
}
// Two-byte floats -1, 1, 2, 3 by their bits.
std::vector<char> halves(int count, int seed, bool is_brain, int parts) {
  const std::uint16_t kHalf[] = {0xbc00, 0x3c00, 0x4000, 0x4200},
                      kBrain[] = {0xbf80, 0x3f80, 0x4000, 0x4040};
  std::vector<std::uint16_t> values;
  for (int i = 0; i < count * parts; ++i)
    values.push_back((is_brain ? kBrain : kHalf)[(i * 7 + seed * 3) % 4]);
  const auto* const bytes = reinterpret_cast<const char*>(values.data());
  return {bytes, bytes + values.size() * 2};
}
template <class Value, class Index>
std::vector<char> pairs(int count, int seed) {
  struct Pair {
    Value value;
    Index index;
  };
  std::vector<char> bytes(static_cast<std::size_t>(count) * sizeof(Pair), 0);
  for (int i = 0; i < count; ++i) {
    auto* const pair = reinterpret_cast<Pair*>(bytes.data()) + i;
    pair->value = static_cast<Value>((i * 5 + seed) % 3);
    pair->index = static_cast<Index>((i + seed * 11) % 7);
  }
  return bytes;
}

struct Type {
  const char* name;
  MPI_Datatype type;
  std::vector<char> (*content)(int count, int seed);
};
#define WHOLE(type, T)                                             \
  {                                                                \
#type, type, [](int n, int seed) { return whole<T>(n, seed); } \
  }
#define COMPLEX(type, T)                                              \
  {                                                                   \
#type, type, [](int n, int seed) { return whole<T>(n, seed, 2); } \
  }
#define PAIR(type, V, I)                                              \
  {                                                                   \
#type, type, [](int n, int seed) { return pairs<V, I>(n, seed); } \
  }
const Type kTypes[] = {
    WHOLE(MPI_INT8_T, std::int8_t),
    WHOLE(MPI_INT16_T, std::int16_t),
    WHOLE(MPI_INT32_T, std::int32_t),
    WHOLE(MPI_INT64_T, std::int64_t),
    WHOLE(MPI_UINT8_T, std::uint8_t),
    WHOLE(MPI_UINT16_T, std::uint16_t),
    WHOLE(MPI_UINT32_T, std::uint32_t),
    WHOLE(MPI_UINT64_T, std::uint64_t),
    WHOLE(MPI_BYTE, std::uint8_t),
    WHOLE(MPI_C_BOOL, std::uint8_t),
    WHOLE(MPI_INTEGER16, Int128),
    WHOLE(MPI_LOGICAL, std::int32_t),
    WHOLE(MPI_LOGICAL2, std::int16_t),
    WHOLE(MPI_LOGICAL8, std::int64_t),
    WHOLE(MPI_LOGICAL16, Int128),
    WHOLE(MPI_FLOAT, float),
    WHOLE(MPI_DOUBLE, double),
    WHOLE(MPI_LONG_DOUBLE, long double),
    COMPLEX(MPI_C_FLOAT_COMPLEX, float),
    COMPLEX(MPI_C_DOUBLE_COMPLEX, double),
    COMPLEX(MPI_C_LONG_DOUBLE_COMPLEX, long double),
    PAIR(MPI_FLOAT_INT, float, int),
    PAIR(MPI_DOUBLE_INT, double, int),
    PAIR(MPI_LONG_INT, long, int),
    PAIR(MPI_2INT, int, int),
    PAIR(MPI_SHORT_INT, short, int),
    PAIR(MPI_LONG_DOUBLE_INT, long double, int),
    PAIR(MPI_2REAL, float, float),
    PAIR(MPI_2DOUBLE_PRECISION, double, double),
    {"MPIX_C_FLOAT16", MPIX_C_FLOAT16, [](int n, int seed) { return halves(n, seed, false, 1); }},
    {"MPIX_BFLOAT16", MPIX_BFLOAT16, [](int n, int seed) { return halves(n, seed, true, 1); }},
    {"MPI_COMPLEX4", MPI_COMPLEX4, [](int n, int seed) { return halves(n, seed, false, 2); }},
};

// Of 16 bytes a long double has ten; what the others hold nobody says.
std::vector<char> known(const Type& type, std::vector<char> bytes) {
  if (std::string(type.name).find("LONG_DOUBLE") == std::string::npos) return bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (i % 16 >= 10) bytes[i] = 0;
  return bytes;
}

int paired = 0;

void fold(const Type& type, MPI_Op op, int count) {
  const std::vector<char> a = type.content(count, 2 * rank), b = type.content(count, 2 * rank + 1);
  std::vector<char> expected = b;
  if (MPI_Reduce_local(a.data(), expected.data(), count, type.type, op) != MPI_SUCCESS) return;
  ++paired;
  gpu::Vector<char> from(a, any_kind()), into(b, any_kind());
  MPI_Reduce_local(from.data(), into.data(), count, type.type, op);
  const bool folds = known(type, into.get()) == known(type, expected);
  CHECK(folds);
  std::vector<char> all = b;
  MPI_Allreduce(a.data(), all.data(), count, type.type, op, MPI_COMM_WORLD);
  into.put(b);
  MPI_Allreduce(from.data(), into.data(), count, type.type, op, MPI_COMM_WORLD);
  const bool reduces = known(type, into.get()) == known(type, all);
  CHECK(reduces);
  if (!folds || !reduces)
    std::fprintf(stderr, "rank %d: %s, operation %d of the table, %d elements\n", rank, type.name,
                 static_cast<int>(std::find(std::begin(kOps), std::end(kOps), op) - kOps), count);
}

// Between buffers of one GPU or of two nothing passes through host memory, but of types that a GPU
// has not.
void on_gpus(const Type& type, MPI_Op op, int count, gpu::Kind kind, gpu::Kind other) {
  const std::vector<char> a = type.content(count, 1), b = type.content(count, 2);
  std::vector<char> expected = b;
  if (MPI_Reduce_local(a.data(), expected.data(), count, type.type, op) != MPI_SUCCESS) return;
  gpu::Vector<char> from(a, kind), into(b, other);
  CU(cuCtxSynchronize());
  const unsigned long long before = gpu::through_host();
  MPI_Reduce_local(from.data(), into.data(), count, type.type, op);
  const bool is_gpus = std::string(type.name).find("LONG_DOUBLE") == std::string::npos;
  const bool has_passed = gpu::through_host() != before;
  const bool is_right = has_passed != is_gpus || !gpu::is_driver_counted();
  CHECK(is_right);
  if (!is_right)
    std::fprintf(stderr, "rank %d: %s passes host memory, or does not\n", rank, type.name);
  CHECK(known(type, into.get()) == known(type, expected));
}

// What is not where its elements may lie is folded, too.
void unaligned() {
  std::vector<char> a = whole<double>(300, 1), b = whole<double>(300, 2), expected = b;
  MPI_Reduce_local(a.data(), expected.data(), 300, MPI_DOUBLE, MPI_SUM);
  a.insert(a.begin(), 3, 'x');
  b.insert(b.begin(), 3, 'y');
  expected.insert(expected.begin(), 3, 'y');
  for (int turn = 0; turn < 7; ++turn) {
    gpu::Vector<char> from(a, any_kind()), into(b, any_kind());
    MPI_Reduce_local(from.data() + 3, into.data() + 3, 300, MPI_DOUBLE, MPI_SUM);
    CHECK(into.get() == expected);
  }
}

}  // namespace

int main(int argc, char**) {
  is_nccls = argc > 1;
  begin();
  gpu::begin();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (const Type& type : kTypes)
    for (const MPI_Op op : kOps)
      for (const int count : {1, 17, 5000}) fold(type, op, count);
  for (const auto& [kind, other] : {std::pair(gpu::Kind::device, gpu::Kind::device),
                                    std::pair(gpu::Kind::other_device, gpu::Kind::device),
                                    std::pair(gpu::Kind::device, gpu::Kind::other_device)}) {
    for (const Type& type : kTypes) {
      for (const MPI_Op op : kOps) on_gpus(type, op, 1000, kind, other);
      // Longer than the memory between two GPUs.
      if (type.type == MPI_DOUBLE) on_gpus(type, MPI_SUM, 300'000, kind, other);
    }
  }
  CHECK(paired == 3 * 152);                             // operations and types that MPI pairs
  if (is_nccls) CHECK(gpu::has_served(0, 3 * 10 * 4));  // ten types and four operations are NCCL's
  unaligned();
  return done();
}
