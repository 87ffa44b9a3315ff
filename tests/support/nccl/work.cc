// What a stream does for a call, chunk by chunk: every member puts its part into its place of the
// file, they meet, each takes what it is to get, they meet again.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "standin_nccl.h"

extern "C" void* tutti_standin_reach(const void* address, std::size_t bytes);

namespace standin_nccl {
namespace {

// Two-byte floats, folded as floats.
struct Brain {
  static float float_of(std::uint16_t bits) {
    const std::uint32_t wide = std::uint32_t{bits} << 16;
    float value = 0;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
  static std::uint16_t bits_of(float value) {
    std::uint32_t wide = 0;
    std::memcpy(&wide, &value, sizeof wide);
    return static_cast<std::uint16_t>((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
  }
};
struct Half {
  static float float_of(std::uint16_t bits) {
    const int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
    float value = 0;
    if (exponent == 0x1f)
      value = fraction == 0 ? std::numeric_limits<float>::infinity()
                            : std::numeric_limits<float>::quiet_NaN();
    else if (exponent == 0)
      value = std::ldexp(static_cast<float>(fraction), -24);
    else
      value = std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
    return (bits & 0x8000) != 0 ? -value : value;
  }
  // To the nearest, of two the even one.
  static std::uint16_t bits_of(float value) {
    const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    const float size = std::fabs(value);
    if (std::isnan(value)) return sign | 0x7e00;
    if (size >= 65520.0F) return sign | 0x7c00;
    const int exponent = size < std::ldexp(1.0F, -14) ? -14 : std::ilogb(size);
    const auto steps = static_cast<unsigned>(std::nearbyint(std::ldexp(size, 10 - exponent)));
    return static_cast<std::uint16_t>(sign + steps + (static_cast<unsigned>(exponent + 14) << 10));
  }
};

template <class T>
T folded(T a, T b, ncclRedOp_t op) {
  switch (op) {
    case ncclSum:
      return static_cast<T>(a + b);
    case ncclProd:
      return static_cast<T>(a * b);
    case ncclMax:
      return std::max(a, b);
    case ncclMin:
      return std::min(a, b);
    default:
      std::abort();
  }
}

template <class T>
void fold(T* into, const T* from, std::size_t count, ncclRedOp_t op) {
  for (std::size_t i = 0; i < count; ++i) into[i] = folded(into[i], from[i], op);
}
template <class Float>
void fold_short(std::byte* into, const std::byte* from, std::size_t count, ncclRedOp_t op) {
  auto* const to = reinterpret_cast<std::uint16_t*>(into);
  const auto* const one = reinterpret_cast<const std::uint16_t*>(from);
  for (std::size_t i = 0; i < count; ++i)
    to[i] = Float::bits_of(folded(Float::float_of(to[i]), Float::float_of(one[i]), op));
}

void fold(std::byte* into, const std::byte* from, std::size_t count, const Call& call) {
  const auto as = [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    fold(reinterpret_cast<T*>(into), reinterpret_cast<const T*>(from), count, call.op);
  };
  switch (call.type) {
    case ncclInt8:
      return as(static_cast<std::int8_t*>(nullptr));
    case ncclUint8:
      return as(static_cast<std::uint8_t*>(nullptr));
    case ncclInt32:
      return as(static_cast<std::int32_t*>(nullptr));
    case ncclUint32:
      return as(static_cast<std::uint32_t*>(nullptr));
    case ncclInt64:
      return as(static_cast<std::int64_t*>(nullptr));
    case ncclUint64:
      return as(static_cast<std::uint64_t*>(nullptr));
    case ncclFloat32:
      return as(static_cast<float*>(nullptr));
    case ncclFloat64:
      return as(static_cast<double*>(nullptr));
    case ncclFloat16:
      return fold_short<Half>(into, from, count, call.op);
    case ncclBfloat16:
      return fold_short<Brain>(into, from, count, call.op);
    default:
      std::fprintf(stderr, "stand-in NCCL: no folds of type %d\n", call.type);
      std::abort();
  }
}

const std::byte* readable(const void* at, std::size_t bytes) {
  return bytes == 0 ? nullptr : static_cast<const std::byte*>(tutti_standin_reach(at, bytes));
}
std::byte* writable(void* at, std::size_t bytes) {
  return bytes == 0 ? nullptr : static_cast<std::byte*>(tutti_standin_reach(at, bytes));
}

// All say what they call; two that differ would hang or lose data in NCCL.
bool compare(ncclComm& comm, const Call& call) {
  Member& mine = comm.file->members[comm.rank];
  std::snprintf(mine.call, sizeof mine.call, "%s", name_of(call).c_str());
  if (!meet(comm)) return false;
  for (int rank = 0; rank < comm.size; ++rank)
    if (std::strcmp(comm.file->members[rank].call, mine.call) != 0) {
      std::fprintf(stderr, "stand-in NCCL: rank %d calls %s, rank %d %s\n", comm.rank, mine.call,
                   rank, comm.file->members[rank].call);
      std::abort();
    }
  return meet(comm);
}

// One part of all members' vectors: [at, at + count) elements of each.
void fold_part(ncclComm& comm, const Call& call, std::size_t at, std::size_t count, bool takes) {
  const std::size_t bytes = count * size_of(call.type), offset = at * size_of(call.type);
  const bool scatters = call.what == What::reduce_scatter;
  const std::size_t given = call.count * size_of(call.type);
  const int parts = scatters ? comm.size : 1;
  for (int part = 0; part < parts; ++part) {
    const auto* const send =
        static_cast<const std::byte*>(call.send) + static_cast<std::size_t>(part) * given + offset;
    std::memcpy(comm.file->chunk(comm.rank), readable(send, bytes), bytes);
    if (!meet(comm)) return;
    if (takes && (!scatters || part == comm.rank)) {
      std::vector<std::byte> sum(comm.file->chunk(0), comm.file->chunk(0) + bytes);
      for (int rank = 1; rank < comm.size; ++rank)
        fold(sum.data(), comm.file->chunk(rank), count, call);
      std::memcpy(writable(static_cast<std::byte*>(call.recv) + offset, bytes), sum.data(), bytes);
    }
    if (!meet(comm)) return;
  }
}

void move_part(ncclComm& comm, const Call& call, std::size_t offset, std::size_t bytes) {
  const bool gives = call.what == What::allgather || comm.rank == call.root;
  if (gives)
    std::memcpy(comm.file->chunk(comm.rank),
                readable(static_cast<const std::byte*>(call.send) + offset, bytes), bytes);
  if (!meet(comm)) return;
  for (int rank = 0; rank < comm.size; ++rank) {
    if (call.what == What::broadcast && rank != call.root) continue;
    const std::size_t block =
        call.what == What::allgather ? static_cast<std::size_t>(rank) * call.count : 0;
    std::memcpy(writable(static_cast<std::byte*>(call.recv) + block + offset, bytes),
                comm.file->chunk(rank), bytes);
  }
  meet(comm);
}

// Takes a message on by a chunk, where the other side lets it. False: it has to wait.
bool move_chunk(ncclComm& comm, const Message& message, std::size_t* at) {
  const bool sends = message.from != nullptr;
  const int from = sends ? comm.rank : message.peer, to = sends ? message.peer : comm.rank;
  Pair& pair = comm.file->pairs[from][to];
  std::byte* const chunk = comm.file->pair_chunk(from, to);
  const std::uint64_t filled = pair.filled.load();
  if (sends != (filled == 0)) return false;
  if (sends) {
    const std::size_t part = std::min(kPairChunk, message.bytes - *at);
    std::memcpy(chunk, readable(message.from + *at, part), part);
    pair.total = message.bytes;
    pair.filled.store(part);
    *at += part;
    return true;
  }
  if (pair.total != message.bytes) {
    std::fprintf(stderr, "stand-in NCCL: rank %d waits for %zu bytes of rank %d, which sends %zu\n",
                 to, message.bytes, from, static_cast<std::size_t>(pair.total));
    std::abort();
  }
  std::memcpy(writable(message.into + *at, filled), chunk, filled);
  pair.filled.store(0);
  *at += filled;
  return true;
}

// Messages of one group: each to each, whichever can go on.
void exchange(ncclComm& comm, const Call& call) {
  std::vector<std::size_t> at(call.messages.size());
  for (bool is_over = false; !is_over && !comm.is_aborted.load();) {
    bool moved = false;
    is_over = true;
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (at[i] < call.messages[i].bytes)
        moved = move_chunk(comm, call.messages[i], &at[i]) || moved;
      is_over = is_over && at[i] == call.messages[i].bytes;
    }
    if (!moved && !is_over) ::usleep(20);
  }
}

}  // namespace

std::size_t size_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    default:
      return 8;
  }
}

std::string name_of(const Call& call) {
  constexpr const char* kNames[] = {"allreduce", "reduce",         "broadcast",
                                    "allgather", "reduce_scatter", "a group"};
  std::string name = kNames[static_cast<int>(call.what)];
  name += " of " + std::to_string(call.count) + " of type " + std::to_string(call.type);
  if (call.what == What::reduce || call.what == What::broadcast)
    name += ", root " + std::to_string(call.root);
  return name;
}

void work(ncclComm& comm, const Call& call) {
  if (call.what == What::group) {  // members that have no part in it make no call
    for (const Call& part : call.parts) work(comm, part);
    return exchange(comm, call);
  }
  if (!compare(comm, call)) return;
  const std::size_t most = kChunk / size_of(call.type);
  const bool folds = call.what != What::broadcast && call.what != What::allgather;
  const bool takes = call.what != What::reduce || comm.rank == call.root;
  for (std::size_t at = 0; at < call.count && !comm.is_aborted.load(); at += most) {
    const std::size_t part = std::min(most, call.count - at);
    if (folds)
      fold_part(comm, call, at, part, takes);
    else
      move_part(comm, call, at * size_of(call.type), part * size_of(call.type));
  }
}

}  // namespace standin_nccl
