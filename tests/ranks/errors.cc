// Errors: truncation, wrong arguments, handlers, classes and strings. Nothing here is fatal.
#include <algorithm>
#include <climits>
#include <cstring>
#include <limits>

#include "check.h"

using namespace ranks;

namespace {

int calls = 0;
int last_code = 0;
MPI_Comm last_comm = MPI_COMM_NULL;

void remember(MPI_Comm* comm, int* code, ...) {
  ++calls;
  last_code = *code;
  last_comm = *comm;
}

// Both lengths: one that is sent at once and one that is asked for first.
void truncation() {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int n : {10, 200000}) {
    const std::vector<int> out(static_cast<std::size_t>(n), 3);
    std::vector<int> in(static_cast<std::size_t>(n), -1);
    MPI_Request request;
    MPI_Isend(out.data(), n, MPI_INT, right, 1, MPI_COMM_WORLD, &request);
    const int code =
        MPI_Recv(in.data(), n - 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(class_of(code) == MPI_ERR_TRUNCATE);
    CHECK(in[static_cast<std::size_t>(n) - 1] == -1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    MPI_Request both[2];
    MPI_Status statuses[2];
    MPI_Irecv(in.data(), n - 1, MPI_INT, left, 2, MPI_COMM_WORLD, &both[0]);
    MPI_Isend(out.data(), n, MPI_INT, right, 2, MPI_COMM_WORLD, &both[1]);
    CHECK(class_of(MPI_Waitall(2, both, statuses)) == MPI_ERR_IN_STATUS);
    CHECK(class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE);
    CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS || statuses[1].MPI_ERROR == MPI_ERR_PENDING);
    CHECK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
  }
  MPI_Barrier(MPI_COMM_WORLD);  // all is well afterwards
}

void wrong_arguments() {
  int word = 0;
  const MPI_Comm world = MPI_COMM_WORLD;
  CHECK(class_of(MPI_Send(&word, 1, MPI_INT, size, 0, world)) == MPI_ERR_RANK);
  CHECK(class_of(MPI_Send(&word, 1, MPI_INT, -7, 0, world)) == MPI_ERR_RANK);
  CHECK(class_of(MPI_Send(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0, world)) == MPI_ERR_RANK);
  CHECK(class_of(MPI_Send(&word, -1, MPI_INT, 0, 0, world)) == MPI_ERR_COUNT);
  // In bytes they would be 20.
  const MPI_Count endless = (MPI_Count{1} << 62) + 5;
  CHECK(class_of(MPI_Send_c(&word, endless, MPI_INT, 0, 0, world)) == MPI_ERR_COUNT);
  CHECK(class_of(MPI_Send(&word, 1, MPI_INT, 0, -1, world)) == MPI_ERR_TAG);
  CHECK(class_of(MPI_Send(&word, 1, MPI_INT, 0, MPI_ANY_TAG, world)) == MPI_ERR_TAG);
  CHECK(class_of(MPI_Send(&word, 1, MPI_DATATYPE_NULL, 0, 0, world)) == MPI_ERR_TYPE);
  CHECK(class_of(MPI_Send(nullptr, 1, MPI_INT, 0, 0, world)) == MPI_ERR_BUFFER);
  CHECK(class_of(MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_NULL)) == MPI_ERR_COMM);
  CHECK(class_of(MPI_Bcast(&word, 1, MPI_INT, size, world)) == MPI_ERR_ROOT);
  CHECK(class_of(MPI_Bcast(&word, 1, MPI_INT, -1, world)) == MPI_ERR_ROOT);
  CHECK(class_of(MPI_Allreduce(&word, &word, 1, MPI_INT, MPI_OP_NULL, world)) == MPI_ERR_OP);
  double number = 0;
  CHECK(class_of(MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_DOUBLE, MPI_BAND, world)) ==
        MPI_ERR_OP);
  CHECK(class_of(MPI_Comm_rank(world, nullptr)) == MPI_ERR_ARG);
  CHECK(class_of(MPI_Wait(nullptr, MPI_STATUS_IGNORE)) == MPI_ERR_ARG);
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  int two[2] = {0, 0};
  CHECK(class_of(MPI_Send(two, 1, pair, 0, 0, world)) == MPI_ERR_TYPE);  // not committed
  MPI_Type_free(&pair);
  CHECK(pair == MPI_DATATYPE_NULL);
  CHECK(class_of(MPI_Type_contiguous(-1, MPI_INT, &pair)) == MPI_ERR_COUNT);
}

// Wrong lists of partitions make none of them ready: all are ready once afterwards.
void partitions() {
  int out[4] = {rank, 1, 2, 3}, in[4] = {};
  MPI_Request both[2];
  MPI_Psend_init(out, 4, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &both[0]);
  MPI_Precv_init(in, 4, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &both[1]);
  MPI_Startall(2, both);
  const int beyond[] = {0, 4}, below[] = {1, -1}, twice[] = {2, 3, 2}, all[] = {3, 1, 0, 2};
  CHECK(class_of(MPI_Pready_list(2, beyond, both[0])) == MPI_ERR_ARG);
  CHECK(class_of(MPI_Pready_list(2, below, both[0])) == MPI_ERR_ARG);
  CHECK(class_of(MPI_Pready_list(3, twice, both[0])) == MPI_ERR_ARG);
  CHECK(class_of(MPI_Pready_list(-1, all, both[0])) == MPI_ERR_ARG);
  CHECK(class_of(MPI_Pready_list(1, nullptr, both[0])) == MPI_ERR_ARG);
  CHECK(class_of(MPI_Pready_range(1, 4, both[0])) == MPI_ERR_ARG);
  CHECK(class_of(MPI_Pready_range(-1, 2, both[0])) == MPI_ERR_ARG);
  CHECK(class_of(MPI_Pready_range(3, INT_MAX, both[0])) == MPI_ERR_ARG);
  CHECK(MPI_Pready_range(2, 1, both[0]) == MPI_SUCCESS);  // none
  CHECK(MPI_Pready_list(0, nullptr, both[0]) == MPI_SUCCESS);
  CHECK(MPI_Pready(1, both[0]) == MPI_SUCCESS);
  CHECK(class_of(MPI_Pready_list(4, all, both[0])) == MPI_ERR_ARG);
  CHECK(class_of(MPI_Pready_range(0, 3, both[0])) == MPI_ERR_ARG);
  const int others[] = {3, 0, 2};
  CHECK(MPI_Pready_list(3, others, both[0]) == MPI_SUCCESS);
  CHECK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
  CHECK(std::equal(out, out + 4, in));
  MPI_Request mixed[] = {both[0], MPI_REQUEST_NULL};
  CHECK(class_of(MPI_Startall(2, mixed)) == MPI_ERR_REQUEST);
  CHECK(class_of(MPI_Pready(0, both[0])) == MPI_ERR_REQUEST);  // it was not started
  for (MPI_Request& each : both) MPI_Request_free(&each);
}

void graphs() {
  const int degrees[] = {1, -1}, wrong[] = {1, -1};
  const MPI_Comm self = MPI_COMM_SELF;
  const int zero[] = {0, 0};
  MPI_Comm graph = MPI_COMM_NULL;
  const auto create = [&](int n, const int* sources, const int* numbers, const int* weights) {
    const int code =
        MPI_Dist_graph_create(self, n, sources, numbers, zero, weights, MPI_INFO_NULL, 0, &graph);
    return code == MPI_SUCCESS ? MPI_SUCCESS : class_of(code);
  };
  const int ones[] = {1, 1};
  CHECK(create(-1, zero, ones, MPI_UNWEIGHTED) == MPI_ERR_ARG);
  CHECK(create(2, zero, degrees, MPI_UNWEIGHTED) == MPI_ERR_ARG);
  CHECK(create(2, zero, ones, wrong) == MPI_ERR_ARG);
  CHECK(create(2, zero, ones, nullptr) == MPI_ERR_ARG);
  CHECK(create(2, zero, ones, MPI_WEIGHTS_EMPTY) == MPI_ERR_ARG);
  CHECK(create(2, nullptr, ones, MPI_UNWEIGHTED) == MPI_ERR_ARG);
  CHECK(create(2, zero, nullptr, MPI_UNWEIGHTED) == MPI_ERR_ARG);
  const int outside[] = {0, 1};
  CHECK(create(2, outside, ones, MPI_UNWEIGHTED) == MPI_ERR_RANK);
  const auto adjacent = [&](int degree, const int* ranks, const int* in, const int* out) {
    const int code = MPI_Dist_graph_create_adjacent(self, degree, ranks, in, 2, zero, out,
                                                    MPI_INFO_NULL, 0, &graph);
    return code == MPI_SUCCESS ? MPI_SUCCESS : class_of(code);
  };
  CHECK(adjacent(-1, zero, ones, ones) == MPI_ERR_ARG);
  CHECK(adjacent(2, zero, wrong, ones) == MPI_ERR_ARG);
  CHECK(adjacent(2, zero, ones, wrong) == MPI_ERR_ARG);
  CHECK(adjacent(2, zero, nullptr, ones) == MPI_ERR_ARG);
  CHECK(adjacent(2, zero, MPI_WEIGHTS_EMPTY, ones) == MPI_ERR_ARG);
  CHECK(adjacent(2, nullptr, ones, ones) == MPI_ERR_ARG);
  CHECK(adjacent(2, outside, ones, ones) == MPI_ERR_RANK);
  CHECK(graph == MPI_COMM_NULL);
  CHECK(adjacent(0, nullptr, MPI_WEIGHTS_EMPTY, ones) == MPI_SUCCESS);
  MPI_Comm_free(&graph);
  CHECK(create(2, zero, ones, ones) == MPI_SUCCESS);
  MPI_Comm_free(&graph);
}

void handlers() {
  MPI_Errhandler handler, got;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(remember, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Comm_get_errhandler(comm, &got);
  CHECK(got == handler);
  MPI_Errhandler_free(&got);
  MPI_Errhandler_free(&handler);
  CHECK(handler == MPI_ERRHANDLER_NULL);
  calls = 0;
  CHECK(class_of(MPI_Send(nullptr, -1, MPI_INT, 0, 0, comm)) == MPI_ERR_COUNT);
  CHECK(calls == 1 && class_of(last_code) == MPI_ERR_COUNT && last_comm == comm);
  MPI_Comm child;  // inherits
  MPI_Comm_split(comm, 0, rank, &child);
  MPI_Comm_call_errhandler(child, MPI_ERR_OTHER);
  CHECK(calls == 2 && last_code == MPI_ERR_OTHER && last_comm == child);
  MPI_Comm_free(&child);
  MPI_Comm_free(&comm);
  MPI_Comm_get_errhandler(MPI_COMM_SELF, &got);
  CHECK(got == MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&got);
}

void strings() {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0, own_class = 0, own_code = 0, *last = nullptr, flag = 0;
  MPI_Error_string(MPI_ERR_TRUNCATE, text, &length);
  CHECK(std::strlen(text) == static_cast<std::size_t>(length) && length > 10);
  CHECK(std::strstr(text, "MPI_ERR_TRUNCATE") != nullptr);
  MPI_Add_error_class(&own_class);
  CHECK(own_class > MPI_ERR_LASTCODE);
  MPI_Add_error_code(own_class, &own_code);
  CHECK(own_code != own_class && class_of(own_code) == own_class);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
  CHECK(flag != 0 && *last == own_code);
  MPI_Add_error_string(own_code, "the kettle is empty");
  MPI_Error_string(own_code, text, &length);
  CHECK(std::string(text) == "the kettle is empty");
  CHECK(class_of(MPI_Add_error_string(MPI_ERR_RANK, "no")) == MPI_ERR_ARG);
}

// What is not there yet says so, and harms nothing. Libraries that take errors as codes show the
// string alone.
void unsupported() {
  MPI_Win window = reinterpret_cast<MPI_Win>(&calls);
  int word = 0;
  const int code = MPI_Win_create(&word, 4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  CHECK(class_of(code) == MPI_ERR_UNSUPPORTED_OPERATION && window == MPI_WIN_NULL);
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  CHECK(MPI_Error_string(code, text, &length) == MPI_SUCCESS);
  CHECK(std::string(text).find("Tutti does not have this call") != std::string::npos);
}

int file_calls = 0;
int file_code = 0;
MPI_File told_file = MPI_FILE_NULL;
void remember_file(MPI_File* file, int* code, ...) {
  ++file_calls;
  file_code = *code;
  told_file = *file;
}

// Files are not there yet. Errors on them end no job unless the program wants that (MPI 5.0, 14.7).
void files() {
  alignas(16) static char none[16];  // what was in a handle before is not left there
  const auto garbage = reinterpret_cast<MPI_File>(none);
  const int right = MPI_ERR_UNSUPPORTED_OPERATION;
  MPI_File file = garbage;
  int code = MPI_File_open(MPI_COMM_SELF, "none", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  CHECK(class_of(code) == right && file == MPI_FILE_NULL);
  CHECK(class_of(MPI_File_delete("none", MPI_INFO_NULL)) == right);
  int word = 0;
  MPI_Request request = reinterpret_cast<MPI_Request>(none);
  CHECK(class_of(MPI_File_iwrite(file, &word, 1, MPI_INT, &request)) == MPI_ERR_FILE);
  CHECK(request == MPI_REQUEST_NULL);
  CHECK(class_of(MPI_File_close(&file)) == MPI_ERR_FILE);

  MPI_Errhandler handler, got;
  MPI_File_get_errhandler(MPI_FILE_NULL, &got);
  CHECK(got == MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&got);
  MPI_File_create_errhandler(remember_file, &handler);
  MPI_File_set_errhandler(MPI_FILE_NULL, handler);
  MPI_File_get_errhandler(MPI_FILE_NULL, &got);
  CHECK(got == handler);
  MPI_Errhandler_free(&got);
  told_file = garbage;
  code = MPI_File_open(MPI_COMM_WORLD, "none", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  CHECK(class_of(code) == right && file_calls == 1 && class_of(file_code) == right);
  CHECK(told_file == MPI_FILE_NULL);
  CHECK(class_of(MPI_File_get_errhandler(garbage, &got)) == MPI_ERR_FILE && file_calls == 2);
  CHECK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_NO_SPACE) == MPI_SUCCESS);
  CHECK(file_calls == 3 && file_code == MPI_ERR_NO_SPACE);

  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler)) == MPI_ERR_ERRHANDLER);
  MPI_Errhandler_free(&handler);
  MPI_Comm_create_errhandler(remember, &handler);
  CHECK(class_of(MPI_File_set_errhandler(MPI_FILE_NULL, handler)) == MPI_ERR_ERRHANDLER);
  CHECK(file_calls == 4);
  MPI_Errhandler_free(&handler);
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
}

// Handled, an error is no reason why the job should not end well: the last rank has no room for
// what rank 0 gives it.
void truncated_collective() {
  const auto ranks = static_cast<std::size_t>(size);
  const std::vector<int> words(2 * ranks, rank);
  std::vector<int> into(2 * ranks), gives(ranks, 1), takes(ranks, 1), places;
  for (int i = 0; i < size; ++i) places.push_back(2 * i);
  if (rank == 0) gives.back() = 2;
  const int code = MPI_Alltoallv(words.data(), gives.data(), places.data(), MPI_INT, into.data(),
                                 takes.data(), places.data(), MPI_INT, MPI_COMM_WORLD);
  CHECK(rank < size - 1 || class_of(code) == MPI_ERR_TRUNCATE);
}

}  // namespace

int main() {
  begin();
  files();  // first: nothing but the defaults are set
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  truncation();
  wrong_arguments();
  partitions();
  graphs();
  handlers();
  strings();
  unsupported();
  truncated_collective();
  return done();
}
