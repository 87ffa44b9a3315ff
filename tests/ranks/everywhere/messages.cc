// Messages that are sent once: modes, probes, and the functions that complete requests.
#include "everywhere.h"

namespace everywhere {
namespace {

void blocking(const Mine& my) {
  for (const int n : {1, 3000, 40000}) {
    std::vector<int> out(as_size(n), my.thread * 100 + rank), in(as_size(n), -1);
    // One communicator for all threads; tags keep them apart.
    MPI_Sendrecv(out.data(), n, MPI_INT, right(), my.thread, in.data(), n, MPI_INT, left(),
                 my.thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in == std::vector<int>(as_size(n), my.thread * 100 + left()));
    MPI_Sendrecv_replace(out.data(), n, MPI_INT, right(), my.thread, left(), my.thread,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(out == in);
  }
}

void nonblocking_exchange(const Mine& my) {
  MPI_Request request;
  for (const int n : {1, 20000}) {
    std::vector<int> out(as_size(n), my.thread * 100 + rank), in(as_size(n), -1);
    MPI_Isendrecv(out.data(), n, MPI_INT, right(), my.thread, in.data(), n, MPI_INT, left(),
                  my.thread, my.comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(in.front() == my.thread * 100 + left() && in.front() == in.back());
    MPI_Isendrecv_replace(out.data(), n, MPI_INT, right(), my.thread, left(), my.thread, my.comm,
                          &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(out == in);
  }
}

void modes(const Mine& my) {
  using Send = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
  using Start = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  const std::vector<int> out(3000, my.turn + rank);
  std::vector<int> in(3000);
  MPI_Request coming, going;
  for (const int n : {1, 3000}) {
    for (const Send send : {Send{MPI_Send}, Send{MPI_Ssend}, Send{MPI_Rsend}}) {
      MPI_Irecv(in.data(), n, MPI_INT, left(), 500, my.comm, &coming);
      MPI_Barrier(my.comm);  // ready sends want their receive posted
      send(out.data(), n, MPI_INT, right(), 500, my.comm);
      MPI_Wait(&coming, MPI_STATUS_IGNORE);
      CHECK(in.front() == my.turn + left());
    }
    for (const Start start : {Start{MPI_Isend}, Start{MPI_Issend}, Start{MPI_Irsend}}) {
      MPI_Irecv(in.data(), n, MPI_INT, left(), 500, my.comm, &coming);
      MPI_Barrier(my.comm);
      start(out.data(), n, MPI_INT, right(), 500, my.comm, &going);
      MPI_Wait(&coming, MPI_STATUS_IGNORE);
      MPI_Wait(&going, MPI_STATUS_IGNORE);
      CHECK(in.front() == my.turn + left());
    }
  }
}

void completing(const Mine& my) {
  std::array<int, 6> out{}, in{};
  std::array<MPI_Request, 12> requests;
  for (int i = 0; i < 6; ++i) {
    out[as_size(i)] = my.thread * 10 + i;
    MPI_Irecv(&in[as_size(i)], 1, MPI_INT, left(), 100 + i, my.comm, &requests[as_size(i)]);
    (i % 2 == 0 ? MPI_Isend : MPI_Issend)(&out[as_size(i)], 1, MPI_INT, right(), 100 + i, my.comm,
                                          &requests[as_size(i + 6)]);
  }
  int index = -1, flag = 0, some = 0;
  std::array<int, 12> indices;
  MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
  MPI_Request_get_status_any(12, requests.data(), &index, &flag, MPI_STATUS_IGNORE);
  MPI_Request_get_status_some(12, requests.data(), &some, indices.data(), MPI_STATUSES_IGNORE);
  MPI_Request_get_status_all(12, requests.data(), &flag, MPI_STATUSES_IGNORE);
  MPI_Waitany(12, requests.data(), &index, MPI_STATUS_IGNORE);
  MPI_Testany(12, requests.data(), &index, &flag, MPI_STATUS_IGNORE);
  MPI_Testsome(12, requests.data(), &some, indices.data(), MPI_STATUSES_IGNORE);
  MPI_Waitsome(12, requests.data(), &some, indices.data(), MPI_STATUSES_IGNORE);
  for (MPI_Request& request : requests) {
    if (request == MPI_REQUEST_NULL) continue;
    while (MPI_Test(&request, &flag, MPI_STATUS_IGNORE), flag == 0) {
    }
    break;
  }
  while (flag = 0, MPI_Testall(12, requests.data(), &flag, MPI_STATUSES_IGNORE), flag == 0) {
  }
  MPI_Waitall(12, requests.data(), MPI_STATUSES_IGNORE);
  CHECK(in == out);
}

// A send that is cancelled is cancelled or received, not both and not neither (MPI 5.0, 3.8.4).
void cancelled_or_received(const Mine& my,
                           int (*start)(const void*, int, MPI_Datatype, int, int, MPI_Comm,
                                        MPI_Request*),
                           int tag) {
  const int word = 5;
  int is_over = 0, is_cancelled = 0, received = 0, theirs = -1;
  MPI_Request send, told;
  MPI_Status status;
  const auto receive_one = [&](bool wait) {
    MPI_Message message;
    int is_there = 1, got = 0;
    if (wait)
      MPI_Mprobe(left(), tag, my.comm, &message, MPI_STATUS_IGNORE);
    else
      MPI_Improbe(left(), tag, my.comm, &is_there, &message, MPI_STATUS_IGNORE);
    if (is_there == 0) return;
    MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    CHECK(got == 5);
    ++received;
  };
  start(&word, 1, MPI_INT, right(), tag, my.comm, &send);
  MPI_Cancel(&send);
  while (is_over == 0) {  // one that was not cancelled may wait for its receive
    MPI_Test(&send, &is_over, &status);
    receive_one(false);
  }
  MPI_Test_cancelled(&status, &is_cancelled);
  MPI_Isend(&is_cancelled, 1, MPI_INT, right(), tag + 1, my.comm, &told);
  for (int is_told = 0; is_told == 0; receive_one(false)) {
    MPI_Iprobe(left(), tag + 1, my.comm, &is_told, MPI_STATUS_IGNORE);
  }
  MPI_Recv(&theirs, 1, MPI_INT, left(), tag + 1, my.comm, MPI_STATUS_IGNORE);
  if (theirs == 0 && received == 0) receive_one(true);
  CHECK(received == 1 - theirs);
  MPI_Wait(&told, MPI_STATUS_IGNORE);
}

void cancelling(const Mine& my) {
  int word = 5, flag = 0;
  MPI_Request request;
  MPI_Status status;
  MPI_Irecv(&word, 1, MPI_INT, left(), 600, my.comm, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(flag == 1 && word == 5);
  cancelled_or_received(my, MPI_Isend, 601);
  cancelled_or_received(my, MPI_Issend, 603);
}

void probing(const Mine& my) {
  const int word = my.thread, tag = 200 + my.thread;
  int in = -1, count = -1, flag = 0, source = -1, told = -1, error = -1;
  MPI_Message message;
  MPI_Status status;
  std::array<MPI_Request, 2> requests;
  for (MPI_Request& request : requests)
    MPI_Isend(&word, 1, MPI_INT, right(), tag, MPI_COMM_WORLD, &request);
  MPI_Probe(left(), tag, MPI_COMM_WORLD, &status);
  MPI_Mprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &message, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  MPI_Status_get_source(&status, &source);
  MPI_Status_get_tag(&status, &told);
  MPI_Status_get_error(&status, &error);
  MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  CHECK(count == 1 && in == word && source == left() && told == tag);
  while (MPI_Iprobe(left(), tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE), flag == 0) {
  }
  MPI_Improbe(left(), tag, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
  CHECK(flag == 1);
  MPI_Request taken;
  MPI_Imrecv(&in, 1, MPI_INT, &message, &taken);
  MPI_Wait(&taken, MPI_STATUS_IGNORE);
  MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
}

constexpr std::array<Family, 6> kFamilies{blocking,   nonblocking_exchange, modes,
                                          completing, cancelling,           probing};

}  // namespace

std::span<const Family> messages() {
  return kFamilies;
}

}  // namespace everywhere
