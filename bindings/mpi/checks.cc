// The sentences for arguments that failed a check (checks.h).
#include "mpi/checks.h"

#include <algorithm>
#include <array>
#include <utility>

#include "watch/calls.h"

namespace tutti::mpi {

Count indegree_of(const comm::Communicator& comm) {
  if (comm.topology == nullptr) return 0;
  return static_cast<Count>(comm.topology->degrees(comm.rank()).in);
}
Count outdegree_of(const comm::Communicator& comm) {
  if (comm.topology == nullptr) return 0;
  return static_cast<Count>(comm.topology->degrees(comm.rank()).out);
}

types::Datatype* nothing_for(MPI_Datatype handle, bool moves_nothing) {
  if (handle != MPI_DATATYPE_NULL || !moves_nothing) return nullptr;
  static types::Datatype* const nothing = [] {
    types::Datatype* const made = types::make_contiguous(0, *type_of(MPI_BYTE))->hand_out();
    made->commit();
    return made;
  }();
  return nothing;
}

}  // namespace tutti::mpi

namespace tutti::mpi::bad {
namespace {

bool no(Code code, std::string text) {
  tutti::mpi::refuse(code, std::move(text));
  return false;
}
std::string range(int size) {
  return "0.." + std::to_string(size - 1);
}

// Null handles: what a call hands out that has nothing for this rank.
struct Null {
  Handle bits;
  const char* name;
};
const std::array kNulls{
    Null{bits_of(MPI_COMM_NULL), "MPI_COMM_NULL"},
    Null{bits_of(MPI_DATATYPE_NULL), "MPI_DATATYPE_NULL"},
    Null{bits_of(MPI_ERRHANDLER_NULL), "MPI_ERRHANDLER_NULL"},
    Null{bits_of(MPI_FILE_NULL), "MPI_FILE_NULL"},
    Null{bits_of(MPI_GROUP_NULL), "MPI_GROUP_NULL"},
    Null{bits_of(MPI_INFO_NULL), "MPI_INFO_NULL"},
    Null{bits_of(MPI_OP_NULL), "MPI_OP_NULL"},
    Null{bits_of(MPI_REQUEST_NULL), "MPI_REQUEST_NULL"},
    Null{bits_of(MPI_SESSION_NULL), "MPI_SESSION_NULL"},
    Null{bits_of(MPI_WIN_NULL), "MPI_WIN_NULL"},
};

// How a handle comes to be none tells where the mistake is.
std::string why_not(const char* what, Handle bits) {
  for (const Null& null : kNulls)
    if (bits == null.bits) return std::string(" is ") + null.name;
  if (bits == 0) return " is 0: nothing was put into it";
  if (slots::was_freed(bits)) return " was freed, or has ended, before";
  return std::string(" is not a valid ") + what;
}

}  // namespace

bool handle(Code code, const char* what, const char* name, Handle bits) {
  return no(code, name + why_not(what, bits));
}
bool in_reductions() {
  return no(Code::op, "op is MPI_REPLACE or MPI_NO_OP, for one-sided communication only");
}
bool number(Code code, Count value, const char* name) {
  return no(code, std::string(name) + " is " + std::to_string(value) + ", below zero");
}
bool number_at(Code code, Count value, const char* name, Count index) {
  return no(code, std::string(name) + "[" + std::to_string(index) + "] is " +
                      std::to_string(value) + ", below zero");
}
bool rank(int rank, int size) {
  return no(Code::rank, "rank " + std::to_string(rank) + " is not in " + range(size));
}
bool root(int root, int size) {
  return no(Code::root, "root " + std::to_string(root) + " is not in " + range(size));
}
bool tag(int tag) {
  return no(Code::tag,
            "tag " + std::to_string(tag) + " is not in 0.." + std::to_string(kLargestTag));
}
bool null_buffer(const char* name, Count count) {
  return no(Code::buffer, std::string(name) + " is null but the count is " + std::to_string(count));
}
bool too_many_bytes(const char* name, Count count, Count size) {
  return no(Code::count, std::string(name) + " would have " + std::to_string(count) +
                             " elements of " + std::to_string(size) +
                             " bytes, more than memory can hold");
}
bool overlap(const char* name, const char* other) {
  return no(Code::buffer, std::string(name) + " and " + other + " overlap");
}
bool in_place(const char* name) {
  return no(Code::buffer, "MPI_IN_PLACE is not allowed as " + std::string(name) + " here");
}
bool uncommitted(const char* name) {
  return no(Code::type, std::string(name) + " is not committed; call MPI_Type_commit first");
}
bool op_on(const types::Op& op, const types::Datatype& type) {
  const std::string name = type.name();
  return no(
      Code::op,
      std::string(watch::op_name(static_cast<std::uint32_t>(op.handle() - bits_of(MPI_OP_NULL)))) +
          " is not defined on " + (name.empty() ? "a derived type without a name" : name));
}
bool pointer(const char* name) {
  return no(Code::arg, std::string(name) + " is a null pointer");
}

}  // namespace tutti::mpi::bad

namespace tutti::mpi {

bool good_bytes(Count count, Count size, const char* name) {
  return count <= (std::numeric_limits<Count>::max() - 1) / std::max<Count>(size, 1) ||
         bad::too_many_bytes(name, count, size);
}

bool good_unusual_buffer(const void* buffer, Count count, const types::Datatype* type,
                         bool in_place, const char* name) {
  if (is_in_place(buffer)) return in_place || bad::in_place(name);
  const Count size = type == nullptr ? 0 : type->size();
  if (!good_bytes(count, size, name)) return false;
  const bool needs_memory = count > 0 && size > 0 && type->is_predefined();
  return buffer != nullptr || !needs_memory || bad::null_buffer(name, count);
}

Code refuse_handle(Code code, const char* what, const char* name, Handle bits) {
  bad::handle(code, what, name, bits);
  return code;
}
Code refuse_to_free(Code code, const char* what, const char* name, Handle bits,
                    const Object* found) {
  if (found == nullptr) return refuse_handle(code, what, name, bits);
  return refuse(
      code, std::string(name) +
                (is_predefined(bits) ? " is predefined and cannot be freed" : " was freed before"));
}

}  // namespace tutti::mpi
