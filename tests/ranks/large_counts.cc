// The large-count forms do the same as the small ones, and take 64-bit numbers.
#include <limits>
#include <vector>

#include "check.h"

using namespace ranks;

namespace {

void messages() {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  const MPI_Count n = 70001;
  const std::vector<int> out(static_cast<std::size_t>(n), rank);
  std::vector<int> in(static_cast<std::size_t>(n), -1);
  MPI_Status status;
  MPI_Sendrecv_c(out.data(), n, MPI_INT, right, 1, in.data(), n, MPI_INT, left, 1, MPI_COMM_WORLD,
                 &status);
  MPI_Count count = -1;
  MPI_Get_count_c(&status, MPI_INT, &count);
  CHECK(count == n && in == std::vector<int>(static_cast<std::size_t>(n), left));
  MPI_Request requests[2];
  MPI_Irecv_c(in.data(), n, MPI_INT, left, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend_c(out.data(), n, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

void collectives() {
  const auto p = static_cast<std::size_t>(size);
  std::vector<MPI_Count> counts(p);
  std::vector<MPI_Aint> displs(p);
  MPI_Aint room = 0;
  for (std::size_t r = 0; r < p; ++r) {
    counts[r] = static_cast<MPI_Count>(r) + 1;
    displs[r] = room;
    room += counts[r];
  }
  const std::vector<int> in(static_cast<std::size_t>(rank) + 1, rank);
  std::vector<int> out(static_cast<std::size_t>(room), -1), wanted;
  for (int r = 0; r < size; ++r) wanted.insert(wanted.end(), static_cast<std::size_t>(r) + 1, r);
  MPI_Allgatherv_c(in.data(), rank + 1, MPI_INT, out.data(), counts.data(), displs.data(), MPI_INT,
                   MPI_COMM_WORLD);
  CHECK(out == wanted);
  std::int64_t one = 1, sum = 0;
  MPI_Allreduce_c(&one, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == size);
  MPI_Request request;
  std::fill(out.begin(), out.end(), -1);
  MPI_Iallgatherv_c(in.data(), rank + 1, MPI_INT, out.data(), counts.data(), displs.data(), MPI_INT,
                    MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(out == wanted);
}

void types() {
  const MPI_Count many = MPI_Count{1} << 33;
  MPI_Datatype type;
  MPI_Type_contiguous_c(many, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Count bytes = 0, low = -1, extent = 0;
  MPI_Type_size_c(type, &bytes);
  CHECK(bytes == 8 * many);
  MPI_Type_get_extent_c(type, &low, &extent);
  CHECK(low == 0 && extent == 8 * many);
  int narrow = 0;
  MPI_Type_size(type, &narrow);
  CHECK(narrow == MPI_UNDEFINED);
  MPI_Count integers, addresses, larges, olds;
  int combiner = 0;
  MPI_Type_get_envelope_c(type, &integers, &addresses, &larges, &olds, &combiner);
  CHECK(combiner == MPI_COMBINER_CONTIGUOUS && larges == 1 && integers == 0 && olds == 1);
  MPI_Count value = 0;
  MPI_Datatype old;
  MPI_Type_get_contents_c(type, 0, 0, 1, 1, nullptr, nullptr, &value, &old);
  CHECK(value == many && old == MPI_DOUBLE);
  MPI_Type_free(&type);
  MPI_Type_vector(3, 2, 5, MPI_INT, &type);
  int small_integers = 0, small_addresses = 0, small_olds = 0, numbers[3] = {0, 0, 0};
  MPI_Type_get_envelope(type, &small_integers, &small_addresses, &small_olds, &combiner);
  CHECK(combiner == MPI_COMBINER_VECTOR && small_integers == 3 && small_olds == 1);
  MPI_Type_get_contents(type, 3, 0, 1, numbers, nullptr, &old);
  CHECK(numbers[0] == 3 && numbers[1] == 2 && numbers[2] == 5 && old == MPI_INT);
  MPI_Type_free(&type);
}

bool is_refused(int code) {
  int kind = MPI_SUCCESS;
  MPI_Error_class(code, &kind);
  return kind == MPI_ERR_COUNT;
}

// Messages of more bytes than 64 bits count: of long elements, of blocks that each are shorter.
void too_many_bytes() {
  constexpr int kMost = std::numeric_limits<int>::max();
  MPI_Datatype type;  // 2^50 ints
  MPI_Type_contiguous_c(MPI_Count{1} << 50, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);  // of calls on no communicator
  int word = 0, position = 0, bytes = 0;
  MPI_Request request;
  CHECK(is_refused(MPI_Send(&word, kMost, type, 0, 0, comm)));
  CHECK(is_refused(MPI_Irecv(&word, kMost, type, 0, 0, comm, &request)));
  CHECK(is_refused(MPI_Bcast(&word, kMost, type, 0, comm)));
  CHECK(is_refused(MPI_Pack(&word, kMost, type, &word, 4, &position, comm)));
  CHECK(is_refused(MPI_Pack_size(kMost, type, comm, &bytes)));
  MPI_Aint at = 0, length = 0;
  CHECK(is_refused(MPI_Pack_external("external32", &word, kMost, type, &word, 4, &at)));
  CHECK(is_refused(MPI_Pack_external_size("external32", kMost, type, &length)));
  MPI_Info info = MPI_INFO_NULL;
  CHECK(is_refused(MPI_Psend_init(&word, 1 << 20, 1 << 20, type, 0, 0, comm, info, &request)));
  CHECK(is_refused(
      MPI_Psend_init_c(&word, 1 << 30, MPI_Count{1} << 34, MPI_BYTE, 0, 0, comm, info, &request)));
  const int counts[] = {kMost}, places[] = {0};
  const MPI_Datatype types[] = {type};
  CHECK(is_refused(MPI_Allgatherv(&word, 1, type, &word, counts, places, type, comm)));
  CHECK(
      is_refused(MPI_Alltoallw(&word, counts, places, types, &word, counts, places, types, comm)));
  MPI_Comm_free(&comm);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  if (size > 1) {  // a block each has 2^62 bytes
    CHECK(is_refused(MPI_Allgather(&word, 1, type, &word, 1 << 10, type, comm)));
    CHECK(is_refused(MPI_Alltoall(&word, 1 << 10, type, &word, 1 << 10, type, comm)));
    constexpr MPI_Count kMany = MPI_Count{1} << 62;  // of bytes: their number, too
    CHECK(is_refused(MPI_Allgather_c(&word, 1, MPI_BYTE, &word, kMany, MPI_BYTE, comm)));
    std::vector<MPI_Count> many(static_cast<std::size_t>(size), kMany);
    const std::vector<MPI_Aint> at_once(static_cast<std::size_t>(size));
    CHECK(is_refused(
        MPI_Allgatherv_c(&word, 1, MPI_BYTE, &word, many.data(), at_once.data(), MPI_BYTE, comm)));
  }
  MPI_Comm_free(&comm);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Type_free(&type);
}

}  // namespace

int main() {
  begin();
  messages();
  collectives();
  types();
  too_many_bytes();
  return done();
}
