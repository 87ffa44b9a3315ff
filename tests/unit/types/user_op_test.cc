// Users' operations: operand order, and derived types whose lower bound is not 0.
#include <cstring>

#include "catch.h"
#include "types/types.h"

using namespace tutti;
using namespace tutti::types;

namespace {

// 2x2 matrices of integers: their product does not commute.
struct Matrix {
  int a, b, c, d;
  bool operator==(const Matrix&) const = default;
};

Matrix product(const Matrix& x, const Matrix& y) {
  return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c,
          x.c * y.b + x.d * y.d};
}

// Where in an element the matrix lies; the function is told nothing else.
struct Setting {
  Handle type = 0;
  Count extent = 0;
  int calls = 0;
};

void multiply(void* function, const void* a, void* b, Count count, Handle type) {
  auto* setting = static_cast<Setting*>(function);
  ++setting->calls;
  setting->type = type;
  for (Count i = 0; i < count; ++i) {
    Matrix x, y;
    std::memcpy(&x, static_cast<const char*>(a) + i * setting->extent, sizeof x);
    std::memcpy(&y, static_cast<char*>(b) + i * setting->extent, sizeof y);
    y = product(x, y);
    std::memcpy(static_cast<char*>(b) + i * setting->extent, &y, sizeof y);
  }
}

}  // namespace

TEST_CASE("a user's operation that does not commute is folded from either side", "[types][op]") {
  Setting setting;
  const TypeRef type = *make_contiguous(4, *predefined_type(0x209));
  setting.extent = type->extent();
  const Ref<Op> op = Op::user(&setting, multiply, false);
  CHECK(op->is_user());
  CHECK(op->accepts(*type));
  CHECK(op->kernel(*type) == nullptr);
  CHECK(op->kernel(*predefined_type(0x209)) == nullptr);
  const Matrix left[2] = {{1, 2, 3, 4}, {0, 1, 1, 0}};
  const Matrix right[2] = {{5, 6, 7, 8}, {2, 0, 0, 3}};
  Matrix into[2] = {right[0], right[1]};
  op->fold(left, into, 2, *type);
  CHECK(into[0] == product(left[0], right[0]));
  CHECK(into[1] == product(left[1], right[1]));
  CHECK(setting.type == type->handle());
  Matrix spare[2];
  into[0] = left[0];
  into[1] = left[1];
  op->fold_right(right, into, 2, *type, spare);
  CHECK(into[0] == product(left[0], right[0]));
  CHECK(into[1] == product(left[1], right[1]));
}

TEST_CASE("a user's operation works on types whose data begin before their address",
          "[types][op]") {
  // The matrix lies 24 bytes before the element's address; 8 bytes stay between elements.
  const std::vector<Count> blocks = {4};
  const std::vector<Count> offsets = {-24};
  const TypeRef shifted = *make_hindexed(blocks, offsets, *predefined_type(0x209));
  const TypeRef type = *make_resized(*shifted, -24, 24);
  struct Cell {
    Matrix matrix;
    int gap[2];
  };
  static_assert(sizeof(Cell) == 24);
  Setting setting;
  setting.extent = type->extent();
  const auto invoke = [](void* function, const void* a, void* b, Count count, Handle handle) {
    multiply(function, static_cast<const char*>(a) - 24, static_cast<char*>(b) - 24, count, handle);
  };
  const Ref<Op> op = Op::user(&setting, invoke, false);
  const Cell left[2] = {{{1, 2, 3, 4}, {1, 1}}, {{0, 1, 1, 0}, {1, 1}}};
  const Cell right[2] = {{{5, 6, 7, 8}, {2, 2}}, {{2, 0, 0, 3}, {2, 2}}};
  Cell into[2] = {left[0], left[1]};
  Cell spare[2] = {};
  op->fold_right(reinterpret_cast<const char*>(right) + 24, reinterpret_cast<char*>(into) + 24, 2,
                 *type, reinterpret_cast<char*>(spare) + 24);
  CHECK(into[0].matrix == product(left[0].matrix, right[0].matrix));
  CHECK(into[1].matrix == product(left[1].matrix, right[1].matrix));
  CHECK(into[0].gap[0] == 1);
}

TEST_CASE("a user's operation that commutes needs no spare room", "[types][op]") {
  Setting setting;
  setting.extent = 16;
  const TypeRef type = *make_contiguous(4, *predefined_type(0x209));
  const Ref<Op> op = Op::user(&setting, multiply, true);
  const Matrix from = {1, 0, 0, 1};
  Matrix into = {5, 6, 7, 8};
  op->fold_right(&from, &into, 1, *type, nullptr);
  CHECK(into == Matrix{5, 6, 7, 8});
  CHECK(setting.calls == 1);
}
