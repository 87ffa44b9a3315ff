// Functions of the user's that wait for other threads, which are inside MPI, and that free
// communicators, handlers, requests, registrations and operations under way (MPI 5.0, 6.9, 7.7.2,
// 9.3, 13.2, 15.3.8). Nothing stands still, nothing dangles.
#include <atomic>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

#include "check.h"

using namespace ranks;

namespace {

// A thread that sends itself messages through `comm` while it lives; its end can be waited for.
class Chatter {
 public:
  explicit Chatter(MPI_Comm comm) : thread_([this, comm] { run(comm); }) {
    while (rounds_.load() == 0) std::this_thread::yield();
  }
  ~Chatter() {
    for (const int before = rounds_.load(); rounds_.load() < before + 3;)
      std::this_thread::yield();  // it gets on with it
    ends_ = true;
    thread_.join();
  }

 private:
  void run(MPI_Comm comm) {
    while (!ends_) {
      int out = 1, in = 0;
      MPI_Sendrecv(&out, 1, MPI_INT, 0, 3, &in, 1, MPI_INT, 0, 3, comm, MPI_STATUS_IGNORE);
      ++rounds_;
    }
  }
  std::atomic<bool> ends_{false};
  std::atomic<int> rounds_{0};
  std::thread thread_;
};

// --- functions that wait for another thread, which is inside MPI

Chatter* chatter = nullptr;

void end_chatter() {
  delete std::exchange(chatter, nullptr);
}
int end_it(MPI_Comm, int, void*, void*) {
  end_chatter();
  return MPI_SUCCESS;
}
int copy_after_it(MPI_Comm, int, void*, void*, void*, int* flag) {
  end_chatter();
  *flag = 0;
  return MPI_SUCCESS;
}
void handle_it(MPI_Comm*, int*, ...) {
  end_chatter();
}
int query_it(void*, MPI_Status* status) {
  end_chatter();
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
int free_it(void*) {
  end_chatter();
  return MPI_SUCCESS;
}
int cancel_it(void*, int) {
  end_chatter();
  return MPI_SUCCESS;
}
int ask_nothing(void*, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
int free_nothing(void*) {
  return MPI_SUCCESS;
}
int cancel_nothing(void*, int) {
  return MPI_SUCCESS;
}
void freed_it(MPI_T_event_registration, MPI_T_cb_safety, void*) {
  end_chatter();
}
void on_event(MPI_T_event_instance, MPI_T_event_registration, MPI_T_cb_safety, void*) {}

void waits(MPI_Comm talk) {
  const auto start = [talk] { chatter = new Chatter(talk); };
  int key = 0;
  MPI_Comm comm, copy;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_create_keyval(copy_after_it, end_it, &key, nullptr);
  MPI_Comm_set_attr(comm, key, &key);
  start();
  MPI_Comm_dup(comm, &copy);
  MPI_Comm_free(&copy);
  start();
  MPI_Comm_delete_attr(comm, key);
  MPI_Comm_free_keyval(&key);

  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(handle_it, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Errhandler_free(&handler);
  start();
  CHECK(MPI_Send(nullptr, -1, MPI_INT, 0, 0, comm) != MPI_SUCCESS);
  start();
  MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
  MPI_Comm_free(&comm);

  for (const int which : {0, 1, 2}) {
    MPI_Request request;
    MPI_Grequest_start(which == 0 ? query_it : ask_nothing, which == 1 ? free_it : free_nothing,
                       which == 2 ? cancel_it : cancel_nothing, nullptr, &request);
    start();
    if (which == 2) MPI_Cancel(&request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(request == MPI_REQUEST_NULL && chatter == nullptr);
  }

  int index = 0;
  MPI_T_event_registration registration;
  MPI_T_event_get_index("unexpected_message", &index);
  MPI_T_event_handle_alloc(index, nullptr, MPI_INFO_NULL, &registration);
  MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL,
                                nullptr, on_event);
  start();
  MPI_T_event_handle_free(registration, nullptr, freed_it);
  CHECK(chatter == nullptr);
}

// --- handlers, requests and registrations that are gone while their functions run

MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
void free_all(MPI_Comm* comm, int*, ...) {
  MPI_Comm gone = *comm;
  MPI_Comm_set_errhandler(gone, MPI_ERRORS_RETURN);
  MPI_Comm_free(&gone);
}
MPI_Request two[2];
int free_other(void*) {
  if (two[1] != MPI_REQUEST_NULL) MPI_Request_free(&two[1]);
  return MPI_SUCCESS;
}
int free_myself(void*) {
  if (two[0] != MPI_REQUEST_NULL) MPI_Request_free(&two[0]);
  return MPI_SUCCESS;
}
int events = 0, freed = 0;
MPI_T_cb_safety freed_with = MPI_T_CB_REQUIRE_NONE;
MPI_T_event_registration another;
void count_free(MPI_T_event_registration, MPI_T_cb_safety safety, void*) {
  ++freed;
  freed_with = safety;
}
void free_another(MPI_T_event_instance, MPI_T_event_registration, MPI_T_cb_safety, void*) {
  if (++events == 1) MPI_T_event_handle_free(another, nullptr, count_free);
}
void free_registration(MPI_T_event_instance, MPI_T_event_registration mine, MPI_T_cb_safety,
                       void*) {
  ++events;
  MPI_T_event_handle_free(mine, nullptr, count_free);
  CHECK(freed == 0);  // not while it is being told
}

void frees() {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_create_errhandler(free_all, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Errhandler_free(&handler);
  CHECK(MPI_Send(nullptr, -1, MPI_INT, 0, 0, comm) != MPI_SUCCESS);

  MPI_Grequest_start(ask_nothing, free_other, cancel_nothing, nullptr, &two[0]);
  MPI_Grequest_start(ask_nothing, free_nothing, cancel_nothing, nullptr, &two[1]);
  MPI_Grequest_complete(two[0]);
  MPI_Grequest_complete(two[1]);
  CHECK(MPI_Waitall(2, two, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
  CHECK(two[0] == MPI_REQUEST_NULL && two[1] == MPI_REQUEST_NULL);
  for (const bool waits : {false, true}) {
    MPI_Grequest_start(ask_nothing, free_myself, cancel_nothing, nullptr, &two[0]);
    MPI_Grequest_complete(two[0]);
    CHECK((waits ? MPI_Wait(&two[0], MPI_STATUS_IGNORE) : MPI_Request_free(&two[0])) ==
          MPI_SUCCESS);
    CHECK(two[0] == MPI_REQUEST_NULL);
  }

  int index = 0, out = 0, in = 0, flag = 0;
  MPI_T_event_registration registration;
  MPI_T_event_get_index("unexpected_message", &index);
  MPI_T_event_handle_alloc(index, nullptr, MPI_INFO_NULL, &registration);
  MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL,
                                nullptr, free_registration);
  MPI_Send(&out, 1, MPI_INT, 0, 7, MPI_COMM_SELF);
  while (flag == 0) MPI_Iprobe(0, 7, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  MPI_Recv(&in, 1, MPI_INT, 0, 7, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  CHECK(events == 1 && freed == 1);
  CHECK(freed_with == MPI_T_CB_REQUIRE_MPI_RESTRICTED);  // it ended inside progress
  // An instance is known while it happens only.
  CHECK(MPI_T_event_read(reinterpret_cast<MPI_T_event_instance>(&out), 0, &in) != MPI_SUCCESS);
}

// One that nobody is telling anything, freed while another is told: inside progress, too.
void frees_another() {
  int index = 0, quiet = 0, out = 0, in = 0, flag = 0;
  MPI_T_event_registration registration;
  MPI_T_event_get_index("unexpected_message", &index);
  MPI_T_event_get_index("peer_lost", &quiet);
  MPI_T_event_handle_alloc(quiet, nullptr, MPI_INFO_NULL, &another);
  MPI_T_event_handle_alloc(index, nullptr, MPI_INFO_NULL, &registration);
  MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL,
                                nullptr, free_another);
  events = freed = 0;
  freed_with = MPI_T_CB_REQUIRE_NONE;
  MPI_Send(&out, 1, MPI_INT, 0, 8, MPI_COMM_SELF);
  while (flag == 0) MPI_Iprobe(0, 8, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  MPI_Recv(&in, 1, MPI_INT, 0, 8, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  CHECK(freed == 1 && freed_with == MPI_T_CB_REQUIRE_MPI_RESTRICTED);
  MPI_T_event_handle_free(registration, nullptr, count_free);
  CHECK(freed == 2 && freed_with == MPI_T_CB_REQUIRE_NONE);
}

// --- an operation that frees itself

MPI_Op own_op = MPI_OP_NULL;
void add_and_free(void* from, void* into, int* count, MPI_Datatype*) {
  if (own_op != MPI_OP_NULL) MPI_Op_free(&own_op);
  for (int i = 0; i < *count; ++i) static_cast<int*>(into)[i] += static_cast<int*>(from)[i];
}
void operations() {
  for (const int count : {1, 1000, 300000}) {
    const std::vector<int> ones(static_cast<std::size_t>(count), 1);
    std::vector<int> sums(ones.size(), 0);
    MPI_Op_create(add_and_free, 1, &own_op);
    MPI_Allreduce(ones.data(), sums.data(), count, MPI_INT, own_op, MPI_COMM_WORLD);
    CHECK(sums.front() == size && sums.back() == size);
    if (own_op != MPI_OP_NULL) MPI_Op_free(&own_op);
  }
}

// Sessions come and go in many threads.
void sessions() {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 300; ++i) {
        MPI_Session session;
        CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
        CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

// --- functions that throw what the library itself might

int thrown_by_handler = 0;
void throwing_handler(MPI_Comm*, int*, ...) {
  ++thrown_by_handler;
  throw std::bad_alloc();
}
int throwing_copy(MPI_Comm, int, void*, void*, void*, int*) {
  throw std::length_error("a copy function's");
}
int throwing_delete(MPI_Comm, int, void* value, void*) {
  if (--*static_cast<int*>(value) == 0) throw std::bad_alloc();
  return MPI_SUCCESS;
}

// The program gets it, not an error of ours; what it was thrown through works afterwards.
template <class Exception, class Call>
bool gets(Call call) {
  try {
    call();
  } catch (const Exception&) {
    return true;
  }
  return false;
}

void throws() {
  MPI_Comm comm, copy;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Errhandler thrower;
  MPI_Comm_create_errhandler(throwing_handler, &thrower);
  MPI_Comm_set_errhandler(comm, thrower);
  CHECK(gets<std::bad_alloc>([&] { MPI_Send(nullptr, 1, MPI_INT, 0, 0, comm); }));
  CHECK(thrown_by_handler == 1);
  MPI_Errhandler_free(&thrower);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int key = 0, deletes_until = 1;
  MPI_Comm_create_keyval(throwing_copy, throwing_delete, &key, nullptr);
  MPI_Comm_set_attr(comm, key, &deletes_until);
  CHECK(gets<std::length_error>([&] { MPI_Comm_dup(comm, &copy); }));
  CHECK(gets<std::bad_alloc>([&] { MPI_Comm_delete_attr(comm, key); }));
  CHECK(MPI_Comm_delete_attr(comm, key) == MPI_SUCCESS);
  MPI_Comm_free_keyval(&key);
  CHECK(MPI_Comm_dup(comm, &copy) == MPI_SUCCESS);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&comm);
}

}  // namespace

int main() {
  int provided = 0;
  MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
  sessions();  // without MPI_Init: each may be the last
  begin(MPI_THREAD_MULTIPLE);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm talk;
  MPI_Comm_dup(MPI_COMM_SELF, &talk);
  waits(talk);
  frees();
  frees_another();
  operations();
  throws();
  // The program's own end of a thread, in MPI_Finalize (MPI 5.0, 11.2.4).
  int key = 0;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_it, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, &key);
  chatter = new Chatter(talk);
  const int status = done();
  MPI_T_finalize();
  return status;
}
