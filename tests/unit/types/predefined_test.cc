// The table of predefined types.
#include <cwchar>

#include "catch.h"
#include "types/types.h"

using namespace tutti;
using namespace tutti::types;

TEST_CASE("predefined types have the sizes and extents of their C types", "[types]") {
  struct Expected {
    Handle handle;
    const char* name;
    Count size;
    Count extent;
    Element element;
  };
  struct DoubleInt {
    double value;
    int index;
  };
  const Expected table[] = {
      {0x201, "MPI_AINT", 8, 8, Element::int64},
      {0x208, "MPI_SHORT", 2, 2, Element::int16},
      {0x209, "MPI_INT", 4, 4, Element::int32},
      {0x20a, "MPI_LONG", sizeof(long), sizeof(long), Element::int64},
      {0x20b, "MPI_LONG_LONG_INT", 8, 8, Element::int64},  // not its synonym MPI_LONG_LONG
      {0x20d, "MPI_UNSIGNED", 4, 4, Element::uint32},
      {0x212, "MPI_C_COMPLEX", 8, 8, Element::complex64},
      {0x214, "MPI_DOUBLE", 8, 8, Element::float64},
      {0x216, "MPI_C_DOUBLE_COMPLEX", 16, 16, Element::complex128},
      {0x218, "MPI_LOGICAL", 4, 4, Element::logical32},
      {0x220, "MPI_LONG_DOUBLE", sizeof(long double), sizeof(long double), Element::float_long},
      {0x228, "MPI_FLOAT_INT", 8, 8, Element::float_int},
      {0x229, "MPI_DOUBLE_INT", 12, sizeof(DoubleInt), Element::double_int},
      {0x22c, "MPI_SHORT_INT", 6, 8, Element::short_int},
      {0x230, "MPI_2REAL", 8, 8, Element::float_float},
      {0x238, "MPI_C_BOOL", 1, 1, Element::logical8},
      {0x23c, "MPI_WCHAR", sizeof(wchar_t), sizeof(wchar_t), Element::none},
      {0x243, "MPI_CHAR", 1, 1, Element::none},
      {0x247, "MPI_BYTE", 1, 1, Element::byte},
      {0x2eb, "MPI_COMPLEX32", 32, 32, Element::complex256},
  };
  for (const Expected& expected : table) {
    INFO(expected.name);
    const Datatype* type = type_of(expected.handle);
    REQUIRE(type != nullptr);
    CHECK(type->handle() == expected.handle);
    CHECK(type->name() == expected.name);
    CHECK(type->size() == expected.size);
    CHECK(type->extent() == expected.extent);
    CHECK(type->element() == expected.element);
    CHECK(type->is_committed());
    CHECK(type->is_contiguous() == (expected.size == expected.extent));
  }
}

TEST_CASE("handles without a predefined type give null", "[types]") {
  CHECK(type_of(0x200) == nullptr);  // the null type
  for (const Handle handle :
       {Handle{0}, Handle{0x1ff}, Handle{0x204}, Handle{0x2ff}, Handle{0x300}, Handle{0x3ff}}) {
    CHECK(predefined_type(handle) == nullptr);
  }
}

TEST_CASE("the standard's 70 numbers of datatypes are all there, and our two", "[types]") {
  int there = 0;
  for (Handle handle = kFirstType; handle <= kLastType; ++handle) {
    if (predefined_type(handle) != nullptr) ++there;
  }
  CHECK(there == 72);
}
