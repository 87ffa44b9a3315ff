// How long a chunk is follows what copies of each length took.
#include "device/cuda/pace.h"

#include "catch.h"

using tutti::device::cuda::chunk_by;

TEST_CASE("a chunk is the shortest whose rate is nearly the best", "[device]") {
  constexpr std::size_t kKi = 1024;
  CHECK(chunk_by({1000, 2000, 4000, 8000}) == 64 * kKi);   // one rate
  CHECK(chunk_by({9000, 9000, 9000, 9000}) == 512 * kKi);  // all is what a copy costs at least
  CHECK(chunk_by({1200, 2100, 4000, 8000}) == 128 * kKi);  // 83 %, then 95 %
  CHECK(chunk_by({2000, 3000, 4400, 8000}) == 256 * kKi);
  CHECK(chunk_by({1111, 2000, 4000, 8000}) == 64 * kKi);  // nine tenths, and a bit
  CHECK(chunk_by({1112, 2222, 4000, 8000}) == 128 * kKi);
  CHECK(chunk_by({1000, 3000, 7000, 16000}) == 64 * kKi);  // long ones are slower
}
