// MPI 5.0, 4: partitioned messages: matched when made, in order; partitions travel as soon as
// they are ready; the two sides may cut the message differently.
#include "check.h"

using namespace ranks;

namespace {

const MPI_Comm world = MPI_COMM_WORLD;

struct Cut {
  int sends, receives, bytes;  // partitions on either side, bytes in all
};

// Around the ring, three rounds, partitions made ready last to first.
void around(const Cut& cut) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  const auto length = static_cast<std::size_t>(cut.bytes);
  std::vector<char> out(length), in(length);
  MPI_Request requests[2];
  MPI_Precv_init(in.data(), cut.receives, cut.bytes / cut.receives, MPI_CHAR, left, 1, world,
                 MPI_INFO_NULL, &requests[0]);
  MPI_Psend_init(out.data(), cut.sends, cut.bytes / cut.sends, MPI_CHAR, right, 1, world,
                 MPI_INFO_NULL, &requests[1]);
  for (int round = 0; round < 3; ++round) {
    MPI_Startall(2, requests);
    for (std::size_t i = 0; i < length; ++i)
      out[i] = static_cast<char>(value_of(rank, round, static_cast<int>(i)));
    for (int k = cut.sends - 1; k >= 0; --k) MPI_Pready(k, requests[1]);
    MPI_Status statuses[2];
    MPI_Waitall(2, requests, statuses);
    bool same = true;
    for (std::size_t i = 0; i < length; ++i)
      same = same && in[i] == static_cast<char>(value_of(left, round, static_cast<int>(i)));
    CHECK(same);
    int count = -1;
    MPI_Get_count(&statuses[0], MPI_CHAR, &count);
    CHECK(count == cut.bytes && statuses[0].MPI_SOURCE == left && statuses[0].MPI_TAG == 1);
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

// A partition arrives while others are not ready: nothing else can make Parrived true.
void early() {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  std::vector<int> out(40000), in(40000, -1);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = value_of(rank, 0, static_cast<int>(i));
  MPI_Request send, receive;
  MPI_Psend_init(out.data(), 4, 10000, MPI_INT, right, 2, world, MPI_INFO_NULL, &send);
  MPI_Precv_init(in.data(), 2, 20000, MPI_INT, left, 2, world, MPI_INFO_NULL, &receive);
  MPI_Start(&send);
  MPI_Start(&receive);
  int flag = -1;
  MPI_Pready(2, send);
  MPI_Parrived(receive, 1, &flag);
  CHECK(flag == 0);  // half of it
  MPI_Barrier(world);
  MPI_Pready(3, send);
  for (flag = 0; flag == 0;) MPI_Parrived(receive, 1, &flag);
  CHECK(in[20000] == value_of(left, 0, 20000) && in[39999] == value_of(left, 0, 39999));
  MPI_Parrived(receive, 0, &flag);
  CHECK(flag == 0);
  MPI_Test(&receive, &flag, MPI_STATUS_IGNORE);
  CHECK(flag == 0);
  MPI_Barrier(world);
  MPI_Pready_range(0, 1, send);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  MPI_Parrived(receive, 0, &flag);  // inactive
  CHECK(flag == 1 && in[0] == value_of(left, 0, 0));
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
}

// Two of the same tag meet in the order they were made, and no other message meets them.
void order() {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int first = rank * 2, second = rank * 2 + 1, plain = -7, in[3] = {-1, -1, -1};
  MPI_Request all[4];
  MPI_Psend_init(&first, 1, 1, MPI_INT, right, 3, world, MPI_INFO_NULL, &all[0]);
  MPI_Psend_init(&second, 1, 1, MPI_INT, right, 3, world, MPI_INFO_NULL, &all[1]);
  MPI_Precv_init(&in[0], 1, 1, MPI_INT, left, 3, world, MPI_INFO_NULL, &all[2]);
  MPI_Precv_init(&in[1], 1, 1, MPI_INT, left, 3, world, MPI_INFO_NULL, &all[3]);
  MPI_Startall(4, all);
  const int list[1] = {0};
  MPI_Pready_list(1, list, all[1]);
  MPI_Pready_list(1, list, all[0]);
  MPI_Sendrecv(&plain, 1, MPI_INT, right, 3, &in[2], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world,
               MPI_STATUS_IGNORE);
  MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
  CHECK(in[0] == left * 2 && in[1] == left * 2 + 1 && in[2] == -7);
  for (MPI_Request& request : all) MPI_Request_free(&request);
}

void strided() {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Datatype every_other;
  MPI_Type_vector(3, 1, 2, MPI_INT, &every_other);
  MPI_Type_create_resized(every_other, 0, 6 * sizeof(int), &every_other);
  MPI_Type_commit(&every_other);
  std::vector<int> out(48), in(48, -1);
  for (int i = 0; i < 48; ++i) out[static_cast<std::size_t>(i)] = value_of(rank, 1, i);
  MPI_Request all[2];
  MPI_Psend_init(out.data(), 4, 2, every_other, right, 4, world, MPI_INFO_NULL, &all[0]);
  MPI_Precv_init(in.data(), 8, 1, every_other, left, 4, world, MPI_INFO_NULL, &all[1]);
  MPI_Startall(2, all);
  MPI_Pready_range(0, 3, all[0]);
  MPI_Waitall(2, all, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 48; ++i)
    CHECK(in[static_cast<std::size_t>(i)] == (i % 2 == 0 ? value_of(left, 1, i) : -1));
  for (MPI_Request& request : all) MPI_Request_free(&request);
  MPI_Type_free(&every_other);
}

void errors_and_nobody() {
  int word = 0, flag = 0;
  MPI_Request request;
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Psend_init(&word, 1, 1, MPI_INT, MPI_PROC_NULL, 5, world, MPI_INFO_NULL, &request);
  CHECK(class_of(MPI_Pready(0, request)) == MPI_ERR_REQUEST);  // not started
  MPI_Start(&request);
  CHECK(class_of(MPI_Pready(1, request)) == MPI_ERR_ARG);
  CHECK(class_of(MPI_Parrived(request, 0, &flag)) == MPI_ERR_REQUEST);
  CHECK(MPI_Pready(0, request) == MPI_SUCCESS);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  MPI_Psend_init(&word, 2, 0, MPI_INT, rank, 6, world, MPI_INFO_NULL, &request);
  MPI_Request receive;
  MPI_Precv_init(&word, 1, 0, MPI_INT, rank, 6, world, MPI_INFO_NULL, &receive);
  MPI_Start(&request);
  MPI_Start(&receive);
  MPI_Pready(0, request);
  CHECK(class_of(MPI_Pready(0, request)) == MPI_ERR_ARG);  // twice
  MPI_Pready(1, request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  MPI_Request_free(&receive);
  MPI_Irecv(&word, 1, MPI_INT, MPI_PROC_NULL, 0, world, &request);
  CHECK(class_of(MPI_Pready(0, request)) == MPI_ERR_REQUEST);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

}  // namespace

int main() {
  begin();
  for (const Cut cut : {Cut{1, 1, 8}, Cut{6, 4, 24}, Cut{4, 6, 240000}, Cut{16, 1, 1 << 20},
                        Cut{1, 16, 1 << 20}, Cut{1000, 10, 4000}})
    around(cut);
  early();
  order();
  strided();
  errors_and_nobody();
  return done();
}
