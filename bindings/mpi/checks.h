// Argument checks: each is true when the argument is good. The test is inline; on failure the
// sentence for the user is made out of line and noted (trouble.h).
#pragma once

#include <limits>

#include "mpi/objects.h"
#include "mpi/trouble.h"

namespace tutti::mpi {

inline constexpr int kLargestTag = 0x7fffffff;  // MPI_TAG_UB

// Checks that cost more than a few nanoseconds (meson's option `checks`).
#if defined(TUTTI_ALL_CHECKS)
inline constexpr bool kAllChecks = true;
#else
inline constexpr bool kAllChecks = false;
#endif

namespace bad {  // all return false
[[gnu::cold]] bool handle(Code code, const char* what, const char* name, Handle bits);
[[gnu::cold]] bool in_reductions();
[[gnu::cold]] bool number(Code code, Count value, const char* name);
[[gnu::cold]] bool number_at(Code code, Count value, const char* name, Count index);
[[gnu::cold]] bool rank(int rank, int size);
[[gnu::cold]] bool root(int root, int size);
[[gnu::cold]] bool tag(int tag);
[[gnu::cold]] bool null_buffer(const char* name, Count count);
[[gnu::cold]] bool too_many_bytes(const char* name, Count count, Count size);
[[gnu::cold]] bool overlap(const char* name, const char* other);
[[gnu::cold]] bool in_place(const char* name);
[[gnu::cold]] bool uncommitted(const char* name);
[[gnu::cold]] bool op_on(const types::Op& op, const types::Datatype& type);
[[gnu::cold]] bool pointer(const char* name);
}  // namespace bad

// For calls that look at a handle themselves: it is none; or it is none that a program may free,
// where `found` is the object behind it, if there is one.
Code refuse_handle(Code code, const char* what, const char* name, Handle bits);
Code refuse_to_free(Code code, const char* what, const char* name, Handle bits,
                    const Object* found);

inline bool is_in_place(const void* buffer) {
  return buffer == MPI_IN_PLACE;
}
inline bool is_root(const comm::Communicator* comm, int root) {
  return comm->is_inter() ? root == MPI_ROOT : comm->rank() == root;
}
// Between two groups: a rank of the root's group that has no part; such a one or the root.
inline bool is_idle(const comm::Communicator* comm, int root) {
  return comm->is_inter() && root == MPI_PROC_NULL;
}
inline bool is_idle_or_root(const comm::Communicator* comm, int root) {
  return comm->is_inter() && root < 0;
}
inline bool may_be_in_place(const comm::Communicator* comm) {
  return !comm->is_inter();
}
// Of my place in the topology; 0 without one, which the body refuses.
Count indegree_of(const comm::Communicator& comm);
Count outdegree_of(const comm::Communicator& comm);

// Objects come out of objects.h: there is one only if the handle is of its kind.
inline bool good_comm(const comm::Communicator* comm, MPI_Comm handle, const char* name) {
  return comm != nullptr || bad::handle(Code::comm, "communicator", name, bits_of(handle));
}
inline bool good_type(const types::Datatype* type, MPI_Datatype handle, const char* name) {
  return type != nullptr || bad::handle(Code::type, "datatype", name, bits_of(handle));
}
[[gnu::always_inline]] inline bool good_committed(const types::Datatype* type, MPI_Datatype handle,
                                                  const char* name) {
  return good_type(type, handle, name) && (type->is_committed() || bad::uncommitted(name));
}
// The null handle will do for the type of a message that moves nothing, as all others have it: a
// type without bytes stands for it.
[[gnu::cold]] types::Datatype* nothing_for(MPI_Datatype handle, bool moves_nothing);
inline bool good_op(const types::Op* op, MPI_Op handle, const char* name) {
  return op != nullptr || bad::handle(Code::op, "operation", name, bits_of(handle));
}
// MPI_REPLACE and MPI_NO_OP are for one-sided communication only.
inline bool good_in_reductions(const types::Op* op) {
  return (op->handle() != bits_of(MPI_REPLACE) && op->handle() != bits_of(MPI_NO_OP)) ||
         bad::in_reductions();
}
inline bool good_op_on(const types::Op* op, const types::Datatype* type) {
  return op->accepts(*type) || bad::op_on(*op, *type);
}
inline bool good_group(const comm::Group* group, MPI_Group handle, const char* name) {
  return group != nullptr || bad::handle(Code::group, "group", name, bits_of(handle));
}
inline bool good_errhandler(const Errhandler* handler, MPI_Errhandler handle, const char* name) {
  return handler != nullptr ||
         bad::handle(Code::errhandler, "error handler", name, bits_of(handle));
}
inline bool good_session(const Session* session, MPI_Session handle, const char* name) {
  return session != nullptr ||
         bad::handle(static_cast<Code>(MPI_ERR_SESSION), "session", name, bits_of(handle));
}
inline bool good_info(const Info* info, MPI_Info handle, const char* name) {
  return info != nullptr ||
         bad::handle(static_cast<Code>(MPI_ERR_INFO), "info object", name, bits_of(handle));
}
inline bool good_window(const Object* window, MPI_Win handle, const char* name) {
  return window != nullptr ||
         bad::handle(static_cast<Code>(MPI_ERR_WIN), "window", name, bits_of(handle));
}
inline bool good_file(const Object* file, MPI_File handle, const char* name) {
  return file != nullptr ||
         bad::handle(static_cast<Code>(MPI_ERR_FILE), "file", name, bits_of(handle));
}
// The same where the null handle is allowed.
inline bool good_file_or_null(const Object* file, MPI_File handle, const char* name) {
  return handle == MPI_FILE_NULL || good_file(file, handle, name);
}
inline bool good_info_or_null(const Info* info, MPI_Info handle, const char* name) {
  return handle == MPI_INFO_NULL || good_info(info, handle, name);
}
inline bool good_comm_or_null(const comm::Communicator* comm, MPI_Comm handle, const char* name) {
  return handle == MPI_COMM_NULL || good_comm(comm, handle, name);
}
inline bool good_group_or_null(const comm::Group* group, MPI_Group handle, const char* name) {
  return handle == MPI_GROUP_NULL || good_group(group, handle, name);
}
inline bool good_type_or_null(const types::Datatype* type, MPI_Datatype handle, const char* name) {
  return handle == MPI_DATATYPE_NULL || good_type(type, handle, name);
}

// The checks of every short call are inlined into it.
[[gnu::always_inline]] inline bool good_rank(int rank, const comm::Communicator* comm, bool any,
                                             bool nobody) {
  if (rank >= 0 && rank < comm->peers().size()) [[likely]]
    return true;
  if ((any && rank == MPI_ANY_SOURCE) || (nobody && rank == MPI_PROC_NULL)) return true;
  return bad::rank(rank, comm->peers().size());
}
inline bool good_root(int root, const comm::Communicator* comm) {
  if (root >= 0 && root < comm->peers().size()) [[likely]]
    return true;
  if (comm->is_inter() && (root == MPI_ROOT || root == MPI_PROC_NULL)) return true;
  return bad::root(root, comm->peers().size());
}
inline bool good_tag(int tag, bool any) {
  return tag >= 0 || (any && tag == MPI_ANY_TAG) || bad::tag(tag);
}
inline bool good_number(Count value, Code code, const char* name) {
  return value >= 0 || bad::number(code, value, name);
}
template <class Integer>
bool good_numbers(const Integer* values, Count size, Code code, const char* name) {
  if (size > 0 && values == nullptr) return bad::pointer(name);
  for (Count i = 0; i < size; ++i)
    if (values[i] < 0) return bad::number_at(code, values[i], name, i);
  return true;
}

// A null buffer is MPI_BOTTOM: right with a derived type of absolute addresses, a mistake with
// a predefined one.
inline bool good_place(const void* buffer, bool in_place, const char* name) {
  return !is_in_place(buffer) || in_place || bad::in_place(name);
}
// The elements of so many blocks; the largest number where 64 bits do not hold it.
inline Count in_blocks(Count count, Count blocks) {
  Count all = 0;
  return __builtin_mul_overflow(count, blocks, &all) ? std::numeric_limits<Count>::max() : all;
}
// Of no more bytes than 64 bits count. The largest number of elements stands for more (in_blocks).
bool good_bytes(Count count, Count size, const char* name);
template <class Integer>
bool good_total(const Integer* counts, Count size, const types::Datatype* type, const char* name) {
  Count sum = 0;
  for (Count i = 0; i < size; ++i)
    if (__builtin_add_overflow(sum, Count{counts[i]}, &sum))
      sum = std::numeric_limits<Count>::max();
  return good_bytes(sum, type->size(), name);
}
// Nowhere, in place, or with so many elements, or so long ones, that their bytes may be too many.
bool good_unusual_buffer(const void* buffer, Count count, const types::Datatype* type,
                         bool in_place, const char* name);
inline bool good_buffer(const void* buffer, Count count, const types::Datatype* type, bool in_place,
                        const char* name) {
  constexpr Count kLong = Count{1} << 32;
  if (bits_of(buffer) > 1 && count <= std::numeric_limits<int>::max() &&
      (type == nullptr || type->size() <= kLong)) [[likely]]
    return true;
  return good_unusual_buffer(buffer, count, type, in_place, name);
}
inline bool good_array(const void* array, Count size, const char* name) {
  return size <= 0 || array != nullptr || bad::pointer(name);
}
inline bool good_function(bool is_given, const char* name) {
  return is_given || bad::pointer(name);
}
inline bool good_pointer(const void* pointer, const char* name) {
  return pointer != nullptr || bad::pointer(name);
}
inline bool good_request(const MPI_Request* request, const char* name) {
  if (request == nullptr) return bad::pointer(name);
  if (*request == MPI_REQUEST_NULL) return true;
  const auto* const object = static_cast<const Object*>(slots::find(bits_of(*request)));
  return (object != nullptr &&
          (object->kind() == ObjectKind::request || object->kind() == ObjectKind::persistent)) ||
         bad::handle(Code::request, "request", name, bits_of(*request));
}
inline bool good_requests(const MPI_Request* requests, Count size, const char* name) {
  if (size > 0 && requests == nullptr) return bad::pointer(name);
  for (Count i = 0; i < size; ++i)
    if (!good_request(requests + i, name)) return false;
  return true;
}

}  // namespace tutti::mpi
