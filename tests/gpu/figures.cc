// Figures of GPU memory, a JSON object a line, by rank 0: two ranks, on one GPU or two. The first
// word is the greatest size in bytes, the second by what the number of calls is divided. A third
// names the way that messages go (as TUTTI_LINK has it), and has the figures of messages only;
// "host" has those of host memory, which need no GPU support of ours.
//
//   {"what": "half_round_trip", "way": "any", "bytes": 8, "us": 4.1, ...}
//   {"what": "exchange", "way": "any", ...}           both ranks send at once: the bytes of each
//   {"what": "bandwidth_of_device_copy", "bytes": 268435456, "percent": 93}
//   {"what": "allreduce", "bytes": 1048576, "us": ...}
//   {"what": "host_half_round_trip", ...}
//   {"what": "pack_vector_64", "gb_per_s": ...}       and of other types; and unpack_...
//   {"what": "fold_bfloat16", "gb_per_s": ...}        three times its bytes: read, read, written
//   {"what": "enqueue", "call": "allreduce", "host_us": 2.1, "stream_us": ...}
//
// The last: what a call in a stream costs the host, and how long the stream takes for it.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "rounds.h"
#include "stream_area.h"

using namespace ranks;
using gpu::Area;
using gpu::Kind;

namespace {

const char* way = "any";

int times_of(std::size_t bytes) {
  return gpu::times_of(bytes, {500, 50, 8});
}

// The middle of five rounds, in us a call.
template <class Call>
double us_of(int times, const Call& call) {
  std::vector<double> rounds;
  for (int round = 0; round < gpu::kRounds; ++round) rounds.push_back(gpu::round_of(times, call));
  return gpu::middle_of(rounds);
}

void tell_message(const char* name, std::size_t bytes, double us) {
  if (rank == 0)
    std::printf(
        "{\"what\": \"%s\", \"way\": \"%s\", \"bytes\": %zu, \"us\": %.3f, \"gb_per_s\": %.3f}\n",
        name, way, bytes, us, static_cast<double>(bytes) / us / 1e3);
}

// us a message.
double round_trip(const char* name, Kind kind, std::size_t bytes) {
  Area area(bytes, kind);
  area.put(std::vector<char>(bytes).data(), bytes);
  const auto count = static_cast<int>(bytes);
  const double us = us_of(times_of(bytes), [&] {
    if (rank == 0) MPI_Send(area.data(), count, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    if (rank < 2)
      MPI_Recv(area.data(), count, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(area.data(), count, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  });
  tell_message(name, bytes, us / 2);
  return us / 2;
}

// Both ways at once.
void exchange(std::size_t bytes) {
  Area out(bytes, Kind::device), in(bytes, Kind::device);
  out.put(std::vector<char>(bytes).data(), bytes);
  const auto count = static_cast<int>(bytes);
  tell_message("exchange", bytes, us_of(times_of(bytes), [&] {
                 MPI_Sendrecv(out.data(), count, MPI_BYTE, 1 - rank, 1, in.data(), count, MPI_BYTE,
                              1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
               }));
}

// Both ranks at once, where they share a GPU: what a message can be compared with.
double device_copy(std::size_t bytes) {
  Area from(bytes, Kind::device), into(bytes, Kind::device);
  from.put(std::vector<char>(bytes).data(), bytes);
  const double us = us_of(times_of(bytes), [&] {
    if (rank != 0) return;
    CU(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(into.data()),
                     reinterpret_cast<CUdeviceptr>(from.data()), bytes, nullptr));
    CU(cuStreamSynchronize(nullptr));
  });
  if (rank == 0)
    std::printf("{\"what\": \"device_copy\", \"bytes\": %zu, \"us\": %.3f, \"gb_per_s\": %.3f}\n",
                bytes, us, static_cast<double>(bytes) / us / 1e3);
  return us;
}

void allreduce(Kind kind, const char* name, std::size_t bytes) {
  Area send(bytes, kind), recv(bytes, kind);
  send.put(std::vector<char>(bytes).data(), bytes);
  const auto count = static_cast<int>(bytes / sizeof(float));
  const double us = us_of(times_of(bytes), [&] {
    MPI_Allreduce(send.data(), recv.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  });
  if (rank == 0) std::printf("{\"what\": \"%s\", \"bytes\": %zu, \"us\": %.3f}\n", name, bytes, us);
}

// On the device both ways, so many of a type that it is `most` bytes or a little less.
void pack(const std::string& name, MPI_Datatype type, std::size_t most) {
  MPI_Count size = 0;
  MPI_Aint low = 0, extent = 0;
  MPI_Type_commit(&type);
  MPI_Type_size_c(type, &size);
  MPI_Type_get_extent(type, &low, &extent);
  const auto count = static_cast<int>(most / static_cast<std::size_t>(size));
  const std::size_t bytes = static_cast<std::size_t>(count * size),
                    reach = static_cast<std::size_t>(count * extent);
  Area spread(reach, Kind::device), packed(bytes, Kind::device);
  spread.put(std::vector<char>(reach).data(), reach);
  packed.put(std::vector<char>(bytes).data(), bytes);
  const auto tell = [&](const char* way_of_it, const auto& call) {
    const double us = us_of(times_of(bytes), [&] {
      int at = 0;
      if (rank == 0) call(&at);
    });
    if (rank == 0)
      std::printf("{\"what\": \"%s_%s\", \"bytes\": %zu, \"us\": %.3f, \"gb_per_s\": %.3f}\n",
                  way_of_it, name.c_str(), bytes, us, static_cast<double>(bytes) / us / 1e3);
  };
  const auto room = static_cast<int>(bytes);
  tell("pack", [&](int* at) {
    MPI_Pack(spread.data(), count, type, packed.data(), room, at, MPI_COMM_SELF);
  });
  tell("unpack", [&](int* at) {
    MPI_Unpack(packed.data(), room, at, spread.data(), count, type, MPI_COMM_SELF);
  });
  MPI_Type_free(&type);
}

MPI_Datatype structure(const std::vector<int>& lengths, const std::vector<MPI_Aint>& places,
                       const std::vector<MPI_Datatype>& types, MPI_Aint extent) {
  MPI_Datatype plain = MPI_DATATYPE_NULL, resized = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(static_cast<int>(types.size()), lengths.data(), places.data(),
                         types.data(), &plain);
  MPI_Type_create_resized(plain, 0, extent, &resized);
  MPI_Type_free(&plain);
  return resized;
}

// Every other block; two of three of 64 bytes; these in another structure; at odd distances.
void packs(std::size_t bytes) {
  for (const int block : {64, 256, 1024}) {
    MPI_Datatype vector = MPI_DATATYPE_NULL;
    MPI_Type_vector(static_cast<int>(bytes) / block, block / 8, block / 4, MPI_DOUBLE, &vector);
    pack("vector_" + std::to_string(block), vector, bytes);
  }
  pack("struct_64", structure({16, 8}, {0, 128}, {MPI_INT, MPI_DOUBLE}, 192), bytes);
  MPI_Datatype inner = structure({16, 8}, {0, 128}, {MPI_INT, MPI_DOUBLE}, 192);
  pack("nested_64", structure({2, 8}, {0, 448}, {inner, MPI_DOUBLE}, 576), bytes);
  MPI_Type_free(&inner);
  std::vector<int> at;
  for (int i = 0; i < static_cast<int>(bytes) / 64; ++i)
    at.push_back(i * 16 + (i % 7) * (i % 7) % 7);
  MPI_Datatype odd = MPI_DATATYPE_NULL;
  MPI_Type_create_indexed_block(static_cast<int>(at.size()), 8, at.data(), MPI_DOUBLE, &odd);
  pack("indexed_64", odd, bytes);
}

// Both operands and the result pass the GPU's memory: three times the bytes.
void fold(std::size_t bytes) {
  Area from(bytes, Kind::device), into(bytes, Kind::device);
  for (Area* each : {&from, &into}) each->put(std::vector<char>(bytes).data(), bytes);
  const auto count = static_cast<int>(bytes / 2);
  const double us = us_of(times_of(bytes), [&] {
    if (rank == 0) MPI_Reduce_local(from.data(), into.data(), count, MPIX_BFLOAT16, MPI_SUM);
  });
  if (rank == 0)
    std::printf("{\"what\": \"fold_bfloat16\", \"bytes\": %zu, \"us\": %.3f, \"gb_per_s\": %.3f}\n",
                bytes, us, 3 * static_cast<double>(bytes) / us / 1e3);
}

// Bursts with room for all of them, so that the host waits for none.
template <class Call>
void enqueue(const char* name, const gpu::Lane& lane, Call call) {
  const int times = 100;
  std::vector<double> host, stream;
  for (int round = 0; round < 40 / gpu::fewer + 2; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < times; ++i) call();
    host.push_back((MPI_Wtime() - begin) / times * 1e6);
    lane.wait();
    stream.push_back((MPI_Wtime() - begin) / times * 1e6);
  }
  std::sort(host.begin(), host.end());
  std::sort(stream.begin(), stream.end());
  if (rank == 0)
    std::printf(
        "{\"what\": \"enqueue\", \"call\": \"%s\", \"host_us\": %.3f, \"stream_us\": %.3f}\n", name,
        host[host.size() / 2], stream[stream.size() / 2]);
}

void enqueue_all() {
  gpu::Lane lane;
  gpu::Flow<double> data(1, Kind::device);
  data.put({1}, lane);
  enqueue("allreduce", lane, [&] {
    MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.data(), 1, MPI_DOUBLE, MPI_MAX, lane.comm);
  });
  enqueue("send or receive", lane, [&] {
    if (rank == 0)
      MPIX_Send_enqueue(data.data(), 1, MPI_DOUBLE, 1, 0, lane.comm);
    else
      MPIX_Recv_enqueue(data.data(), 1, MPI_DOUBLE, 0, 0, lane.comm, MPI_STATUS_IGNORE);
  });
  enqueue("barrier", lane, [&] { MPIX_Barrier_enqueue(lane.comm); });
}

}  // namespace

int main(int argc, char** argv) {
  begin();
  gpu::begin();
  const std::size_t most = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : std::size_t{256} << 20;
  if (argc > 2) gpu::fewer = std::atoi(argv[2]);
  if (size != 2) {
    std::fprintf(stderr, "two ranks are wanted\n");
    return 2;
  }
  if (argc > 3) {
    way = argv[3];
    if (std::string(way) == "host") {
      for (const std::size_t bytes : {std::size_t{8}, std::size_t{256}, std::size_t{8192}})
        round_trip("host_half_round_trip", Kind::host, bytes);
      return done();
    }
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{4096}, most})
      round_trip("half_round_trip", Kind::device, bytes);
    exchange(most);
    return done();
  }
  for (std::size_t bytes = 8; bytes <= most; bytes *= 32) {
    round_trip("half_round_trip", Kind::device, bytes);
    round_trip("host_half_round_trip", Kind::host, bytes);
    allreduce(Kind::device, "allreduce", bytes);
  }
  round_trip("half_round_trip", Kind::device, 4096);
  const double message = round_trip("half_round_trip", Kind::device, most);
  const double copy = device_copy(most);
  if (rank == 0)
    std::printf("{\"what\": \"bandwidth_of_device_copy\", \"bytes\": %zu, \"percent\": %.0f}\n",
                most, 100 * copy / message);
  exchange(most);
  packs(most);
  fold(most);
  enqueue_all();
  return done();
}
