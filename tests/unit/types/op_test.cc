// Every predefined operation on every type it is defined for, against scalar arithmetic.
#include <complex>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <set>
#include <type_traits>

#include "catch.h"
#include "types/types.h"

using namespace tutti;
using namespace tutti::types;

namespace {

constexpr Handle kSum = 0x21, kMin = 0x22, kMax = 0x23, kProd = 0x24;
constexpr Handle kBand = 0x28, kBor = 0x29, kBxor = 0x2a;
constexpr Handle kLand = 0x30, kLor = 0x31, kLxor = 0x32;
constexpr Handle kMinloc = 0x38, kMaxloc = 0x39, kReplace = 0x3c, kNoOp = 0x3d;

std::set<std::pair<Handle, Handle>>& checked() {
  static std::set<std::pair<Handle, Handle>> pairs;
  return pairs;
}

template <class T>
struct Pair {
  T value;
  int index;
};

template <class T>
T some(std::mt19937& engine) {
  const int number = std::uniform_int_distribution<int>(-9, 9)(engine);
  if constexpr (std::is_same_v<T, bool>) {
    return number > 0;
  } else if constexpr (std::is_integral_v<T>) {
    const auto wide = static_cast<T>(std::uniform_int_distribution<std::int64_t>()(engine));
    return number < -3 ? T{0} : wide;
  } else {
    return T(static_cast<float>(number));
  }
}

// Runs the kernel out of place and onto either operand, at odd addresses too.
template <class T>
void check(Handle op_handle, Handle type_handle, const std::function<T(T, T)>& expect) {
  INFO("operation " << op_handle << " on type " << type_handle);
  const Datatype& type = *predefined_type(type_handle);
  const Op& op = *op_of(op_handle);
  REQUIRE(op.accepts(type));
  REQUIRE(type.extent() == sizeof(T));
  const Op::Kernel kernel = op.kernel(type);
  REQUIRE(kernel != nullptr);
  checked().insert({op_handle, type_handle});
  std::mt19937 engine(7);
  for (const Count count : {0, 1, 2, 3, 7, 8, 33, 64, 127, 259}) {
    const auto length = static_cast<std::size_t>(count);
    const std::size_t bytes = length * sizeof(T);
    std::vector<T> a, b, want;
    for (std::size_t i = 0; i < length; ++i) {
      a.push_back(some<T>(engine));
      b.push_back(some<T>(engine));
      want.push_back(expect(a[i], b[i]));
    }
    for (const int alias : {0, 1, 2}) {
      std::vector<std::byte> left(bytes + 3), right(bytes + 3), other(bytes + 3);
      std::byte* x = left.data() + 1;
      std::byte* y = right.data() + 3;
      std::byte* z = alias == 0 ? other.data() + 1 : alias == 1 ? x : y;
      for (std::size_t i = 0; i < length; ++i) {
        const T first = a[i], second = b[i];
        std::memcpy(x + i * sizeof(T), &first, sizeof(T));
        std::memcpy(y + i * sizeof(T), &second, sizeof(T));
      }
      kernel(x, y, z, count);
      for (std::size_t i = 0; i < length; ++i) {
        T got;
        std::memcpy(&got, z + i * sizeof(T), sizeof(T));
        REQUIRE(got == static_cast<T>(want[i]));
      }
    }
  }
}

template <class T>
T wrap_add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return static_cast<T>(a + b);
  }
}

template <class T>
T wrap_multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return static_cast<T>(a * b);
  }
}

template <class T>
void check_ordered(Handle type) {
  check<T>(kSum, type, wrap_add<T>);
  check<T>(kProd, type, wrap_multiply<T>);
  check<T>(kMin, type, [](T a, T b) { return std::min(a, b); });
  check<T>(kMax, type, [](T a, T b) { return std::max(a, b); });
}

template <class T>
void check_bits(Handle type) {
  check<T>(kBand, type, [](T a, T b) { return static_cast<T>(a & b); });
  check<T>(kBor, type, [](T a, T b) { return static_cast<T>(a | b); });
  check<T>(kBxor, type, [](T a, T b) { return static_cast<T>(a ^ b); });
}

template <class T>
void check_truth(Handle type) {
  check<T>(kLand, type, [](T a, T b) { return static_cast<T>(a && b); });
  check<T>(kLor, type, [](T a, T b) { return static_cast<T>(a || b); });
  check<T>(kLxor, type, [](T a, T b) { return static_cast<T>(!a != !b); });
}

template <class T>
void check_integer(Handle type) {
  check_ordered<T>(type);
  check_bits<T>(type);
  check_truth<T>(type);
}

template <class T>
void check_complex(Handle type) {
  using C = std::complex<T>;
  check<C>(kSum, type, [](C a, C b) { return a + b; });
  check<C>(kProd, type, [](C a, C b) { return a * b; });
}

template <class Value, class Index = int>
void check_pairs(Handle handle) {
  struct P {
    Value value;
    Index index;
  };
  INFO("pair type " << handle);
  const Datatype& type = *predefined_type(handle);
  REQUIRE(type.extent() == sizeof(P));
  for (const Handle op : {kMinloc, kMaxloc}) {
    REQUIRE(op_of(op)->accepts(type));
    checked().insert({op, handle});
    for (int u = -1; u <= 1; ++u) {
      for (int v = -1; v <= 1; ++v) {
        const P a[2] = {{Value(u), Index(5)}, {Value(u), Index(3)}};
        P b[2] = {{Value(v), Index(4)}, {Value(v), Index(4)}};
        op_of(op)->fold(a, b, 2, type);
        const bool a_wins = op == kMaxloc ? u > v : u < v;
        CHECK(b[0].value == Value(op == kMaxloc ? std::max(u, v) : std::min(u, v)));
        CHECK(b[0].index == Index(a_wins ? 5 : 4));
        CHECK(b[1].index == Index(a_wins || u == v ? 3 : 4));
      }
    }
  }
}

void check_all() {
  for (const Handle type : {0x201, 0x202, 0x203, 0x20a, 0x20b, 0x258, 0x2d9}) {
    check_integer<std::int64_t>(type);
  }
  for (const Handle type : {0x209, 0x250, 0x219, 0x2d1}) check_integer<std::int32_t>(type);
  for (const Handle type : {0x208, 0x248, 0x2c9}) check_integer<std::int16_t>(type);
  for (const Handle type : {0x240, 0x244, 0x2c1}) check_integer<std::int8_t>(type);
  for (const Handle type : {0x20e, 0x20f, 0x259}) check_integer<std::uint64_t>(type);
  for (const Handle type : {0x20d, 0x251}) check_integer<std::uint32_t>(type);
  for (const Handle type : {0x20c, 0x249}) check_integer<std::uint16_t>(type);
  for (const Handle type : {0x241, 0x245}) check_integer<std::uint8_t>(type);
  check_bits<std::uint8_t>(0x247);
  for (const Handle type : {0x210, 0x21a, 0x2d2}) check_ordered<float>(type);
  for (const Handle type : {0x214, 0x21c, 0x2da}) check_ordered<double>(type);
  check_ordered<long double>(0x220);
  for (const Handle type : {0x212, 0x213, 0x21b, 0x2db}) check_complex<float>(type);
  for (const Handle type : {0x216, 0x217, 0x21d, 0x2e3}) check_complex<double>(type);
  for (const Handle type : {0x224, 0x225}) check_complex<long double>(type);
  for (const Handle type : {0x238, 0x239}) check_truth<bool>(type);
  check_truth<std::int8_t>(0x2c0);
  check_truth<std::int16_t>(0x2c8);
  for (const Handle type : {0x218, 0x2d0}) check_truth<std::int32_t>(type);
  check_truth<std::int64_t>(0x2d8);
  check_pairs<float>(0x228);
  check_pairs<double>(0x229);
  check_pairs<long>(0x22a);
  check_pairs<int>(0x22b);
  check_pairs<short>(0x22c);
  check_pairs<long double>(0x22d);
  check_pairs<float, float>(0x230);
  check_pairs<double, double>(0x231);
  check_pairs<int>(0x232);
}

}  // namespace

TEST_CASE("every operation agrees with scalar arithmetic on every type", "[types][op]") {
  checked().clear();
  check_all();
  // The 16-byte integers and reals and the 2-byte reals, ours too, have tests of their own.
  const std::set<Handle> elsewhere = {0x24a, 0x24c, 0x2ca, 0x2d3, 0x2e0, 0x2e1, 0x2e2, 0x2eb};
  for (Handle op = 0x21; op < kReplace; ++op) {
    for (Handle type = kFirstType; type <= kLastType; ++type) {
      if (predefined_op(op) == nullptr || predefined_type(type) == nullptr) continue;
      INFO("operation " << op << " on type " << type);
      const bool accepted = predefined_op(op)->accepts(*predefined_type(type));
      CHECK(accepted == (checked().count({op, type}) != 0 || (accepted && elsewhere.count(type))));
    }
  }
}

TEST_CASE("operations are refused where they have no meaning", "[types][op]") {
  const auto refuses = [](Handle op, Handle type) {
    return !op_of(op)->accepts(*predefined_type(type));
  };
  CHECK(refuses(kSum, 0x243));   // characters
  CHECK(refuses(kSum, 0x238));   // truth values
  CHECK(refuses(kMax, 0x216));   // complex numbers have no order
  CHECK(refuses(kBand, 0x214));  // bits of a real
  CHECK(refuses(kLand, 0x214));
  CHECK(refuses(kSum, 0x247));  // bytes have no sum
  CHECK(refuses(kSum, 0x22b));  // nor have pairs
  CHECK(refuses(kMaxloc, 0x209));
  const TypeRef derived = *make_contiguous(2, *predefined_type(0x209));
  CHECK_FALSE(op_of(kSum)->accepts(*derived));
}

TEST_CASE("handles without an operation give null", "[types][op]") {
  CHECK(op_of(0x20) == nullptr);
  CHECK(op_of(0x25) == nullptr);
  CHECK(op_of(0x40) == nullptr);
  CHECK(op_of(0) == nullptr);
}

TEST_CASE("wide integers carry across their halves", "[types][op]") {
  __extension__ typedef __int128 Int128;
  const Int128 a = (Int128{1} << 64) - 1;
  Int128 b = 1;
  op_of(kSum)->fold(&a, &b, 1, *predefined_type(0x2e1));
  CHECK((b == Int128{1} << 64));
  b = -2;
  op_of(kMax)->fold(&a, &b, 1, *predefined_type(0x2e1));
  CHECK((b == a));
}

#if defined(__SIZEOF_FLOAT128__)
TEST_CASE("Fortran's 16-byte reals are summed with all their digits", "[types][op]") {
  __extension__ typedef __float128 Float128;
  const Float128 tiny = 1.0 / (1ULL << 40) / (1ULL << 40);
  const Float128 a = 1;
  Float128 b = tiny;
  op_of(kSum)->fold(&a, &b, 1, *predefined_type(0x2e2));
  CHECK((b - 1 == tiny));
}
#endif

#if defined(__FLT16_MANT_DIG__)
TEST_CASE("2-byte reals are summed", "[types][op]") {
  __extension__ typedef _Float16 Float16;
  std::vector<Float16> a(37), b(37);
  for (int i = 0; i < 37; ++i) {
    a[static_cast<std::size_t>(i)] = static_cast<Float16>(i);
    b[static_cast<std::size_t>(i)] = static_cast<Float16>(2);
  }
  op_of(kSum)->fold(a.data(), b.data(), 37, *predefined_type(0x2ca));
  for (int i = 0; i < 37; ++i) {
    CHECK(static_cast<float>(b[static_cast<std::size_t>(i)]) == static_cast<float>(i + 2));
  }
}
#endif

TEST_CASE("bfloat16 is computed in float and rounded to the nearest even", "[types][op]") {
  // 256 + 1 lies between 256 and 258, 258 + 1 between 258 and 260; 1 + infinity; 3 * 0.5.
  const std::uint16_t a[] = {0x3f80, 0x3f80, 0x3f80, 0x3f00, 0x7f80};
  const std::uint16_t sums[] = {0x4380, 0x4382, 0x7f80, 0x4060, 0x7fc0};
  std::uint16_t b[] = {0x4380, 0x4381, 0x7f80, 0x4040, 0xff80};
  const Datatype& type = *predefined_type(0x24c);
  REQUIRE(type.size() == 2);
  op_of(kSum)->fold(a, b, 5, type);
  for (int i = 0; i < 5; ++i) CHECK(b[i] == sums[i]);
  std::uint16_t c[] = {0x4040, 0xc040};
  op_of(kProd)->fold(a + 2, c, 1, type);
  CHECK(c[0] == 0x4040);
  op_of(kMax)->fold(a, c + 1, 1, type);
  CHECK(c[1] == 0x3f80);
}

TEST_CASE("folds keep the gaps of pair types", "[types][op]") {
  std::vector<unsigned char> a(32, 0xaa), b(32, 0xbb);
  const double low = 1, high = 2;
  std::memcpy(a.data(), &high, 8);
  std::memcpy(b.data(), &low, 8);
  op_of(kMaxloc)->fold(a.data(), b.data(), 1, *predefined_type(0x229));
  CHECK(b[8] == 0xaa);
  CHECK(b[12] == 0xbb);
}

TEST_CASE("replace takes the second operand, no_op the first", "[types][op]") {
  const TypeRef type = *make_vector(2, 1, 2, *predefined_type(0x209));
  const std::vector<int> from = {1, 2, 3};
  std::vector<int> into = {7, 8, 9};
  op_of(kReplace)->fold(from.data(), into.data(), 1, *type);
  CHECK(into == std::vector<int>{7, 8, 9});
  op_of(kNoOp)->fold_right(from.data(), into.data(), 1, *type, nullptr);
  CHECK(into == std::vector<int>{7, 8, 9});
  op_of(kReplace)->fold_right(from.data(), into.data(), 1, *type, nullptr);
  CHECK(into == std::vector<int>{1, 8, 3});
  into = {7, 8, 9};
  op_of(kNoOp)->fold(from.data(), into.data(), 1, *type);
  CHECK(into == std::vector<int>{1, 8, 3});
}
