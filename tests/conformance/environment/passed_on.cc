// MPI 5.0, 9.4: classes that say no more than that something is wrong. MPI_ERR_OTHER: MPI is
// initialised twice. MPI_ERR_INTERN and MPI_ERR_UNKNOWN a whole library never raises; a program's
// callbacks may (MPI 5.0, 13.2, 9.3), and the library passes them on as they are.
#include <cstring>

#include "check.h"

using namespace ranks;

namespace {

int last = MPI_SUCCESS;
void remember(MPI_Comm* /*comm*/, int* code, ...) {
  last = *code;
}

int query(void* state, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  return *static_cast<int*>(state);
}
int release(void* /*state*/) {
  return MPI_SUCCESS;
}
int cancel(void* /*state*/, int /*is_done*/) {
  return MPI_SUCCESS;
}

// From a generalized request, and through a handler.
void passes_on(int code, const char* name) {
  MPI_Request request;
  MPI_Grequest_start(query, release, cancel, &code, &request);
  MPI_Grequest_complete(request);
  CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == code);
  last = MPI_SUCCESS;
  MPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
  CHECK(class_of(last) == code);
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  CHECK(MPI_Error_string(code, text, &length) == MPI_SUCCESS);
  CHECK(std::strstr(text, name) != nullptr);
}

}  // namespace

int main() {
  begin();
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(remember, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Errhandler_free(&handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_Init(nullptr, nullptr)) == MPI_ERR_OTHER);
  passes_on(MPI_ERR_INTERN, "MPI_ERR_INTERN");
  passes_on(MPI_ERR_UNKNOWN, "MPI_ERR_UNKNOWN");
  return done();
}
