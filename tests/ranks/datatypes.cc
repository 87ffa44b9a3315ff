// Derived datatypes: what arrives is what the type map says, on either side.
#include <climits>
#include <cstddef>
#include <limits>
#include <numeric>

#include "check.h"

using namespace ranks;

namespace {

struct Particle {
  char kind;
  double place[3];
  int charge;
};

std::vector<int> counting(int n, int from = 0) {
  std::vector<int> data(static_cast<std::size_t>(n));
  std::iota(data.begin(), data.end(), from);
  return data;
}

// Sends `count` of `type` from a counting array around the ring; the right side takes plain
// ints, and back again into the type. Returns what the plain side saw.
std::vector<int> through(MPI_Datatype type, int count, int plain, std::vector<int>* back) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  std::vector<int> out = counting(20000), in(static_cast<std::size_t>(plain), -1);
  MPI_Status status;
  MPI_Sendrecv(out.data(), count, type, right, 1, in.data(), plain, MPI_INT, left, 1,
               MPI_COMM_WORLD, &status);
  int n = -1;
  MPI_Get_count(&status, MPI_INT, &n);
  CHECK(n == plain);
  MPI_Get_count(&status, type, &n);
  CHECK(n == count);
  back->assign(20000, -1);
  MPI_Sendrecv(in.data(), plain, MPI_INT, left, 2, back->data(), count, type, right, 2,
               MPI_COMM_WORLD, &status);
  return in;
}

void check_map(MPI_Datatype type, int count, const std::vector<int>& map) {
  MPI_Type_commit(&type);
  std::vector<int> back;
  const std::vector<int> seen = through(type, count, static_cast<int>(map.size()), &back);
  CHECK(seen == map);  // a counting array: the value is the place
  std::vector<int> wanted(20000, -1);
  for (int place : map) wanted[static_cast<std::size_t>(place)] = place;
  CHECK(back == wanted);
  MPI_Type_free(&type);
}

void vectors() {
  MPI_Datatype type;
  MPI_Type_vector(3, 2, 5, MPI_INT, &type);
  check_map(type, 2, {0, 1, 5, 6, 10, 11, 12, 13, 17, 18, 22, 23});
  MPI_Type_create_hvector(2, 1, 12, MPI_INT, &type);
  check_map(type, 1, {0, 3});
  std::vector<int> map;
  for (int i = 0; i < 5000; ++i) map.push_back(3 * i);
  MPI_Type_vector(5000, 1, 3, MPI_INT, &type);
  check_map(type, 1, map);
}

void indexed() {
  MPI_Datatype type;
  const int lengths[] = {2, 0, 1, 3}, places[] = {4, 9, 0, 10};
  MPI_Type_indexed(4, lengths, places, MPI_INT, &type);
  check_map(type, 1, {4, 5, 0, 10, 11, 12});
  const MPI_Aint bytes[] = {16, 36, 0, 40};
  MPI_Type_create_hindexed(4, lengths, bytes, MPI_INT, &type);
  check_map(type, 1, {4, 5, 0, 10, 11, 12});
  MPI_Type_create_indexed_block(4, 2, places, MPI_INT, &type);
  check_map(type, 1, {4, 5, 9, 10, 0, 1, 10, 11});
  MPI_Type_create_hindexed_block(2, 1, bytes, MPI_INT, &type);
  check_map(type, 1, {4, 9});
}

void resized_and_subarrays() {
  MPI_Datatype type, wide;
  MPI_Type_vector(2, 1, 2, MPI_INT, &type);
  MPI_Type_create_resized(type, 0, 16, &wide);
  MPI_Type_free(&type);
  check_map(wide, 2, {0, 2, 4, 6});
  const int sizes[] = {4, 5}, part[] = {2, 3}, start[] = {1, 1};
  MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, MPI_INT, &type);
  MPI_Aint low, extent;
  MPI_Type_get_extent(type, &low, &extent);
  CHECK(low == 0 && extent == 80);
  MPI_Type_get_true_extent(type, &low, &extent);
  CHECK(low == 24 && extent == 32);
  check_map(type, 1, {6, 7, 8, 11, 12, 13});
  MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_FORTRAN, MPI_INT, &type);
  check_map(type, 1, {5, 6, 9, 10, 13, 14});
}

MPI_Datatype particle_type() {
  const int lengths[] = {1, 3, 1};
  const MPI_Aint places[] = {offsetof(Particle, kind), offsetof(Particle, place),
                             offsetof(Particle, charge)};
  const MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
  MPI_Datatype type, wide;
  MPI_Type_create_struct(3, lengths, places, types, &type);
  MPI_Type_create_resized(type, 0, sizeof(Particle), &wide);
  MPI_Type_commit(&wide);
  MPI_Type_free(&type);
  return wide;
}

void structs() {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size, n = 3000;
  const MPI_Datatype type = particle_type();
  int bytes = 0;
  MPI_Type_size(type, &bytes);
  CHECK(bytes == 1 + 24 + 4);
  std::vector<Particle> out(n), in(n);
  for (int i = 0; i < n; ++i)
    out[static_cast<std::size_t>(i)] = {static_cast<char>(i), {i + 0.5, i * 2.0, -i * 1.0}, rank};
  MPI_Sendrecv(out.data(), n, type, right, 1, in.data(), n, type, left, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  bool same = true;
  for (std::size_t i = 0; i < in.size(); ++i)
    same = same && in[i].kind == out[i].kind && in[i].place[0] == out[i].place[0] &&
           in[i].place[2] == out[i].place[2] && in[i].charge == left;
  CHECK(same);
  MPI_Datatype copy = type;
  MPI_Type_free(&copy);
}

void packing() {
  char buffer[200];
  int position = 0, size_needed = 0, number = 7, got = 0;
  double reals[2] = {1.5, -2.5}, back[2] = {0, 0};
  MPI_Pack(&number, 1, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
  MPI_Pack(reals, 2, MPI_DOUBLE, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
  MPI_Pack_size(2, MPI_DOUBLE, MPI_COMM_WORLD, &size_needed);
  CHECK(size_needed >= 16 && position >= 20);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Sendrecv_replace(buffer, position, MPI_PACKED, right, 1, left, 1, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
  position = 0;
  MPI_Unpack(buffer, sizeof buffer, &position, &got, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Unpack(buffer, sizeof buffer, &position, back, 2, MPI_DOUBLE, MPI_COMM_WORLD);
  CHECK(got == 7 && back[0] == 1.5 && back[1] == -2.5);
}

// A message that ends inside the last element: counts are undefined, elements are not.
void partial() {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Datatype triple;
  MPI_Type_contiguous(3, MPI_INT, &triple);
  MPI_Type_commit(&triple);
  const std::vector<int> out = counting(7);
  std::vector<int> in(9, -1);
  MPI_Status status;
  MPI_Sendrecv(out.data(), 7, MPI_INT, right, 1, in.data(), 3, triple, left, 1, MPI_COMM_WORLD,
               &status);
  int count = 0, elements = 0;
  MPI_Get_count(&status, triple, &count);
  MPI_Get_elements(&status, triple, &elements);
  CHECK(count == MPI_UNDEFINED && elements == 7);
  CHECK(in[6] == 6 && in[7] == -1);
  MPI_Type_free(&triple);
}

void bottom() {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int first = rank + 1, second = rank + 2, got[2] = {0, 0};
  MPI_Aint places[2];
  MPI_Get_address(&first, &places[0]);
  MPI_Get_address(&second, &places[1]);
  CHECK(MPI_Aint_add(places[0], MPI_Aint_diff(places[1], places[0])) == places[1]);
  const int lengths[] = {1, 1};
  MPI_Datatype type;
  MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Sendrecv(MPI_BOTTOM, 1, type, right, 1, got, 2, MPI_INT, left, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  CHECK(got[0] == left + 1 && got[1] == left + 2);
  MPI_Type_free(&type);
}

// A part of an array: one that is right, and what it is with one number of it wrong.
void wrong_darrays() {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  struct Darray {
    int size = 6, rank = 5, ndims = 2;
    int gsizes[2] = {8, 9};
    int distribs[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    int dargs[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, psizes[2] = {2, 3};
    int order = MPI_ORDER_C;
  };
  const auto darray = [&](auto change) -> int {
    Darray a;
    change(a);
    const int code = MPI_Type_create_darray(a.size, a.rank, a.ndims, a.gsizes, a.distribs, a.dargs,
                                            a.psizes, a.order, MPI_INT, &type);
    if (code != MPI_SUCCESS) return class_of(code);
    MPI_Type_free(&type);
    return MPI_SUCCESS;
  };
  CHECK(darray([](Darray&) {}) == MPI_SUCCESS);
  const auto is_wrong = [&](auto change) { return darray(change) == MPI_ERR_ARG; };
  CHECK(darray([](Darray& a) {  // dargs of what is not distributed are ignored
          a.size = a.psizes[1] = 3, a.rank = 2, a.psizes[0] = 1;
          a.distribs[0] = MPI_DISTRIBUTE_NONE, a.dargs[0] = -1;
        }) == MPI_SUCCESS);
  CHECK(class_of(MPI_Type_create_darray(6, 5, 2, Darray().gsizes, Darray().distribs, nullptr,
                                        Darray().psizes, MPI_ORDER_C, MPI_INT, &type)) ==
        MPI_ERR_ARG);
  CHECK(is_wrong([](Darray& a) { a.gsizes[1] = -9; }));
  CHECK(is_wrong([](Darray& a) { a.gsizes[0] = 0; }));
  CHECK(is_wrong([](Darray& a) { a.psizes[0] = 3; }));
  CHECK(is_wrong([](Darray& a) { a.psizes[0] = -2, a.psizes[1] = -3; }));
  CHECK(is_wrong([](Darray& a) { a.psizes[0] = 0; }));
  CHECK(is_wrong([](Darray& a) { a.psizes[0] = a.psizes[1] = INT_MAX; }));
  CHECK(is_wrong([](Darray& a) { a.distribs[0] = 77; }));
  CHECK(is_wrong([](Darray& a) { a.distribs[0] = MPI_DISTRIBUTE_NONE; }));  // by two ranks
  CHECK(is_wrong([](Darray& a) { a.dargs[1] = 0; }));
  CHECK(is_wrong([](Darray& a) { a.dargs[1] = -2; }));
  CHECK(is_wrong([](Darray& a) { a.dargs[0] = 3; }));  // two blocks of 3 do not hold 8
  CHECK(is_wrong([](Darray& a) { a.order = 5; }));
  CHECK(is_wrong([](Darray& a) { a.ndims = 0, a.size = 1, a.rank = 0; }));
  CHECK(is_wrong([](Darray& a) { a.ndims = -1; }));
  CHECK(is_wrong([](Darray& a) { a.size = 0; }));
  CHECK(darray([](Darray& a) { a.rank = 6; }) == MPI_ERR_ARG);
  const MPI_Count endless[] = {std::numeric_limits<MPI_Count>::max()};
  const int cyclic[] = {MPI_DISTRIBUTE_CYCLIC}, each[] = {INT_MAX}, two[] = {2};
  CHECK(MPI_Type_create_darray_c(2, 1, 1, endless, cyclic, each, two, MPI_ORDER_C, MPI_BYTE,
                                 &type) == MPI_SUCCESS);
  MPI_Type_free(&type);
  CHECK(type == MPI_DATATYPE_NULL);
}

void wrong_subarrays() {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const auto subarray = [&](int whole, int part, int from, int order) -> int {
    const int sizes[] = {4, whole}, parts[] = {2, part}, starts[] = {1, from};
    const int code = MPI_Type_create_subarray(2, sizes, parts, starts, order, MPI_INT, &type);
    if (code != MPI_SUCCESS) return class_of(code);
    MPI_Type_free(&type);
    return MPI_SUCCESS;
  };
  CHECK(subarray(5, 3, 2, MPI_ORDER_C) == MPI_SUCCESS);
  CHECK(subarray(-5, 3, 2, MPI_ORDER_C) == MPI_ERR_ARG);
  CHECK(subarray(5, -3, 2, MPI_ORDER_C) == MPI_ERR_ARG);
  CHECK(subarray(5, 0, 2, MPI_ORDER_C) == MPI_ERR_ARG);
  CHECK(subarray(5, 3, -1, MPI_ORDER_C) == MPI_ERR_ARG);
  CHECK(subarray(5, 3, 3, MPI_ORDER_C) == MPI_ERR_ARG);
  CHECK(subarray(5, 3, INT_MAX, MPI_ORDER_C) == MPI_ERR_ARG);
  CHECK(subarray(5, 3, 2, 5) == MPI_ERR_ARG);
  CHECK(type == MPI_DATATYPE_NULL);
}

}  // namespace

int main() {
  begin();
  vectors();
  indexed();
  resized_and_subarrays();
  structs();
  packing();
  partial();
  bottom();
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  wrong_darrays();
  wrong_subarrays();
  return done();
}
