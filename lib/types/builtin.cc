// builtin.cc: the predefined datatypes of the standard ABI, by handle.
//
// One table gives number, name, element class and C type; sizes and alignments follow from
// the C type of this platform. Pair types have the gaps of their C structs. Fortran's types
// have the sizes that gfortran and others use by default.
#include <array>
#include <cwchar>

#include "base/check.h"
#include "types/layout.h"
#include "types/maker.h"

namespace tutti::types {

Datatype* predefined_types[kLastType - kFirstType + 1];

namespace {

__extension__ typedef __int128 Int128;  // NOLINT: keyword of an extension

template <class Value, class Index>
struct Pair {
  Value value;
  Index index;
};

struct TypeRow {
  Handle handle;
  const char* name;
  Element element;
  Count size;
  std::size_t extent;
  std::size_t alignment;
  Count gap;  // bytes between value and index of a pair
  Count value;
};

template <class T>
constexpr TypeRow plain(Handle handle, const char* name, Element element) {
  return {handle, name, element, sizeof(T), sizeof(T), alignof(T), 0, sizeof(T)};
}

template <class T>
constexpr TypeRow complex(Handle handle, const char* name, Element element) {
  return {handle, name, element, 2 * sizeof(T), 2 * sizeof(T), alignof(T), 0, 2 * sizeof(T)};
}

template <class Value, class Index>
constexpr TypeRow pair(Handle handle, const char* name, Element element) {
  using P = Pair<Value, Index>;
  constexpr Count gap = static_cast<Count>(offsetof(P, index) - sizeof(Value));
  return {handle,    name,       element, sizeof(Value) + sizeof(Index),
          sizeof(P), alignof(P), gap,     sizeof(Value)};
}

constexpr Element signed_element(std::size_t bytes) {
  return bytes == 1   ? Element::int8
         : bytes == 2 ? Element::int16
         : bytes == 4 ? Element::int32
                      : Element::int64;
}
constexpr Element unsigned_element(std::size_t bytes) {
  return bytes == 1   ? Element::uint8
         : bytes == 2 ? Element::uint16
         : bytes == 4 ? Element::uint32
                      : Element::uint64;
}
template <class T>
constexpr TypeRow integer(Handle handle, const char* name) {
  const bool is_signed = static_cast<T>(-1) < static_cast<T>(0);
  return plain<T>(handle, name,
                  is_signed ? signed_element(sizeof(T)) : unsigned_element(sizeof(T)));
}

// Of synonyms the name that the standard has first (MPI 5.0, 3.2.2), as all others say it.
constexpr TypeRow kRows[] = {
    integer<std::intptr_t>(0x201, "MPI_AINT"),
    integer<std::int64_t>(0x202, "MPI_COUNT"),
    integer<std::int64_t>(0x203, "MPI_OFFSET"),
    plain<std::byte>(0x207, "MPI_PACKED", Element::none),
    integer<short>(0x208, "MPI_SHORT"),
    integer<int>(0x209, "MPI_INT"),
    integer<long>(0x20a, "MPI_LONG"),
    integer<long long>(0x20b, "MPI_LONG_LONG_INT"),
    integer<unsigned short>(0x20c, "MPI_UNSIGNED_SHORT"),
    integer<unsigned>(0x20d, "MPI_UNSIGNED"),
    integer<unsigned long>(0x20e, "MPI_UNSIGNED_LONG"),
    integer<unsigned long long>(0x20f, "MPI_UNSIGNED_LONG_LONG"),
    plain<float>(0x210, "MPI_FLOAT", Element::float32),
    complex<float>(0x212, "MPI_C_COMPLEX", Element::complex64),
    complex<float>(0x213, "MPI_CXX_FLOAT_COMPLEX", Element::complex64),
    plain<double>(0x214, "MPI_DOUBLE", Element::float64),
    complex<double>(0x216, "MPI_C_DOUBLE_COMPLEX", Element::complex128),
    complex<double>(0x217, "MPI_CXX_DOUBLE_COMPLEX", Element::complex128),
    plain<std::int32_t>(0x218, "MPI_LOGICAL", Element::logical32),
    plain<std::int32_t>(0x219, "MPI_INTEGER", Element::int32),
    plain<float>(0x21a, "MPI_REAL", Element::float32),
    complex<float>(0x21b, "MPI_COMPLEX", Element::complex64),
    plain<double>(0x21c, "MPI_DOUBLE_PRECISION", Element::float64),
    complex<double>(0x21d, "MPI_DOUBLE_COMPLEX", Element::complex128),
    plain<char>(0x21e, "MPI_CHARACTER", Element::none),
    plain<long double>(0x220, "MPI_LONG_DOUBLE", Element::float_long),
    complex<long double>(0x224, "MPI_C_LONG_DOUBLE_COMPLEX", Element::complex_long),
    complex<long double>(0x225, "MPI_CXX_LONG_DOUBLE_COMPLEX", Element::complex_long),
    pair<float, int>(0x228, "MPI_FLOAT_INT", Element::float_int),
    pair<double, int>(0x229, "MPI_DOUBLE_INT", Element::double_int),
    pair<long, int>(0x22a, "MPI_LONG_INT", Element::long_int),
    pair<int, int>(0x22b, "MPI_2INT", Element::int_int),
    pair<short, int>(0x22c, "MPI_SHORT_INT", Element::short_int),
    pair<long double, int>(0x22d, "MPI_LONG_DOUBLE_INT", Element::long_double_int),
    pair<float, float>(0x230, "MPI_2REAL", Element::float_float),
    pair<double, double>(0x231, "MPI_2DOUBLE_PRECISION", Element::double_double),
    pair<int, int>(0x232, "MPI_2INTEGER", Element::int_int),
    plain<bool>(0x238, "MPI_C_BOOL", Element::logical8),
    plain<bool>(0x239, "MPI_CXX_BOOL", Element::logical8),
    plain<wchar_t>(0x23c, "MPI_WCHAR", Element::none),
    integer<std::int8_t>(0x240, "MPI_INT8_T"),
    integer<std::uint8_t>(0x241, "MPI_UINT8_T"),
    plain<char>(0x243, "MPI_CHAR", Element::none),
    integer<signed char>(0x244, "MPI_SIGNED_CHAR"),
    integer<unsigned char>(0x245, "MPI_UNSIGNED_CHAR"),
    plain<std::byte>(0x247, "MPI_BYTE", Element::byte),
    integer<std::int16_t>(0x248, "MPI_INT16_T"),
    integer<std::uint16_t>(0x249, "MPI_UINT16_T"),
    // Ours (mpi-ext.h), where the ABI leaves room among the types of two bytes.
    plain<std::int16_t>(0x24a, "MPIX_C_FLOAT16", Element::float16),
    plain<std::int16_t>(0x24c, "MPIX_BFLOAT16", Element::bfloat16),
    integer<std::int32_t>(0x250, "MPI_INT32_T"),
    integer<std::uint32_t>(0x251, "MPI_UINT32_T"),
    integer<std::int64_t>(0x258, "MPI_INT64_T"),
    integer<std::uint64_t>(0x259, "MPI_UINT64_T"),
    plain<std::int8_t>(0x2c0, "MPI_LOGICAL1", Element::logical8),
    integer<std::int8_t>(0x2c1, "MPI_INTEGER1"),
    plain<std::int16_t>(0x2c8, "MPI_LOGICAL2", Element::logical16),
    integer<std::int16_t>(0x2c9, "MPI_INTEGER2"),
    plain<std::int16_t>(0x2ca, "MPI_REAL2", Element::float16),
    plain<std::int32_t>(0x2d0, "MPI_LOGICAL4", Element::logical32),
    integer<std::int32_t>(0x2d1, "MPI_INTEGER4"),
    plain<float>(0x2d2, "MPI_REAL4", Element::float32),
    complex<std::int16_t>(0x2d3, "MPI_COMPLEX4", Element::complex32),
    plain<std::int64_t>(0x2d8, "MPI_LOGICAL8", Element::logical64),
    integer<std::int64_t>(0x2d9, "MPI_INTEGER8"),
    plain<double>(0x2da, "MPI_REAL8", Element::float64),
    complex<float>(0x2db, "MPI_COMPLEX8", Element::complex64),
    plain<Int128>(0x2e0, "MPI_LOGICAL16", Element::logical128),
    plain<Int128>(0x2e1, "MPI_INTEGER16", Element::int128),
    plain<Int128>(0x2e2, "MPI_REAL16", Element::float128),
    complex<double>(0x2e3, "MPI_COMPLEX16", Element::complex128),
    complex<Int128>(0x2eb, "MPI_COMPLEX32", Element::complex256),
};

Placed place(const TypeRow& row) {
  if (row.gap == 0) return single_run(0, row.size);
  const Placed parts[] = {single_run(0, row.value),
                          single_run(row.value + row.gap, row.size - row.value)};
  return sequence(parts);
}

// Makes all of them when the program is loaded, before the initialisers of other files, which
// may look types up; they live as long as the program.
[[gnu::constructor(200)]] void fill() {
  for (const TypeRow& row : kRows) {
    TypeFacts shape;
    shape.size = row.size;
    shape.end = static_cast<Count>(row.extent);
    shape.true_end = row.size + row.gap;
    shape.alignment = static_cast<std::uint8_t>(row.alignment);
    shape.element = row.element;
    shape.basic = true;
    Made made;
    made.combiner = kNamed;
    made.name = row.name;
    TypeRef type = Maker::make(shape, place(row), std::move(made), row.handle);
    type->commit();
    TUTTI_CHECK(predefined_types[row.handle - kFirstType] == nullptr, row.name);
    predefined_types[row.handle - kFirstType] = type.hand_out();
  }
}

}  // namespace

}  // namespace tutti::types
