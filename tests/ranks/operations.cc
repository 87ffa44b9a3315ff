// Predefined operations on their types, pairs with places, and users' operations that do not
// commute, small and large counts.
#include <mpi-ext.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>

#include "check.h"

using namespace ranks;

namespace {

template <class T>
T number(int r, int i) {
  return static_cast<T>((r * 7 + i * 3) % 11 + 1);
}

// All ranks' numbers folded in rank order by `fold`.
template <class T, class Fold>
T folded(int i, Fold fold) {
  T value = number<T>(0, i);
  for (int r = 1; r < size; ++r) value = fold(value, number<T>(r, i));
  return value;
}

template <class T, class Fold>
void expect(MPI_Datatype type, MPI_Op op, Fold fold) {
  for (int n : {1, 3, 1000}) {
    std::vector<T> in, out(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) in.push_back(number<T>(rank, i));
    MPI_Allreduce(in.data(), out.data(), n, type, op, MPI_COMM_WORLD);
    bool same = true;
    for (int i = 0; i < n; ++i)
      same = same && out[static_cast<std::size_t>(i)] == folded<T>(i, fold);
    CHECK(same);
  }
}

template <class T>
void arithmetic(MPI_Datatype type) {
  expect<T>(type, MPI_SUM, [](T a, T b) { return static_cast<T>(a + b); });
  expect<T>(type, MPI_MAX, [](T a, T b) { return std::max(a, b); });
  expect<T>(type, MPI_MIN, [](T a, T b) { return std::min(a, b); });
}

template <class T>
void integers(MPI_Datatype type) {
  arithmetic<T>(type);
  expect<T>(type, MPI_PROD, [](T a, T b) { return static_cast<T>(a * b); });
  expect<T>(type, MPI_BAND, [](T a, T b) { return static_cast<T>(a & b); });
  expect<T>(type, MPI_BOR, [](T a, T b) { return static_cast<T>(a | b); });
  expect<T>(type, MPI_BXOR, [](T a, T b) { return static_cast<T>(a ^ b); });
  expect<T>(type, MPI_LAND, [](T a, T b) { return static_cast<T>(a && b); });
  expect<T>(type, MPI_LOR, [](T a, T b) { return static_cast<T>(a || b); });
}

void places() {
  struct Pair {
    double value;
    int place;
  };
  Pair in{static_cast<double>((rank * 5) % 7), rank}, low{}, high{};
  MPI_Allreduce(&in, &low, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
  MPI_Allreduce(&in, &high, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
  Pair least{1e9, -1}, most{-1e9, -1};
  for (int r = 0; r < size; ++r) {
    const double value = (r * 5) % 7;
    if (value < least.value) least = {value, r};
    if (value > most.value) most = {value, r};
  }
  CHECK(low.value == least.value && low.place == least.place);
  CHECK(high.value == most.value && high.place == most.place);
}

// 2 x 2 matrices: the product does not commute.
struct Matrix {
  std::int64_t a, b, c, d;
  bool operator==(const Matrix&) const = default;
};
Matrix product(const Matrix& x, const Matrix& y) {
  return {(x.a * y.a + x.b * y.c) % 9973, (x.a * y.b + x.b * y.d) % 9973,
          (x.c * y.a + x.d * y.c) % 9973, (x.c * y.b + x.d * y.d) % 9973};
}
Matrix matrix_of(int r, int i) {
  return {r + 1, i % 5, 2, r + i % 3 + 1};
}

template <class Length>
void multiply(void* in, void* inout, Length* length, MPI_Datatype* /*type*/) {
  auto* const left = static_cast<const Matrix*>(in);
  auto* const right = static_cast<Matrix*>(inout);
  for (Length i = 0; i < *length; ++i) right[i] = product(left[i], right[i]);
}

void users_operation(MPI_Op op) {
  MPI_Datatype type;
  MPI_Type_contiguous(4, MPI_INT64_T, &type);
  MPI_Type_commit(&type);
  for (int n : {1, 4, 300}) {
    std::vector<Matrix> in, out(static_cast<std::size_t>(n)), all, before;
    for (int i = 0; i < n; ++i) {
      in.push_back(matrix_of(rank, i));
      Matrix value = matrix_of(0, i);
      before.push_back(value);
      for (int r = 1; r < size; ++r) {
        value = product(value, matrix_of(r, i));
        if (r <= rank) before.back() = value;
      }
      all.push_back(value);
    }
    MPI_Allreduce(in.data(), out.data(), n, type, op, MPI_COMM_WORLD);
    CHECK(out == all);
    for (int root = 0; root < size; ++root) {
      MPI_Reduce(in.data(), out.data(), n, type, op, root, MPI_COMM_WORLD);
      if (rank == root) CHECK(out == all);
    }
    MPI_Scan(in.data(), out.data(), n, type, op, MPI_COMM_WORLD);
    CHECK(out == before);
  }
  MPI_Type_free(&type);
}

void local() {
  int in[3] = {1, 2, 3}, inout[3] = {10, 20, 30}, commutes = 0;
  MPI_Reduce_local(in, inout, 3, MPI_INT, MPI_SUM);
  CHECK(inout[0] == 11 && inout[1] == 22 && inout[2] == 33);
  MPI_Op_commutative(MPI_SUM, &commutes);
  CHECK(commutes != 0);
}

// Ours: sums of ranks in two bytes; bfloat16 is the upper half of a float.
void halves() {
  for (int n : {1, 3, 1000}) {
    const std::vector<std::uint16_t> ones(static_cast<std::size_t>(n), 0x3f80);  // 1
    std::vector<std::uint16_t> sums(static_cast<std::size_t>(n));
    MPI_Allreduce(ones.data(), sums.data(), n, MPIX_BFLOAT16, MPI_SUM, MPI_COMM_WORLD);
    const auto total = static_cast<float>(size);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &total, 4);
    CHECK(sums == std::vector<std::uint16_t>(static_cast<std::size_t>(n),
                                             static_cast<std::uint16_t>(bits >> 16)));
#if defined(__FLT16_MANT_DIG__)
    __extension__ typedef _Float16 Float16;
    std::vector<Float16> mine(static_cast<std::size_t>(n),
                              static_cast<Float16>(static_cast<float>(rank) + 0.5F));
    MPI_Allreduce(MPI_IN_PLACE, mine.data(), n, MPIX_C_FLOAT16, MPI_SUM, MPI_COMM_WORLD);
    for (const Float16 sum : mine)
      CHECK(static_cast<float>(sum) == static_cast<float>(size * size) / 2);
#endif
  }
  char name[MPI_MAX_OBJECT_NAME];
  int length = 0;
  MPI_Type_get_name(MPIX_BFLOAT16, name, &length);
  CHECK(std::string(name) == "MPIX_BFLOAT16");
}

}  // namespace

int main() {
  begin();
  integers<int>(MPI_INT);
  integers<std::int8_t>(MPI_INT8_T);
  integers<std::uint16_t>(MPI_UINT16_T);
  integers<unsigned>(MPI_UNSIGNED);
  integers<std::int64_t>(MPI_INT64_T);
  integers<unsigned long long>(MPI_UNSIGNED_LONG_LONG);
  arithmetic<float>(MPI_FLOAT);
  arithmetic<double>(MPI_DOUBLE);
  arithmetic<long double>(MPI_LONG_DOUBLE);
  using Complex = std::complex<double>;
  expect<Complex>(MPI_CXX_DOUBLE_COMPLEX, MPI_SUM, [](Complex a, Complex b) { return a + b; });
  halves();
  places();
  local();
  MPI_Op op;
  MPI_Op_create(multiply<int>, 0, &op);
  users_operation(op);
  MPI_Op_free(&op);
  CHECK(op == MPI_OP_NULL);
  MPI_Op_create_c(multiply<MPI_Count>, 0, &op);
  users_operation(op);
  MPI_Op_free(&op);
  return done();
}
