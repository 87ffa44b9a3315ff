// Chapter 3: waiting for and testing requests.
#include <optional>

#include "bodies.h"
#include "mpi/convert.h"
#include "mpi/errors.h"
#include "mpi/requests.h"
#include "mpi/trouble.h"

namespace tutti::mpi::body {
namespace {

MPI_Status* status_at(MPI_Status* statuses, int i) {
  return statuses == MPI_STATUSES_IGNORE ? nullptr : statuses + i;
}

// One entry of a call on all: inactive ones give the empty status; one that is still under way
// beside one that failed stays as it is (MPI 5.0, 3.7.5).
Code finish_entry(MPI_Request* request, MPI_Status* status) {
  const comm::Request* const operation = operation_of(*request);
  if (operation == nullptr) {
    put_empty_status(status);
    return Code::ok;
  }
  if (!operation->is_done()) {
    if (status != nullptr) status->MPI_ERROR = MPI_ERR_PENDING;
    return Code::ok;
  }
  const Code code = finish(request, status);
  if (status != nullptr) status->MPI_ERROR = static_cast<int>(code);
  return code;
}

// Of a call on many: which failed first, what was noted of it, and how many did.
struct Failures {
  int number = 0;
  int first = -1;
  std::optional<Trouble> why;

  void add(int i) {
    if (number++ > 0) return;
    first = i;
    why = trouble();
  }
};

// The first was noted with its communicator; the call says it is in a status.
Code in_status(const Failures& failures) {
  Trouble& found = trouble();
  found = *failures.why;
  const int code = static_cast<int>(found.code);
  const bool is_gone = found.code == Code::proc_aborted;
  if (process.world != nullptr) {
    if (is_gone || found.text.empty()) found.text = loss_behind(code, found);
    if (is_gone) found.blame = wireup::Blame::another;
  }
  const std::string why =
      found.text.empty() ? describe(code) : class_name(code) + (": " + found.text);
  const std::string several =
      failures.number > 1 ? "the first of " + std::to_string(failures.number) + ", " : "";
  found.text = "array_of_requests[" + std::to_string(failures.first) + "] failed, " + several + why;
  found.code = Code::in_status;
  return Code::in_status;
}

// Error fields are set where nothing has failed, too, which MPI 5.0, 3.2.5 does not ask for:
// programs read them all the same, as other MPIs set them.
Code finish_all(int count, MPI_Request* requests, MPI_Status* statuses) {
  Failures failures;
  for (int i = 0; i < count; ++i)
    if (finish_entry(requests + i, status_at(statuses, i)) != Code::ok) failures.add(i);
  return failures.number == 0 ? Code::ok : in_status(failures);
}

bool all_done(int count, const MPI_Request* requests) {
  for (int i = 0; i < count; ++i)
    if (is_active(requests[i]) && !is_done(requests[i])) return false;
  return true;
}

bool has_failed(int count, const MPI_Request* requests) {
  for (int i = 0; i < count; ++i)
    if (is_active(requests[i]) && is_done(requests[i]) &&
        operation_of(requests[i])->status().code != Code::ok)
      return true;
  return false;
}

// The first done request from `first` on, cyclic; else -1 when some are active, or MPI_UNDEFINED.
int first_done(int count, const MPI_Request* requests, int first) {
  int found = MPI_UNDEFINED;
  for (int i = first, left = count; left > 0; --left, i = i + 1 == count ? 0 : i + 1) {
    if (!is_active(requests[i])) continue;
    if (is_done(requests[i])) return i;
    found = -1;
  }
  return found;
}

// A done request, or -1 when some are active and none is done, or MPI_UNDEFINED. The next one
// behind it that is done, too, has its turn next, so that none is passed over for ever
// (MPI 5.0, 3.7.5); otherwise it is the first.
int any_done(int count, const MPI_Request* requests) {
  static int turn = 0;  // guarded by the gate
  int found = first_done(count, requests, turn < count ? turn : 0);
  if (found != turn || !operation_of(requests[found])->passed_over)
    found = first_done(count, requests, 0);
  if (found < 0) return found;
  turn = first_done(count, requests, found + 1 == count ? 0 : found + 1);
  operation_of(requests[turn])->passed_over = true;
  return found;
}

// Completes every done request; *outcount MPI_UNDEFINED when none is active.
Code finish_some(int count, MPI_Request* requests, int* outcount, int* indices,
                 MPI_Status* statuses) {
  *outcount = any_done(count, requests) == MPI_UNDEFINED ? MPI_UNDEFINED : 0;
  Failures failures;
  for (int i = 0; i < count; ++i) {
    if (!is_active(requests[i]) || !is_done(requests[i])) continue;
    if (finish_entry(requests + i, status_at(statuses, *outcount)) != Code::ok) failures.add(i);
    indices[(*outcount)++] = i;
  }
  return failures.number == 0 ? Code::ok : in_status(failures);
}

void poll_once() {
  comm::progress_or_yield(process.self_comm->runtime());
}

}  // namespace

Code wait(MPI_Request* request, MPI_Status* status) {
  if (!is_active(*request)) {
    put_empty_status(status);
    return Code::ok;
  }
  comm::wait(process.self_comm->runtime(), *operation_of(*request));
  return finish(request, status);
}

Code test(MPI_Request* request, int* flag, MPI_Status* status) {
  *flag = 1;
  if (!is_active(*request)) {
    put_empty_status(status);
    return Code::ok;
  }
  if (!is_done(*request)) poll_once();
  *flag = is_done(*request);
  return *flag != 0 ? finish(request, status) : Code::ok;
}

Code waitall(int count, MPI_Request array_of_requests[], MPI_Status* array_of_statuses) {
  comm::Runtime& runtime = process.self_comm->runtime();
  std::uint64_t failures = 0;  // after which none of ours had failed
  for (int i = 0; i < count; ++i) {
    comm::Request* const request = operation_of(array_of_requests[i]);
    if (request == nullptr) continue;
    while (!request->is_done() && !comm::wait(runtime, *request, failures)) {
      failures = comm::failures(runtime);
      if (has_failed(count, array_of_requests))
        return finish_all(count, array_of_requests, array_of_statuses);
    }
  }
  return finish_all(count, array_of_requests, array_of_statuses);
}

Code testall(int count, MPI_Request array_of_requests[], int* flag, MPI_Status* array_of_statuses) {
  if (!all_done(count, array_of_requests)) poll_once();
  *flag = all_done(count, array_of_requests);
  return *flag != 0 ? finish_all(count, array_of_requests, array_of_statuses) : Code::ok;
}

Code waitany(int count, MPI_Request array_of_requests[], int* indx, MPI_Status* status) {
  wait_until_ready([&] { return (*indx = any_done(count, array_of_requests)) != -1; });
  if (*indx != MPI_UNDEFINED) return finish(array_of_requests + *indx, status);
  put_empty_status(status);
  return Code::ok;
}

Code testany(int count, MPI_Request array_of_requests[], int* indx, int* flag, MPI_Status* status) {
  *indx = any_done(count, array_of_requests);
  if (*indx == -1) {
    poll_once();
    *indx = any_done(count, array_of_requests);
  }
  *flag = *indx != -1;
  if (*indx >= 0) return finish(array_of_requests + *indx, status);
  if (*flag != 0) put_empty_status(status);
  *indx = MPI_UNDEFINED;
  return Code::ok;
}

Code waitsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
              MPI_Status* array_of_statuses) {
  wait_until_ready([&] { return any_done(incount, array_of_requests) != -1; });
  return finish_some(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
}

Code testsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
              MPI_Status* array_of_statuses) {
  if (any_done(incount, array_of_requests) == -1) poll_once();
  return finish_some(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
}

Code request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  *flag = 1;
  if (!is_active(request)) {
    put_empty_status(status);
    return Code::ok;
  }
  if (!is_done(request)) poll_once();
  *flag = is_done(request);
  if (*flag != 0) put_status(status_of(*operation_of(request)), status);
  return Code::ok;
}

Code request_get_status_all(int count, const MPI_Request array_of_requests[], int* flag,
                            MPI_Status* array_of_statuses) {
  if (!all_done(count, array_of_requests)) poll_once();
  *flag = all_done(count, array_of_requests);
  int unused = 0;
  for (int i = 0; *flag != 0 && i < count; ++i)
    request_get_status(array_of_requests[i], &unused, status_at(array_of_statuses, i));
  return Code::ok;
}

Code request_get_status_any(int count, const MPI_Request array_of_requests[], int* indx, int* flag,
                            MPI_Status* status) {
  if (any_done(count, array_of_requests) == -1) poll_once();
  *indx = any_done(count, array_of_requests);
  *flag = *indx != -1;
  if (*indx >= 0) return request_get_status(array_of_requests[*indx], flag, status);
  if (*flag != 0) put_empty_status(status);
  *indx = MPI_UNDEFINED;
  return Code::ok;
}

Code request_get_status_some(int incount, const MPI_Request array_of_requests[], int* outcount,
                             int array_of_indices[], MPI_Status* array_of_statuses) {
  if (any_done(incount, array_of_requests) == -1) poll_once();
  *outcount = any_done(incount, array_of_requests) == MPI_UNDEFINED ? MPI_UNDEFINED : 0;
  for (int i = 0; i < incount; ++i) {
    if (!is_active(array_of_requests[i]) || !is_done(array_of_requests[i])) continue;
    put_status(status_of(*operation_of(array_of_requests[i])),
               status_at(array_of_statuses, *outcount));
    array_of_indices[(*outcount)++] = i;
  }
  return Code::ok;
}

namespace {

// MPI 5.0, 6.12 and 6.13: only waiting ends a collective that was begun, as all members have part
// in it, and nobody would know when its buffers may be used again.
Code must_wait(const comm::Request& collective, const char* not_so) {
  return refuse_on(
      collective.comm(), Code::request,
      std::string("request is of a collective that was begun: it is waited for, not ") + not_so);
}

}  // namespace

Code request_free(MPI_Request* request) {
  if (*request == MPI_REQUEST_NULL) return refuse(Code::request, "request is MPI_REQUEST_NULL");
  const comm::Request* const active = operation_of(*request);
  if (active != nullptr && active->is_collective()) return must_wait(*active, "freed");
  return free_request(request);
}

namespace {

[[gnu::cold]] void refuse_start(const PersistentRequest* persistent) {
  if (persistent == nullptr)
    refuse(Code::request, "request is not persistent");
  else
    refuse_on(&persistent->comm(), Code::request, "request is active already");
}

// Null, noted: it cannot be started.
PersistentRequest* startable(MPI_Request request) {
  PersistentRequest* const persistent = persistent_of(request);
  if (persistent != nullptr && persistent->current == nullptr) [[likely]]
    return persistent;
  refuse_start(persistent);
  return nullptr;
}

}  // namespace

Code start(MPI_Request* request) {
  return startall(1, request);
}

// All are looked at before one of them is started; and then again, as one may stand there twice.
Code startall(int count, MPI_Request array_of_requests[]) {
  for (int i = 0; count > 1 && i < count; ++i)
    if (startable(array_of_requests[i]) == nullptr) return trouble().code;
  Code code = Code::ok;
  for (int i = 0; code == Code::ok && i < count; ++i) {
    PersistentRequest* const next = startable(array_of_requests[i]);
    code = next == nullptr ? trouble().code : next->start();
  }
  push_on();
  return code;
}

Code cancel(MPI_Request* request) {
  if (!is_active(*request)) return refuse(Code::request, "request is not active");
  comm::Request& operation = *operation_of(*request);
  if (operation.is_collective()) return must_wait(operation, "cancelled");
  if (operation.hooks() != nullptr) return operation.hooks()->cancel(operation.is_done());
  comm::cancel(operation);
  return Code::ok;
}

}  // namespace tutti::mpi::body
