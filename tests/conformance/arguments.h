// What the generated program of bad arguments stands on: good arguments, and one probe.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstdio>

namespace arguments {

inline int probes = 0, wrong = 0;
alignas(64) inline char inputs[1 << 16];  // zeros
alignas(64) inline char outputs[1 << 16];
inline MPI_Request requests[4];
inline MPI_Message message;
inline MPI_Group some_group;
inline MPI_Info some_info;
inline MPI_Session some_session;
inline MPI_Comm some_ring;  // of one rank, both neighbours of itself

inline void nothing() {}

template <class Handle>
Handle* null_handle(Handle null) {
  static Handle handle;
  handle = null;
  return &handle;
}
// Words that are no handles.
inline std::uintptr_t stale = 0;
inline const auto address = reinterpret_cast<std::uintptr_t>(&outputs);
template <class Handle>
Handle wild(std::uintptr_t word) {
  return reinterpret_cast<Handle>(word);
}
template <class Handle>
Handle* wild_handle(std::uintptr_t word) {
  return null_handle(wild<Handle>(word));
}
inline MPI_Request* one_request(MPI_Request request) {
  requests[0] = request;
  return requests;
}

inline void begin() {
  MPI_Init(nullptr, nullptr);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_group(MPI_COMM_SELF, &some_group);
  MPI_Info_create(&some_info);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &some_session);
  MPI_Comm freed;
  MPI_Comm_dup(MPI_COMM_SELF, &freed);
  stale = reinterpret_cast<std::uintptr_t>(freed);
  MPI_Comm_free(&freed);
  const int length = 1, is_periodic = 1;
  MPI_Cart_create(MPI_COMM_SELF, 1, &length, &is_periodic, 0, &some_ring);
}

// The library is whole: a message to oneself and a collective.
inline bool is_usable() {
  const int out = probes;
  int in = -1, sum = -1;
  const int passed =
      MPI_Sendrecv(&out, 1, MPI_INT, 0, 9, &in, 1, MPI_INT, 0, 9, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  const int summed = MPI_Allreduce(&out, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
  return passed == MPI_SUCCESS && summed == MPI_SUCCESS && in == out && sum == out;
}

// No template: thousands of copies of it would take most of a minute to compile.
inline void probe(const char* function, const char* argument, int expected, int (*call)()) {
  for (MPI_Request& request : requests) request = MPI_REQUEST_NULL;
  message = MPI_MESSAGE_NO_PROC;
  ++probes;
  int found = -1;
  MPI_Error_class(call(), &found);
  const bool usable = is_usable();
  if (found == expected && usable) return;
  if (++wrong <= 50)
    std::fprintf(stderr, "%s with %s: error class %d, not %d%s\n", function, argument, found,
                 expected, usable ? "" : "; nothing works any more");
}

inline int end() {
  MPI_Group_free(&some_group);
  MPI_Info_free(&some_info);
  MPI_Session_finalize(&some_session);
  MPI_Comm_free(&some_ring);
  MPI_Finalize();
  std::printf("%d bad arguments, %d taken wrongly\n", probes, wrong);
  return wrong == 0 && probes > 0 ? 0 : 1;
}

}  // namespace arguments
