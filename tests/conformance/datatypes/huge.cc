// MPI 5.0, 5.1.2 and 5.2: types of more than 2^31 elements and bytes, for real: the large forms
// say their sizes, the small ones MPI_UNDEFINED; packing and unpacking in one call moves every
// byte to its place. Without 6 GiB of free memory the second half is left out, which is said.
#include <unistd.h>

#include <cstring>
#include <memory>

#include "check.h"

using namespace ranks;

namespace {

constexpr MPI_Count kBlocks = (MPI_Count{1} << 31) / 7 + 5;  // of 7 bytes, 8 apart
constexpr MPI_Count kStream = 7 * kBlocks;

MPI_Datatype huge_type() {
  MPI_Datatype type;
  MPI_Type_vector_c(kBlocks, 7, 8, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  return type;
}

void sizes(MPI_Datatype type) {
  MPI_Count size = 0, lower = -1, extent = 0;
  int small = 0;
  MPI_Type_size_c(type, &size);
  CHECK(size == kStream && size > MPI_Count{1} << 31);
  MPI_Type_size(type, &small);
  CHECK(small == MPI_UNDEFINED);
  MPI_Type_get_extent_c(type, &lower, &extent);
  CHECK(lower == 0 && extent == 8 * kBlocks - 1);
  MPI_Status status{};
  MPI_Status_set_elements_c(&status, type, kStream);
  MPI_Count count = 0, elements = 0, elements_x = 0;
  MPI_Get_count_c(&status, type, &count);
  MPI_Get_elements_c(&status, type, &elements);
  MPI_Get_elements_x(&status, type, &elements_x);
  CHECK(count == 1 && elements == kStream && elements_x == kStream);
  MPI_Get_elements(&status, type, &small);
  CHECK(small == MPI_UNDEFINED);

  // A type of 2^62 bytes is as easy to describe, and one that does not fit is refused.
  MPI_Datatype vast, none = MPI_DATATYPE_NULL;
  MPI_Type_contiguous_c(MPI_Count{1} << 62, MPI_BYTE, &vast);
  MPI_Type_size_c(vast, &size);
  CHECK(size == MPI_Count{1} << 62);
  CHECK(MPI_Type_contiguous_c(4, vast, &none) == MPI_ERR_VALUE_TOO_LARGE);
  MPI_Type_free(&vast);
}

unsigned char byte_of(MPI_Count place) {
  return static_cast<unsigned char>(place * 31 + (place >> 16) + 1);
}

using Bytes = std::unique_ptr<unsigned char[]>;

void moves(MPI_Datatype type) {
  const auto memory_bytes = static_cast<std::size_t>(8 * kBlocks);
  const Bytes memory(new unsigned char[memory_bytes]);
  const Bytes packed(new unsigned char[static_cast<std::size_t>(kStream)]);
  for (std::size_t i = 0; i < memory_bytes; ++i) memory[i] = byte_of(static_cast<MPI_Count>(i));
  MPI_Count position = 0;
  MPI_Pack_c(memory.get(), 1, type, packed.get(), kStream, &position, MPI_COMM_SELF);
  CHECK(position == kStream);
  bool same = true;
  for (MPI_Count block = 0; block < kBlocks; ++block)
    same = same && std::memcmp(&packed[static_cast<std::size_t>(7 * block)],
                               &memory[static_cast<std::size_t>(8 * block)], 7) == 0;
  CHECK(same);
  std::memset(memory.get(), 0, memory_bytes);
  position = 0;
  MPI_Unpack_c(packed.get(), kStream, &position, memory.get(), 1, type, MPI_COMM_SELF);
  CHECK(position == kStream);
  for (std::size_t i = 0; i < memory_bytes && same; ++i)
    same = memory[i] == (i % 8 == 7 ? 0 : byte_of(static_cast<MPI_Count>(i)));
  CHECK(same);
}

}  // namespace

int main() {
  begin();
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Datatype type = huge_type();
  sizes(type);
  const long free_mib = (sysconf(_SC_AVPHYS_PAGES) / 1024) * (sysconf(_SC_PAGESIZE) / 1024);
  if (free_mib >= 6 * 1024)
    moves(type);
  else
    std::printf("left out: %ld MiB are free, 6144 are needed to move the bytes\n", free_mib);
  MPI_Type_free(&type);
  return done();
}
