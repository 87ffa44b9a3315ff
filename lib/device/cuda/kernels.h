// kernels: the PTX of this library, loaded into a context at first use, and launched.
#pragma once

#include <array>
#include <cstdint>

#include "base/result.h"
#include "device/cuda/driver.h"
#include "device/kernels/params.h"
#include "types/types.h"

namespace tutti::device::cuda {

// Which kernel folds elements by an operation; -1: none (long double, floats of 16 bytes).
int fold_kernel(const types::Op& op, types::Element element);
// Which takes two-byte floats of this element to float32, and back; -1: it has none.
int convert_kernel(types::Element element);

class Kernels {
 public:
  explicit Kernels(const Driver& driver) : driver_(driver) {}
  // The context is current for all of these.
  Result<void> rows(CUstream stream, const RowsParams& params);
  Result<void> runs(CUstream stream, const RunsParams& params);
  Result<void> fold(CUstream stream, int kernel, const FoldParams& params);
  Result<void> convert(CUstream stream, int kernel, const ConvertParams& params);
  // All of them. A first use may make the driver wait for streams that stand still.
  Result<void> load();
  void close();

 private:
  Result<CUfunction> function(int kernel);
  Result<void> launch(CUstream stream, int kernel, std::int64_t blocks, std::int64_t rows,
                      const void* params);

  static constexpr int kModules = 4;
  static constexpr int kKernels = 32;
  const Driver& driver_;
  std::array<CUmodule, kModules> modules_ = {};
  std::array<CUfunction, kKernels> functions_ = {};
};

}  // namespace tutti::device::cuda
