// Messages whose request or buffer outlives them: persistent, partitioned, buffered.
#include "everywhere.h"

namespace everywhere {
namespace {

void persistent(const Mine& my) {
  int out = 0, in = -1;
  std::array<MPI_Request, 2> requests;
  MPI_Comm_attach_buffer(my.comm, MPI_BUFFER_AUTOMATIC, 0);
  for (const auto make : {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init}) {
    make(&out, 1, MPI_INT, right(), 300, my.comm, &requests[0]);
    MPI_Recv_init(&in, 1, MPI_INT, left(), 300, my.comm, &requests[1]);
    for (out = 0; out < 3; ++out) {
      MPI_Startall(2, requests.data());
      MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
      CHECK(in == out);
    }
    for (MPI_Request& request : requests) MPI_Request_free(&request);
  }
  void* memory = nullptr;
  int bytes = 0;
  MPI_Comm_detach_buffer(my.comm, &memory, &bytes);
  MPI_Rsend_init(&out, 1, MPI_INT, right(), 301, my.comm, &requests[0]);
  MPI_Recv_init(&in, 1, MPI_INT, left(), 301, my.comm, &requests[1]);
  MPI_Start(&requests[1]);
  MPI_Barrier(my.comm);
  MPI_Start(&requests[0]);
  MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

void partitioned(const Mine& my) {
  std::vector<int> out(800, my.thread), in(800, -1);
  std::array<MPI_Request, 2> requests;
  MPI_Psend_init(out.data(), 8, 100, MPI_INT, right(), my.thread, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &requests[0]);
  MPI_Precv_init(in.data(), 4, 200, MPI_INT, left(), my.thread, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &requests[1]);
  MPI_Startall(2, requests.data());
  std::thread helper([&requests] { MPI_Pready_range(4, 7, requests[0]); });
  const int three[3] = {0, 1, 2};
  MPI_Pready_list(3, three, requests[0]);
  MPI_Pready(3, requests[0]);
  int flag = 0;
  while (MPI_Parrived(requests[1], 0, &flag), flag == 0) {
  }
  CHECK(in.front() == my.thread);
  helper.join();
  MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
  CHECK(in == out);
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

void buffered(const Mine& my) {
  MPI_Comm_attach_buffer(my.comm, MPI_BUFFER_AUTOMATIC, 0);
  std::vector<int> out(2000, my.turn), in(2000, -1);
  MPI_Request request;
  MPI_Bsend(out.data(), 2000, MPI_INT, right(), 400, my.comm);
  MPI_Ibsend(out.data(), 2000, MPI_INT, right(), 400, my.comm, &request);
  for (int i = 0; i < 2; ++i)
    MPI_Recv(in.data(), 2000, MPI_INT, left(), 400, my.comm, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(in.front() == in.back());
  void* memory = nullptr;
  int bytes = 0;
  MPI_Comm_flush_buffer(my.comm);
  MPI_Comm_iflush_buffer(my.comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_detach_buffer(my.comm, &memory, &bytes);
}

// The process has one buffer, which main() attached: all threads send through it and flush it.
// The messages are short: a flush waits for those of other threads.
void buffered_by_all(const Mine& my) {
  int in = -1;
  MPI_Request request;
  MPI_Bsend(&my.turn, 1, MPI_INT, right(), 410 + my.thread, MPI_COMM_WORLD);
  MPI_Buffer_iflush(&request);
  MPI_Recv(&in, 1, MPI_INT, left(), 410 + my.thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in == my.turn);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Buffer_flush();
}

constexpr std::array<Family, 4> kFamilies{persistent, partitioned, buffered, buffered_by_all};

}  // namespace

std::span<const Family> kept_messages() {
  return kFamilies;
}

}  // namespace everywhere
