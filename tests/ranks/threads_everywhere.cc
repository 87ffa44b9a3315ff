// MPI_THREAD_MULTIPLE: eight threads of every rank, each in another family of calls at a time and
// in all of them in turn, so that every family meets every other. Made for the thread sanitizer.
#include <array>
#include <cstdint>
#include <thread>

#include "check.h"

using namespace ranks;

namespace {

constexpr int kThreads = 8;

struct Mine {
  int thread = 0;
  int turn = 0;
  MPI_Comm comm = MPI_COMM_NULL;  // of this thread on all ranks
};

int right() {
  return (rank + 1) % size;
}
int left() {
  return (rank + size - 1) % size;
}

void blocking(const Mine& my) {
  for (const int n : {1, 3000, 40000}) {
    const auto length = static_cast<std::size_t>(n);
    std::vector<int> out(length, my.thread * 100 + rank), in(length, -1);
    // One communicator for all threads; tags keep them apart.
    MPI_Sendrecv(out.data(), n, MPI_INT, right(), my.thread, in.data(), n, MPI_INT, left(),
                 my.thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in == std::vector<int>(length, my.thread * 100 + left()));
    MPI_Sendrecv_replace(out.data(), n, MPI_INT, right(), my.thread, left(), my.thread,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(out == in);
  }
}

void nonblocking(const Mine& my) {
  std::array<int, 6> out{}, in{};
  std::array<MPI_Request, 12> requests;
  for (int i = 0; i < 6; ++i) {
    const auto place = static_cast<std::size_t>(i);
    out[place] = my.thread * 10 + i;
    MPI_Irecv(&in[place], 1, MPI_INT, left(), 100 + i, my.comm, &requests[place]);
    (i % 2 == 0 ? MPI_Isend : MPI_Issend)(&out[place], 1, MPI_INT, right(), 100 + i, my.comm,
                                          &requests[place + 6]);
  }
  int index = -1, flag = 0, some = 0;
  std::array<int, 12> indices;
  MPI_Waitany(12, requests.data(), &index, MPI_STATUS_IGNORE);
  MPI_Testany(12, requests.data(), &index, &flag, MPI_STATUS_IGNORE);
  MPI_Testsome(12, requests.data(), &some, indices.data(), MPI_STATUSES_IGNORE);
  MPI_Waitsome(12, requests.data(), &some, indices.data(), MPI_STATUSES_IGNORE);
  while (flag = 0, MPI_Testall(12, requests.data(), &flag, MPI_STATUSES_IGNORE), flag == 0) {
  }
  CHECK(in == out);
}

void probing(const Mine& my) {
  const int word = my.thread;
  int in = -1, count = -1;
  MPI_Message message;
  MPI_Status status;
  MPI_Request request;
  MPI_Isend(&word, 1, MPI_INT, right(), 200 + my.thread, MPI_COMM_WORLD, &request);
  MPI_Probe(left(), 200 + my.thread, MPI_COMM_WORLD, &status);
  MPI_Mprobe(MPI_ANY_SOURCE, 200 + my.thread, MPI_COMM_WORLD, &message, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(count == 1 && in == word);
}

void persistent(const Mine& my) {
  int out = 0, in = -1;
  std::array<MPI_Request, 2> requests;
  MPI_Send_init(&out, 1, MPI_INT, right(), 300, my.comm, &requests[0]);
  MPI_Recv_init(&in, 1, MPI_INT, left(), 300, my.comm, &requests[1]);
  for (out = 0; out < 3; ++out) {
    MPI_Startall(2, requests.data());
    MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    CHECK(in == out);
  }
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
  MPI_Pready_range(0, 3, requests[0]);
  helper.join();
  MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
  CHECK(in == out);
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

void buffered(const Mine& my) {
  MPI_Comm_attach_buffer(my.comm, MPI_BUFFER_AUTOMATIC, 0);
  std::vector<int> out(2000, my.turn), in(2000, -1);
  MPI_Bsend(out.data(), 2000, MPI_INT, right(), 400, my.comm);
  MPI_Recv(in.data(), 2000, MPI_INT, left(), 400, my.comm, MPI_STATUS_IGNORE);
  CHECK(in.front() == in.back());
  void* memory = nullptr;
  int bytes = 0;
  MPI_Comm_flush_buffer(my.comm);
  MPI_Comm_detach_buffer(my.comm, &memory, &bytes);
}

void collectives(const Mine& my) {
  int word = rank + my.thread, sum = -1;
  MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, my.comm);
  CHECK(sum == size * (size - 1) / 2 + size * my.thread);
  std::vector<int> all(static_cast<std::size_t>(size), -1);
  MPI_Request request;
  MPI_Iallgather(&word, 1, MPI_INT, all.data(), 1, MPI_INT, my.comm, &request);
  MPI_Barrier(my.comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int r = 0; r < size; ++r) CHECK(all[static_cast<std::size_t>(r)] == r + my.thread);
  int shared = rank == 0 ? my.thread : -1;
  MPI_Bcast(&shared, 1, MPI_INT, 0, my.comm);
  CHECK(shared == my.thread);
  MPI_Scan(&word, &sum, 1, MPI_INT, MPI_MAX, my.comm);
  CHECK(sum == word);
  MPI_Allreduce_init(&word, &sum, 1, MPI_INT, MPI_MIN, my.comm, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  CHECK(sum == my.thread);
}

void communicators(const Mine& my) {
  MPI_Comm copy, half;
  MPI_Comm_dup(my.comm, &copy);
  MPI_Comm_split(copy, rank % 2, rank, &half);
  int result = -1, members = 0;
  MPI_Comm_compare(my.comm, copy, &result);
  MPI_Comm_size(half, &members);
  CHECK(result == MPI_CONGRUENT && members == (size + 1 - rank % 2) / 2);
  MPI_Comm_free(&half);
  MPI_Comm_free(&copy);
}

int copy_value(MPI_Comm, int, void*, void* in, void* out, int* flag) {
  *static_cast<void**>(out) = in;
  *flag = 1;
  return MPI_SUCCESS;
}

void attributes_and_info(const Mine& my) {
  int key = MPI_KEYVAL_INVALID, flag = 0;
  intptr_t stored = my.thread;
  void* got = nullptr;
  MPI_Comm_create_keyval(copy_value, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
  MPI_Comm_set_attr(my.comm, key, reinterpret_cast<void*>(stored));
  MPI_Comm_get_attr(my.comm, key, &got, &flag);
  CHECK(flag == 1 && reinterpret_cast<intptr_t>(got) == stored);
  MPI_Comm_delete_attr(my.comm, key);
  MPI_Comm_free_keyval(&key);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "key", "value");
  MPI_Info_free(&info);
}

void types_and_groups(const Mine& my) {
  MPI_Datatype pair;
  MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  const int out[3] = {my.thread, -1, rank};
  int in[3] = {0, 0, 0}, place = 0;
  char packed[64];
  MPI_Pack(out, 1, pair, packed, sizeof packed, &place, my.comm);
  place = 0;
  MPI_Unpack(packed, sizeof packed, &place, in, 1, pair, my.comm);
  CHECK(in[0] == my.thread && in[1] == 0 && in[2] == rank);
  MPI_Type_free(&pair);
  MPI_Group all, mine;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, &rank, &mine);
  int members = 0;
  MPI_Group_size(mine, &members);
  CHECK(members == 1);
  MPI_Group_free(&mine);
  MPI_Group_free(&all);
}

int nothing_to_say(void*, MPI_Status*) {
  return MPI_SUCCESS;
}
int nothing_to_free(void*) {
  return MPI_SUCCESS;
}
int never_cancelled(void*, int) {
  return MPI_SUCCESS;
}

void generalized(const Mine&) {
  MPI_Request request;
  MPI_Grequest_start(nothing_to_say, nothing_to_free, never_cancelled, nullptr, &request);
  std::thread helper([request] { MPI_Grequest_complete(request); });
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  helper.join();
}

void errors_and_tools(const Mine& my) {
  MPI_Errhandler handler;
  MPI_Comm_get_errhandler(my.comm, &handler);
  MPI_Errhandler_free(&handler);
  MPI_Comm_set_errhandler(my.comm, MPI_ERRORS_RETURN);
  CHECK(MPI_Send(nullptr, -1, MPI_INT, 0, 0, my.comm) != MPI_SUCCESS);
  int provided = 0, number = 0, own = 0;
  MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handle;
  unsigned long long value = 0;
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_handle_alloc(session, 0, nullptr, &handle, &number);
  MPI_T_pvar_start(session, handle);
  MPI_T_pvar_read(session, handle, &value);
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
  MPI_Add_error_class(&own);
  MPI_Remove_error_class(own);
}

using Family = void (*)(const Mine&);
constexpr std::array<Family, 12> kFamilies{blocking,         nonblocking,   probing,
                                           persistent,       partitioned,   buffered,
                                           collectives,      communicators, attributes_and_info,
                                           types_and_groups, generalized,   errors_and_tools};

}  // namespace

int main() {
  begin(MPI_THREAD_MULTIPLE);
  std::array<Mine, kThreads> all;
  for (int i = 0; i < kThreads; ++i) {
    all[static_cast<std::size_t>(i)].thread = i;
    MPI_Comm_dup(MPI_COMM_WORLD, &all[static_cast<std::size_t>(i)].comm);
  }
  std::vector<std::thread> threads;
  for (Mine& my : all)
    threads.emplace_back([&my] {
      const auto families = kFamilies.size();
      for (std::size_t turn = 0; turn < 3 * families; ++turn) {
        my.turn = static_cast<int>(turn);
        kFamilies[(turn + static_cast<std::size_t>(my.thread)) % families](my);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (Mine& my : all) MPI_Comm_free(&my.comm);
  return done();
}
