// Two-byte floats in float32: which reductions accumulate there, and the way there and back.
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "catch.h"
#include "types/kernels/kernels.h"

using namespace tutti;
using namespace tutti::types;

namespace {

constexpr Handle kSum = 0x21, kMax = 0x23, kProd = 0x24;

}  // namespace

TEST_CASE("sums and products of two-byte floats accumulate in float32", "[types][op]") {
  const Datatype* const single = predefined_type(0x210);
  const Datatype* const pair = predefined_type(0x212);
  for (const Handle op : {kSum, kProd}) {
    CHECK(op_of(op)->accumulator(*predefined_type(0x24c)) == single);
    CHECK(op_of(op)->accumulator(*predefined_type(0x2d3)) == pair);
    CHECK(op_of(op)->accumulator(*single) == nullptr);
  }
  CHECK(op_of(kMax)->accumulator(*predefined_type(0x24c)) == nullptr);
  CHECK(op_of(kSum)->accumulator(*make_dup(*predefined_type(0x24c)).value()) == nullptr);
}

TEST_CASE("bfloat16 becomes float32 and back, to the nearest even", "[types][op]") {
  const Datatype& type = *predefined_type(0x24c);
  const std::uint16_t halves[] = {0x3f80, 0xc040, 0x0001, 0x7f80};
  const float wides[] = {1, -3, 9.1835496157991212e-41F, HUGE_VALF};
  float wide[4];
  widen(type, halves, wide, 4);
  for (int i = 0; i < 4; ++i) CHECK(wide[i] == wides[i]);
  const float between[] = {257, 259, 256.99F, -257.01F};
  const std::uint16_t nearest[] = {0x4380, 0x4382, 0x4380, 0xc381};
  std::uint16_t narrowed[4];
  narrow(type, between, narrowed, 4);
  for (int i = 0; i < 4; ++i) CHECK(narrowed[i] == nearest[i]);
}

#if defined(__FLT16_MANT_DIG__)
TEST_CASE("float16 becomes float32 and back as the compiler's does", "[types][op]") {
  __extension__ typedef _Float16 Float16;
  const Datatype& type = *predefined_type(0x2ca);
  std::vector<std::uint16_t> all(65536), back(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  std::vector<float> wide(65536);
  widen(type, all.data(), wide.data(), 65536);
  narrow(type, wide.data(), back.data(), 65536);
  int wrong = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Float16 value;
    std::memcpy(&value, &all[i], 2);
    const auto number = static_cast<float>(value);
    const bool is_number = number == number;
    wrong += is_number ? wide[i] != number || back[i] != all[i] : wide[i] == wide[i];
  }
  CHECK(wrong == 0);
  // Ties, overflow, numbers that become tiny or nothing: near every boundary of the format.
  std::vector<float> near;
  for (std::size_t i = 0; i < 0x7c00; ++i) {
    const float here = wide[i], middle = (here + wide[i + 1]) / 2;
    const bool last = i + 1 == 0x7c00;
    for (const float at : {here, last ? 65520.0F : middle})
      for (const float value : {std::nextafter(at, 0.0F), at, std::nextafter(at, 1e9F)})
        near.insert(near.end(), {value, -value});
  }
  near.insert(near.end(), {1e30F, -1e-30F, HUGE_VALF});
  std::vector<std::uint16_t> got(near.size());
  narrow(type, near.data(), got.data(), static_cast<Count>(near.size()));
  for (std::size_t i = 0; i < near.size(); ++i) {
    const auto value = static_cast<Float16>(near[i]);
    wrong += std::memcmp(&value, &got[i], 2) != 0;
  }
  CHECK(wrong == 0);
}
#endif

TEST_CASE("every level widens and narrows to the same bits", "[types][op]") {
  KernelTable plain = {};
  REQUIRE(fill_kernels(KernelLevel::plain, plain));
  constexpr Count kCount = 4099;
  std::mt19937 engine(5);
  std::vector<std::uint32_t> bits(2 * kCount);
  for (std::uint32_t& word : bits) {
    word = static_cast<std::uint32_t>(engine());
    if ((word & 0x7fffffffU) > 0x7f800000U) word &= 0xff800000U;  // a number, or infinity
  }
  for (const KernelLevel level : {KernelLevel::avx2, KernelLevel::avx512}) {
    KernelTable table = {};
    if (!fill_kernels(level, table)) continue;
    for (std::size_t element = 0; element < kElements; ++element) {
      INFO("level " << static_cast<int>(level) << " element " << element);
      REQUIRE((table.widen[element] == nullptr) == (plain.widen[element] == nullptr));
      if (plain.widen[element] == nullptr) continue;
      std::vector<std::uint16_t> left(2 * kCount), right(2 * kCount);
      plain.narrow[element](bits.data(), left.data(), kCount);
      table.narrow[element](bits.data(), right.data(), kCount);
      CHECK(left == right);
      std::vector<std::uint32_t> one(2 * kCount), other(2 * kCount);
      plain.widen[element](left.data(), one.data(), kCount);
      table.widen[element](left.data(), other.data(), kCount);
      CHECK(one == other);
    }
  }
}
