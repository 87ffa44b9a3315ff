// Which kernel is in which piece of PTX, and how it is launched.
#include "device/cuda/kernels.h"

#include <algorithm>
#include <string_view>

#include "device/cuda/ptx.h"

namespace tutti::device::cuda {
namespace {

using types::Element;

struct Image {
  const char* ptx;
  std::string_view kernels;  // parted by spaces; numbered through all images
};
// clang-format off
constexpr Image kImages[] = {
  {kPtxRows, "tutti_rows tutti_runs"},
  {kPtxIntegers,
   "tutti_fold_bits8 tutti_fold_bits16 tutti_fold_bits32 tutti_fold_bits64 tutti_fold_bits128 "
   "tutti_fold_int8 tutti_fold_int16 tutti_fold_int32 tutti_fold_int64 tutti_fold_int128 "
   "tutti_fold_uint8 tutti_fold_uint16 tutti_fold_uint32 tutti_fold_uint64"},
  {kPtxFloats,
   "tutti_fold_float16 tutti_fold_bfloat16 tutti_fold_float32 tutti_fold_float64 "
   "tutti_fold_complex32 tutti_fold_complex64 tutti_fold_complex128 "
   "tutti_convert_float16 tutti_convert_bfloat16"},
  {kPtxPlaces,
   "tutti_fold_float_int tutti_fold_double_int tutti_fold_long_int tutti_fold_int_int "
   "tutti_fold_short_int tutti_fold_float_float tutti_fold_double_double"},
};
// clang-format on

// The kernel's image and name, by its number.
struct Place {
  std::size_t image = 0;
  std::string_view name;
};
constexpr Place place_of(int kernel) {
  for (std::size_t image = 0; image < std::size(kImages); ++image) {
    std::string_view left = kImages[image].kernels;
    while (!left.empty()) {
      const std::string_view name = left.substr(0, left.find(' '));
      if (kernel-- == 0) return {image, name};
      left.remove_prefix(std::min(left.size(), name.size() + 1));
    }
  }
  return {};
}
constexpr int number_of(std::string_view name) {
  int number = 0;
  while (place_of(number).name != name) ++number;  // ends: it is asked by the compiler only
  return number;
}
constexpr int kRows = number_of("tutti_rows"), kRuns = number_of("tutti_runs");

// What folds an element: its bits (sums of integers, logic), and its values (all others).
struct ElementRow {
  Element element;
  int bits, values;
};
constexpr int fold_named(std::string_view name) {
  return name.empty() ? -1 : number_of(name);
}
// clang-format off
constexpr ElementRow kElementRows[] = {
  {Element::byte, fold_named("tutti_fold_bits8"), -1},
  {Element::logical8, fold_named("tutti_fold_bits8"), -1},
  {Element::logical16, fold_named("tutti_fold_bits16"), -1},
  {Element::logical32, fold_named("tutti_fold_bits32"), -1},
  {Element::logical64, fold_named("tutti_fold_bits64"), -1},
  {Element::logical128, fold_named("tutti_fold_bits128"), -1},
  {Element::int8, fold_named("tutti_fold_bits8"), fold_named("tutti_fold_int8")},
  {Element::int16, fold_named("tutti_fold_bits16"), fold_named("tutti_fold_int16")},
  {Element::int32, fold_named("tutti_fold_bits32"), fold_named("tutti_fold_int32")},
  {Element::int64, fold_named("tutti_fold_bits64"), fold_named("tutti_fold_int64")},
  {Element::int128, fold_named("tutti_fold_bits128"), fold_named("tutti_fold_int128")},
  {Element::uint8, fold_named("tutti_fold_bits8"), fold_named("tutti_fold_uint8")},
  {Element::uint16, fold_named("tutti_fold_bits16"), fold_named("tutti_fold_uint16")},
  {Element::uint32, fold_named("tutti_fold_bits32"), fold_named("tutti_fold_uint32")},
  {Element::uint64, fold_named("tutti_fold_bits64"), fold_named("tutti_fold_uint64")},
  {Element::float16, -1, fold_named("tutti_fold_float16")},
  {Element::bfloat16, -1, fold_named("tutti_fold_bfloat16")},
  {Element::float32, -1, fold_named("tutti_fold_float32")},
  {Element::float64, -1, fold_named("tutti_fold_float64")},
  {Element::complex32, -1, fold_named("tutti_fold_complex32")},
  {Element::complex64, -1, fold_named("tutti_fold_complex64")},
  {Element::complex128, -1, fold_named("tutti_fold_complex128")},
  {Element::float_int, -1, fold_named("tutti_fold_float_int")},
  {Element::double_int, -1, fold_named("tutti_fold_double_int")},
  {Element::long_int, -1, fold_named("tutti_fold_long_int")},
  {Element::int_int, -1, fold_named("tutti_fold_int_int")},
  {Element::short_int, -1, fold_named("tutti_fold_short_int")},
  {Element::float_float, -1, fold_named("tutti_fold_float_float")},
  {Element::double_double, -1, fold_named("tutti_fold_double_double")},
};
// clang-format on

bool is_ordering(int op) {
  return op == kMin || op == kMax || op == kMinLoc || op == kMaxLoc;
}

}  // namespace

int fold_kernel(const types::Op& op, Element element) {
  const auto* const row =
      std::find_if(std::begin(kElementRows), std::end(kElementRows),
                   [element](const ElementRow& each) { return each.element == element; });
  if (row == std::end(kElementRows)) return -1;
  const bool by_bits = row->bits >= 0 && !is_ordering(static_cast<int>(op.handle()));
  return by_bits ? row->bits : row->values;
}

int convert_kernel(Element element) {
  constexpr int kHalf = number_of("tutti_convert_float16");
  constexpr int kBrain = number_of("tutti_convert_bfloat16");
  if (element == Element::bfloat16) return kBrain;
  return element == Element::float16 || element == Element::complex32 ? kHalf : -1;
}

Result<CUfunction> Kernels::function(int kernel) {
  CUfunction& found = functions_[static_cast<std::size_t>(kernel)];
  if (found != nullptr) return found;
  const Place place = place_of(kernel);
  CUmodule& module = modules_[place.image];
  if (module == nullptr)
    if (const CUresult said = driver_.cuModuleLoadData(&module, kImages[place.image].ptx);
        said != CUDA_SUCCESS) {
      module = nullptr;
      return fail(Code::other, "the kernels of Tutti cannot be loaded: " + driver_.text_of(said) +
                                   "; they need a GPU of compute capability 7.5 or later");
    }
  const CUresult said =
      driver_.cuModuleGetFunction(&found, module, std::string(place.name).c_str());
  if (said == CUDA_SUCCESS) return found;
  found = nullptr;
  return fail(Code::other, "no kernel " + std::string(place.name) + ": " + driver_.text_of(said));
}

Result<void> Kernels::load() {
  for (int kernel = 0; kernel < kKernels; ++kernel) TUTTI_DO(function(kernel));
  return {};
}

Result<void> Kernels::launch(CUstream stream, int kernel, std::int64_t blocks, std::int64_t rows,
                             const void* params) {
  constexpr std::int64_t kMostBlocks = 4096, kMostRows = 65535;
  TUTTI_TRY(chosen, function(kernel));
  void* arguments[] = {const_cast<void*>(params)};
  const auto wide = static_cast<unsigned>(std::clamp<std::int64_t>(rows, 1, kMostRows));
  const auto high = static_cast<unsigned>(std::clamp<std::int64_t>(blocks, 1, kMostBlocks));
  const CUresult said =
      driver_.cuLaunchKernel(chosen, wide, high, 1, kThreads, 1, 1, 0, stream, arguments, nullptr);
  if (said == CUDA_SUCCESS) return {};
  return fail(Code::other,
              "kernel " + std::string(place_of(kernel).name) + ": " + driver_.text_of(said));
}

Result<void> Kernels::rows(CUstream stream, const RowsParams& params) {
  std::int64_t most = 1;  // units of the longest row
  if (params.many == nullptr)
    for (std::int64_t r = 0; r < params.rows; ++r)
      most = std::max(most, params.few[r].bytes * params.few[r].count / params.unit);
  return launch(stream, kRows, (most + kThreads - 1) / kThreads, params.rows, &params);
}

Result<void> Kernels::runs(CUstream stream, const RunsParams& params) {
  return launch(stream, kRuns, ((params.items << params.lane_bits) + kThreads - 1) / kThreads, 1,
                &params);
}

Result<void> Kernels::fold(CUstream stream, int kernel, const FoldParams& params) {
  constexpr std::int64_t kEach = 4;  // elements a thread, about
  return launch(stream, kernel, params.count / (kEach * kThreads) + 1, 1, &params);
}

Result<void> Kernels::convert(CUstream stream, int kernel, const ConvertParams& params) {
  constexpr std::int64_t kEach = 8;
  return launch(stream, kernel, params.count / (kEach * kThreads) + 1, 1, &params);
}

void Kernels::close() {
  for (CUmodule& module : modules_)
    if (module != nullptr) driver_.cuModuleUnload(std::exchange(module, nullptr));
  functions_ = {};
}

}  // namespace tutti::device::cuda
