// pack: MPI_Pack and MPI_Unpack of one layout: the mean of both, per packed byte.
//
//   pack LAYOUT [options]     vector, column, indexed or struct
//
// vector: 16 of every 32 doubles. column: one of every 64 doubles. indexed: blocks of 1 to 8
// ints with gaps of 1 to 5. struct: a particle (char, three doubles, int, and a vector of every
// other short) with the padding of C. Elements are taken until the size is reached.
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "../harness/harness.h"

namespace {

struct Particle {
  char kind;
  double place[3];
  int charge;
  short spins[6];
};

MPI_Datatype vector_of(int block, int stride, std::size_t bytes) {
  MPI_Datatype type;
  const auto blocks = static_cast<int>(bytes / sizeof(double)) / block;
  MPI_Type_vector(std::max(1, blocks), block, stride, MPI_DOUBLE, &type);
  return type;
}

MPI_Datatype indexed(std::size_t bytes) {
  std::vector<int> blocks, places;
  int place = 0;
  for (std::size_t used = 0; used < bytes;
       used += sizeof(int) * static_cast<std::size_t>(blocks.back())) {
    const auto i = static_cast<int>(blocks.size());
    blocks.push_back(1 + i * 5 % 8);
    places.push_back(place);
    place += blocks.back() + 1 + i * 3 % 5;
  }
  MPI_Datatype type;
  MPI_Type_indexed(static_cast<int>(blocks.size()), blocks.data(), places.data(), MPI_INT, &type);
  return type;
}

MPI_Datatype particles(std::size_t bytes) {
  MPI_Datatype spins, fields, particle, type;
  MPI_Type_vector(3, 1, 2, MPI_SHORT, &spins);
  const int blocks[4] = {1, 3, 1, 1};
  const MPI_Aint places[4] = {offsetof(Particle, kind), offsetof(Particle, place),
                              offsetof(Particle, charge), offsetof(Particle, spins)};
  const MPI_Datatype types[4] = {MPI_CHAR, MPI_DOUBLE, MPI_INT, spins};
  MPI_Type_create_struct(4, blocks, places, types, &fields);
  MPI_Type_create_resized(fields, 0, sizeof(Particle), &particle);
  int size = 1;
  MPI_Type_size(particle, &size);
  MPI_Type_contiguous(std::max(1, static_cast<int>(bytes) / size), particle, &type);
  for (MPI_Datatype* part : {&spins, &fields, &particle}) MPI_Type_free(part);
  return type;
}

class Pack final : public bench::Case {
 public:
  explicit Pack(std::string layout) : layout_(std::move(layout)) {}
  std::string name() const override { return "pack " + layout_; }
  int ranks() const override { return 1; }
  double operations() const override { return 2; }
  double bus_bytes(std::size_t) const override { return static_cast<double>(packed_.size()); }

  void prepare(std::size_t bytes) override {
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
    if (layout_ == "vector") type_ = vector_of(16, 32, bytes);
    if (layout_ == "column") type_ = vector_of(1, 64, bytes);
    if (layout_ == "indexed") type_ = indexed(bytes);
    if (layout_ == "struct") type_ = particles(bytes);
    MPI_Type_commit(&type_);
    int size = 0;
    MPI_Aint lower = 0, extent = 0;
    MPI_Type_size(type_, &size);
    MPI_Type_get_extent(type_, &lower, &extent);
    packed_.assign(static_cast<std::size_t>(size), 0);
    memory_.resize(static_cast<std::size_t>(extent));
    for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i] = bench::byte_at(i, 1);
  }

  void run(long) override {
    const auto room = static_cast<int>(packed_.size());
    int position = 0;
    MPI_Pack(memory_.data(), 1, type_, packed_.data(), room, &position, MPI_COMM_SELF);
    position = 0;
    MPI_Unpack(packed_.data(), room, &position, memory_.data(), 1, type_, MPI_COMM_SELF);
  }

  // What is packed, cleared and unpacked again is what was there; a message to oneself through
  // the same type agrees.
  bool verify() override {
    run(0);
    const std::vector<std::uint8_t> before = memory_, packed = packed_;
    std::fill(memory_.begin(), memory_.end(), std::uint8_t{0});
    int position = 0;
    const auto room = static_cast<int>(packed_.size());
    MPI_Unpack(packed_.data(), room, &position, memory_.data(), 1, type_, MPI_COMM_SELF);
    std::fill(packed_.begin(), packed_.end(), std::uint8_t{0});
    MPI_Sendrecv(memory_.data(), 1, type_, 0, 1, packed_.data(), room, MPI_BYTE, 0, 1,
                 MPI_COMM_SELF, MPI_STATUS_IGNORE);
    bool same = packed_ == packed;
    for (std::size_t i = 0; i < memory_.size(); ++i)
      same = same && (memory_[i] == 0 || memory_[i] == before[i]);
    memory_ = before;
    return same;
  }

 private:
  std::string layout_;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  std::vector<std::uint8_t> memory_, packed_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string layout = argc > 1 ? argv[1] : "";
  if (layout != "vector" && layout != "column" && layout != "indexed" && layout != "struct") {
    std::fprintf(stderr, "usage: pack vector|column|indexed|struct [options]\n");
    return 2;
  }
  Pack what(layout);
  argv[1] = argv[0];
  return bench::measure(argc - 1, argv + 1, what);
}
