// Tables of irregular layouts where the driver refuses to bring one.
#include "device/cuda/tables.h"

#include "catch.h"
#include "driver.h"

namespace {

using namespace tutti;

// Of so many runs that its table has rooms of its own.
types::TypeRef scattered() {
  constexpr types::Count kRuns = 600'000;
  std::vector<types::Count> lengths(kRuns, 1), places;
  for (types::Count i = 0; i < kRuns; ++i) places.push_back(3 * i + i * i % 2);
  auto type = *types::make_indexed(lengths, places, *types::predefined_type(0x209));
  type->commit();
  return type;
}

// Of few runs, each type another.
types::TypeRef uneven(types::Count which) {
  const types::Count lengths[] = {1, 1, 1}, places[] = {0, 3, 7 + which};
  auto type = *types::make_indexed(lengths, places, *types::predefined_type(0x209));
  type->commit();
  return type;
}

CUresult refuse(CUdeviceptr, CUdeviceptr, std::size_t, CUstream) {
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

TEST_CASE("a table whose event failed is waited for, and kept no longer than others", "[device]") {
  test::Gpus gpus;
  REQUIRE(gpus.found);
  device::cuda::RunTables tables(gpus.driver);
  tables.open();
  gpus.driver.cuEventRecord = [](CUevent, CUstream) { return CUDA_ERROR_INVALID_VALUE; };
  std::vector<types::TypeRef> kept{uneven(0)};
  REQUIRE(tables.make(*kept.back(), CU_STREAM_LEGACY) != nullptr);
  gpus.driver.cuEventRecord = &cuEventRecord;
  while (kept.size() < 600) {  // more than there may be at a time
    kept.push_back(uneven(static_cast<types::Count>(kept.size())));
    REQUIRE(tables.make(*kept.back(), CU_STREAM_LEGACY) != nullptr);
    cuStreamSynchronize(CU_STREAM_LEGACY);  // as if it had been read: its room is used again
  }
  CHECK(tables.find(*kept.front()) == nullptr);
  tables.close();
}

TEST_CASE("rooms of a table that could not be brought are given back", "[device]") {
  test::Gpus gpus;
  REQUIRE(gpus.found);
  device::cuda::RunTables tables(gpus.driver);
  tables.open();
  const auto type = scattered();
  gpus.driver.cuMemcpyAsync = &refuse;
  const auto freed = tutti_standin_count("cuMemFree"),
             unpinned = tutti_standin_count("cuMemFreeHost");
  CHECK(tables.make(*type, CU_STREAM_LEGACY) == nullptr);
  CHECK(tutti_standin_count("cuMemFree") == freed + 1);
  CHECK(tutti_standin_count("cuMemFreeHost") == unpinned + 1);
  CHECK(tables.find(*type) == nullptr);
  gpus.driver.cuMemcpyAsync = &cuMemcpyAsync;
  const auto* const made = tables.make(*type, CU_STREAM_LEGACY);
  REQUIRE(made != nullptr);
  CHECK(made->count == 600'000);
  cuStreamSynchronize(CU_STREAM_LEGACY);
  tables.close();
  CHECK(tutti_standin_count("cuMemFree") == freed + 3);
}
