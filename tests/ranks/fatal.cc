// Rank 0 makes a mistake under MPI_ERRORS_ARE_FATAL: the job ends with one line that says what.
#include <unistd.h>

#include <new>
#include <string>

#include "check.h"

using namespace ranks;

namespace {

// Handles that are none, each in its own way.
void bad_handle(const std::string& which) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  if (which == "null communicator") {
    MPI_Comm_split(MPI_COMM_SELF, MPI_UNDEFINED, 0, &comm);
    MPI_Barrier(comm);
  } else if (which == "freed communicator") {
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm copy = comm;
    MPI_Comm_free(&copy);
    MPI_Barrier(comm);
  } else if (which == "communicator freed twice") {
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm copy = comm;
    MPI_Comm_free(&copy);
    MPI_Comm_free(&comm);
  } else if (which == "world freed") {
    comm = MPI_COMM_WORLD;
    MPI_Comm_free(&comm);
  } else if (which == "communicator of zeros") {
    comm = nullptr;
    MPI_Barrier(comm);
  } else if (which == "freed datatype") {
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Datatype copy = type;
    MPI_Type_free(&copy);
    MPI_Send(nullptr, 1, type, MPI_PROC_NULL, 0, MPI_COMM_SELF);
  } else if (which == "request waited for twice") {
    int word = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&word, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
    MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    MPI_Request copy = request;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Wait(&copy, MPI_STATUS_IGNORE);
  }
}

// A collective in which this rank gives itself more, or less, than it takes from itself.
void own_part(const std::string& which) {
  int words[4] = {}, taken[4] = {};
  const int one = 1, two = 2, zero = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (which == "own part of MPI_Allgather")
    MPI_Allgather(words, 2, MPI_INT, taken, 1, MPI_INT, MPI_COMM_SELF);
  else if (which == "own part of MPI_Allgatherv")
    MPI_Allgatherv(words, 1, MPI_INT, taken, &two, &zero, MPI_INT, MPI_COMM_SELF);
  else if (which == "own part of MPI_Scatter")
    MPI_Scatter(words, 2, MPI_INT, taken, 1, MPI_INT, 0, MPI_COMM_SELF);
  else if (which == "own part of MPI_Ialltoallv") {
    MPI_Ialltoallv(words, &two, &zero, MPI_INT, taken, &one, &zero, MPI_INT, MPI_COMM_SELF,
                   &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

void mistake(const std::string& which) {
  int words[2] = {0, 0};
  double real = 0;
  if (which == "too long")
    MPI_Sendrecv(words, 2, MPI_INT, 0, 7, words, 1, MPI_INT, 0, 7, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
  else if (which == "too long, waited for") {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(words, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &request);
    MPI_Send(words, 2, MPI_INT, 0, 7, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (which == "too long, among several") {
    MPI_Request requests[2];
    MPI_Irecv(words, 1, MPI_INT, 0, 8, MPI_COMM_SELF, &requests[0]);
    MPI_Irecv(words, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &requests[1]);
    MPI_Send(words, 1, MPI_INT, 0, 8, MPI_COMM_SELF);
    MPI_Send(words, 2, MPI_INT, 0, 7, MPI_COMM_SELF);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  } else if (which == "too long, two of three") {
    MPI_Request requests[3];
    for (int i = 0; i < 3; ++i) MPI_Irecv(words, 1, MPI_INT, 0, 7 + i, MPI_COMM_SELF, &requests[i]);
    for (int i = 0; i < 3; ++i) MPI_Send(words, i == 0 ? 1 : 2, MPI_INT, 0, 7 + i, MPI_COMM_SELF);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  } else if (which == "no communicator")
    MPI_Send(words, 1, MPI_INT, 0, 0, MPI_COMM_NULL);
  else if (which == "no operation")
    MPI_Allreduce(MPI_IN_PLACE, &real, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_SELF);
  else if (which == "a file") {
    MPI_File file;
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    MPI_File_open(MPI_COMM_SELF, "none", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  } else if (which == "no operation of a derived type") {
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Allreduce(MPI_IN_PLACE, words, 1, pair, MPI_SUM, MPI_COMM_SELF);
  } else if (which == "operation that throws") {
    MPI_Op op;
    MPI_Op_create([](void*, void*, int*, MPI_Datatype*) { throw std::bad_alloc(); }, 1, &op);
    MPI_Reduce_local(words, words + 1, 1, MPI_INT, op);
  } else if (which.empty())
    MPI_Send(words, 1, MPI_INT, 4711, 0, MPI_COMM_WORLD);
  bad_handle(which);
  own_part(which);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "used before the start") MPI_Barrier(MPI_COMM_WORLD);
  if (what == "aborted before the start") MPI_Abort(MPI_COMM_WORLD, 3);
  begin();
  int word = 0;
  std::printf("this is where it went wrong\n");
  if (what == "descriptors closed") {
    for (int fd = STDERR_FILENO + 1; fd < 1024; ++fd) ::close(fd);
    MPI_Finalize();
  }
  if (what == "used after the end" || what == "aborted after the end") MPI_Finalize();
  if (what == "used after the end") MPI_Barrier(MPI_COMM_WORLD);
  if (what == "aborted after the end") MPI_Abort(MPI_COMM_WORLD, 3);
  if (rank == 0) mistake(what);
  MPI_Recv(&word, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return 0;
}
