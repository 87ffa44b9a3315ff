// Handles to objects: predefined ones are small integers, all others those of slots (base/slots.h).
// Any word will do: what is no handle of the kind asked for has no object.
//
// Also the two kinds of object that only the bindings know: error handlers and info objects.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/object.h"
#include "comm/comm.h"
#include "mpi.h"
#include "mpi/process.h"
#include "types/types.h"

namespace tutti::mpi {

using types::Count;
static_assert(sizeof(MPI_Count) == sizeof(Count) && sizeof(MPI_Aint) == sizeof(Count));
static_assert(sizeof(MPI_Status) == 32);

template <class UserHandle>
Handle bits_of(UserHandle handle) {
  return reinterpret_cast<Handle>(handle);
}
template <class UserHandle>
UserHandle handle_to(const Object* object, UserHandle null) {
  return object == nullptr ? null : reinterpret_cast<UserHandle>(object->handle());
}
inline bool is_predefined(Handle bits) {
  return bits < 0x400;
}

// What to do with an error (MPI 5.0, 9.3). Registered for one kind of object and one ABI.
class Errhandler final : public Object {
 public:
  enum class Action : std::uint8_t { fatal, abort, returns, user };
  using Function = MPI_Comm_errhandler_function*;

  Errhandler(Action what, Handle handle)
      : Object(ObjectKind::errhandler, &Object::destroy_as<Errhandler>, handle), action(what) {}
  static Ref<Errhandler> user(ObjectKind serves, Function function);

  Action action;
  ObjectKind serves = ObjectKind::other;  // which create call made it; predefined serve all
  Function function = nullptr;
};
Errhandler* predefined_errhandler(Handle bits);

// Ordered pairs of text (MPI 5.0, 10).
class Info final : public Object {
 public:
  explicit Info(Handle handle = 0) : Object(ObjectKind::info, &Object::destroy_as<Info>, handle) {}
  const std::string* find(std::string_view key) const;
  void set(std::string_view key, std::string_view value);
  bool erase(std::string_view key);
  std::vector<std::pair<std::string, std::string>> pairs;
};
Info* environment_info();  // MPI_INFO_ENV
// Its keys for a program and its arguments (MPI 5.0, 11.2.1).
void set_command(Info& info, const std::vector<std::string>& words);

// One use of MPI apart from all others (MPI 5.0, 11.3).
class Session final : public Object {
 public:
  Session() : Object(ObjectKind::session, &Object::destroy_as<Session>) {}
  std::string kinds_asked;  // mpi_memory_alloc_kinds
  Ref<Object> errhandler;   // as of communicators
};

comm::Group* empty_group();

inline Session* session_of(MPI_Session handle) {
  return object_at<Session>(bits_of(handle), ObjectKind::session);
}
inline comm::Communicator* comm_of(MPI_Comm handle) {
  const Handle bits = bits_of(handle);
  if (!is_predefined(bits)) return object_at<comm::Communicator>(bits, ObjectKind::comm);
  if (handle == MPI_COMM_WORLD) return process.world_comm;
  return handle == MPI_COMM_SELF ? process.self_comm : nullptr;
}
inline types::Datatype* type_of(MPI_Datatype handle) {
  return types::type_of(bits_of(handle));
}
inline types::Op* op_of(MPI_Op handle) {
  return types::op_of(bits_of(handle));
}
inline comm::Group* group_of(MPI_Group handle) {
  const Handle bits = bits_of(handle);
  if (!is_predefined(bits)) return object_at<comm::Group>(bits, ObjectKind::group);
  return handle == MPI_GROUP_EMPTY ? empty_group() : nullptr;
}
inline Errhandler* errhandler_of(MPI_Errhandler handle) {
  const Handle bits = bits_of(handle);
  return is_predefined(bits) ? predefined_errhandler(bits)
                             : object_at<Errhandler>(bits, ObjectKind::errhandler);
}
// Windows and files are told apart from all else by their kind; none is made yet.
inline Object* window_of(MPI_Win handle) {
  return object_at<Object>(bits_of(handle), ObjectKind::window);
}
inline Object* file_of(MPI_File handle) {
  return object_at<Object>(bits_of(handle), ObjectKind::file);
}
inline Info* info_of(MPI_Info handle) {
  const Handle bits = bits_of(handle);
  if (!is_predefined(bits)) return object_at<Info>(bits, ObjectKind::info);
  return handle == MPI_INFO_ENV ? environment_info() : nullptr;
}

}  // namespace tutti::mpi
