// MPI 5.0, 13.2: a generalized request is completed by its user; query_fn is asked by every call
// that gives its status, free_fn runs once, and what the last of them returns is returned.
#include <thread>

#include "check.h"

using namespace ranks;

namespace {

struct State {
  int queries = 0, frees = 0, cancels = 0;
  int cancel_saw = -1;
  int query_says = MPI_SUCCESS, free_says = MPI_SUCCESS;
};

int query(void* extra, MPI_Status* status) {
  auto& state = *static_cast<State*>(extra);
  ++state.queries;
  MPI_Status_set_elements(status, MPI_INT, 7);
  MPI_Status_set_cancelled(status, state.cancels > 0);
  status->MPI_SOURCE = 3;
  status->MPI_TAG = 4;
  return state.query_says;
}
int free_it(void* extra) {
  auto& state = *static_cast<State*>(extra);
  ++state.frees;
  return state.free_says;
}
int cancel(void* extra, int is_complete) {
  auto& state = *static_cast<State*>(extra);
  ++state.cancels;
  state.cancel_saw = is_complete;
  return MPI_SUCCESS;
}

MPI_Request begin_one(State& state) {
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK(MPI_Grequest_start(query, free_it, cancel, &state, &request) == MPI_SUCCESS);
  CHECK(request != MPI_REQUEST_NULL);
  return request;
}

void one_life() {
  State state;
  MPI_Request request = begin_one(state);
  int flag = 1, count = 0, cancelled = 0;
  MPI_Status status;
  MPI_Test(&request, &flag, &status);
  CHECK(flag == 0 && state.queries == 0);
  MPI_Cancel(&request);
  CHECK(state.cancels == 1 && state.cancel_saw == 0);
  MPI_Grequest_complete(request);
  CHECK(state.queries == 0 && state.frees == 0);
  MPI_Request_get_status(request, &flag, &status);
  CHECK(flag == 1 && state.queries == 1 && state.frees == 0);
  MPI_Wait(&request, &status);
  CHECK(request == MPI_REQUEST_NULL && state.queries == 2 && state.frees == 1);
  MPI_Get_count(&status, MPI_INT, &count);
  MPI_Test_cancelled(&status, &cancelled);
  CHECK(count == 7 && cancelled == 1 && status.MPI_SOURCE == 3 && status.MPI_TAG == 4);
}

void freed_first() {
  State state;
  MPI_Request request = begin_one(state);
  const MPI_Request kept = request;
  MPI_Request_free(&request);
  CHECK(state.frees == 0);
  MPI_Grequest_complete(kept);
  CHECK(state.frees == 1 && state.queries == 0);
}

void errors() {
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  State state, other;
  state.query_says = MPI_ERR_ARG;
  MPI_Request both[2] = {begin_one(state), begin_one(other)};
  MPI_Status statuses[2];
  MPI_Grequest_complete(both[0]);
  MPI_Grequest_complete(both[1]);
  CHECK(MPI_Waitall(2, both, statuses) == MPI_ERR_IN_STATUS);
  CHECK(statuses[0].MPI_ERROR == MPI_ERR_ARG && statuses[1].MPI_ERROR == MPI_SUCCESS);
  state.free_says = MPI_ERR_OTHER;
  MPI_Request request = begin_one(state);
  MPI_Grequest_complete(request);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_ERR_OTHER);
  int word = 0;
  MPI_Irecv(&word, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &request);
  CHECK(MPI_Grequest_complete(request) == MPI_ERR_REQUEST);
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void completed_by_a_thread() {
  State state;
  MPI_Request request = begin_one(state);
  std::thread other([request] { MPI_Grequest_complete(request); });
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  other.join();
  CHECK(state.frees == 1);
}

}  // namespace

int main() {
  begin(MPI_THREAD_MULTIPLE);
  one_life();
  freed_first();
  errors();
  completed_by_a_thread();
  return done();
}
