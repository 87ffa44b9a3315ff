// MPI 5.0, 6.9.1: an operation that does not commute is folded in the order of ranks, whatever
// the algorithm: reduce, allreduce, reduce_scatter, scan and exscan of 2 x 2 matrices.
#include "check.h"

using namespace ranks;

namespace {

struct Matrix {
  unsigned at[4] = {1, 0, 0, 1};
  bool operator==(const Matrix& other) const { return std::equal(at, at + 4, other.at); }
};

Matrix times(const Matrix& a, const Matrix& b) {
  return {{a.at[0] * b.at[0] + a.at[1] * b.at[2], a.at[0] * b.at[1] + a.at[1] * b.at[3],
           a.at[2] * b.at[0] + a.at[3] * b.at[2], a.at[2] * b.at[1] + a.at[3] * b.at[3]}};
}
void multiply(void* in, void* inout, int* count, MPI_Datatype*) {
  auto* a = static_cast<Matrix*>(in);
  auto* b = static_cast<Matrix*>(inout);
  for (int i = 0; i < *count; ++i) b[i] = times(a[i], b[i]);
}

Matrix given(int r, int i) {
  const auto u = static_cast<unsigned>(r * 31 + i);
  return {{u + 2, u * 7 + 1, u % 5 + 3, u + 11}};
}
Matrix product(int first, int last, int i) {
  Matrix all;
  for (int r = first; r < last; ++r) all = times(all, given(r, i));
  return all;
}

struct Folding {
  MPI_Datatype type;
  MPI_Op op;
  MPI_Comm comm;
  int me, n;

  void run(int count) const {
    std::vector<Matrix> mine, got(static_cast<std::size_t>(count)), one(1);
    for (int i = 0; i < count; ++i) mine.push_back(given(me, i));
    const auto check = [&](int first, int last) {
      for (int i = 0; i < count; ++i)
        CHECK(got[static_cast<std::size_t>(i)] == product(first, last, i));
    };
    for (int root = 0; root < n; root += std::max(1, n / 2)) {
      MPI_Reduce(mine.data(), got.data(), count, type, op, root, comm);
      if (me == root) check(0, n);
    }
    MPI_Allreduce(mine.data(), got.data(), count, type, op, comm);
    check(0, n);
    MPI_Scan(mine.data(), got.data(), count, type, op, comm);
    check(0, me + 1);
    MPI_Exscan(mine.data(), got.data(), count, type, op, comm);
    if (me > 0) check(0, me);
    if (count < n) return;
    MPI_Reduce_scatter_block(mine.data(), one.data(), 1, type, op, comm);
    CHECK(one[0] == product(0, n, me));
    std::vector<int> counts(static_cast<std::size_t>(n), 1);
    counts[0] += count - n;  // all of the rest
    MPI_Reduce_scatter(mine.data(), got.data(), counts.data(), type, op, comm);
    CHECK(got[0] == product(0, n, me == 0 ? 0 : me + count - n));
  }
};

// The algorithms that keep the order; "" lets the library choose.
constexpr const char* kForced[] = {
    "",
    "reduce=in_order,allreduce=recursive_doubling,scan=recursive_doubling,exscan=linear",
    "reduce=linear,allreduce=rabenseifner,scan=linear,exscan=recursive_doubling",
    "reduce=rabenseifner,allreduce=binomial,reduce_scatter=linear",
    "allreduce=knomial",
    "allreduce=linear"};
// These fold in any order: asked for by name, they are refused, and nothing is folded wrongly.
constexpr const char* kRefused[] = {"binomial", "knomial", "chain", "double_tree"};
constexpr const char* kRefusedForAll[] = {"ring", "segmented_ring", "double_tree"};
constexpr const char* kRefusedScattered[] = {"ring", "recursive_halving", "pairwise"};

void force(MPI_Comm comm, const std::string& algorithms) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "tutti_algorithms", algorithms.c_str());
  MPI_Comm_set_info(comm, info);
  MPI_Info_free(&info);
}

void refused(const Folding& folding) {
  Matrix mine, got;
  const auto is_refused = [](int code) {
    int error_class = 0;
    MPI_Error_class(code, &error_class);
    return error_class == MPI_ERR_OP;
  };
  MPI_Comm_set_errhandler(folding.comm, MPI_ERRORS_RETURN);
  for (const std::string name : kRefused) {
    force(folding.comm, "reduce=" + name);
    CHECK(is_refused(MPI_Reduce(&mine, &got, 1, folding.type, folding.op, 0, folding.comm)));
  }
  for (const std::string name : kRefusedForAll) {
    force(folding.comm, "allreduce=" + name);
    CHECK(is_refused(MPI_Allreduce(&mine, &got, 1, folding.type, folding.op, folding.comm)));
  }
  std::vector<Matrix> many(static_cast<std::size_t>(folding.n));
  for (const std::string name : kRefusedScattered) {
    force(folding.comm, "reduce_scatter=" + name);
    CHECK(is_refused(
        MPI_Reduce_scatter_block(many.data(), &got, 1, folding.type, folding.op, folding.comm)));
  }
}

}  // namespace

int main() {
  begin();
  Folding folding{};
  MPI_Type_contiguous(4, MPI_UNSIGNED, &folding.type);
  MPI_Type_commit(&folding.type);
  MPI_Op_create(multiply, 0, &folding.op);
  // Every number of ranks up to all of them.
  for (int n = 2; n <= size; ++n) {
    MPI_Comm_split(MPI_COMM_WORLD, rank < n ? 0 : MPI_UNDEFINED, 0, &folding.comm);
    if (folding.comm == MPI_COMM_NULL) continue;
    MPI_Comm_rank(folding.comm, &folding.me);
    folding.n = n;
    for (const char* forced : kForced) {
      force(folding.comm, forced[0] == '\0' ? "barrier=tree" : forced);
      for (const int count : {1, n, 1000}) folding.run(count);
    }
    refused(folding);
    MPI_Comm_free(&folding.comm);
  }
  MPI_Op_free(&folding.op);
  MPI_Type_free(&folding.type);
  return done();
}
