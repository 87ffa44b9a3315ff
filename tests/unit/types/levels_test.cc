// Every level of vector instructions that this processor has gives the same bits.
#include <cstring>
#include <random>

#include "catch.h"
#include "types/kernels/kernels.h"

using namespace tutti;
using namespace tutti::types;

namespace {

// The first predefined type with this element, or null.
const Datatype* type_with(std::size_t element) {
  for (Handle handle = kFirstType; handle <= kLastType; ++handle) {
    const Datatype* type = predefined_type(handle);
    if (type != nullptr && static_cast<std::size_t>(type->element()) == element) return type;
  }
  return nullptr;
}

bool is_real(Element element) {
  return (element >= Element::float16 && element <= Element::complex_long) ||
         element == Element::float128 || element == Element::complex256 ||
         element == Element::bfloat16;
}

// Small whole numbers where the type is a real one, else any bytes; not-a-numbers do not
// compare.
std::vector<std::byte> values(const Datatype& type, std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<std::byte> made(count * static_cast<std::size_t>(type.extent()), std::byte{0});
  const bool is_any = !is_real(type.element()) && type.element() < Element::float_int;
  for (std::byte& byte : made) {
    byte = is_any ? static_cast<std::byte>(engine() & 255) : std::byte{0};
  }
  if (is_any) return made;
  const std::size_t part = type.element() == Element::float64 ? 8 : 4;
  for (std::size_t at = 0; at + part <= made.size(); at += part) {
    const auto number = static_cast<int>(engine() % 100);
    const auto wide = static_cast<double>(number) / 7;
    const auto narrow = static_cast<float>(wide);
    if (part == 8) {
      std::memcpy(made.data() + at, &wide, 8);
    } else if (type.element() == Element::float32 || type.element() == Element::complex64) {
      std::memcpy(made.data() + at, &narrow, 4);
    } else {
      std::memcpy(made.data() + at, &number, 2);  // tiny numbers of any format
    }
  }
  return made;
}

}  // namespace

TEST_CASE("every level of kernels gives the same bits", "[types][op]") {
  KernelTable plain = {};
  REQUIRE(fill_kernels(KernelLevel::plain, plain));
  for (const KernelLevel level : {KernelLevel::avx2, KernelLevel::avx512}) {
    KernelTable table = {};
    if (!fill_kernels(level, table)) continue;
    for (std::size_t op = 0; op < kOperations; ++op) {
      for (std::size_t element = 0; element < kElements; ++element) {
        INFO("level " << static_cast<int>(level) << " op " << op << " element " << element);
        REQUIRE((table.rows[op][element] == nullptr) == (plain.rows[op][element] == nullptr));
        if (plain.rows[op][element] == nullptr) continue;
        const Datatype* type = type_with(element);
        REQUIRE(type != nullptr);
        const auto a = values(*type, 203, 1);
        const auto b = values(*type, 203, 2);
        auto left = b;
        auto right = b;
        plain.rows[op][element](a.data(), left.data(), left.data(), 203);
        table.rows[op][element](a.data(), right.data(), right.data(), 203);
        CHECK(left == right);
      }
    }
  }
}
