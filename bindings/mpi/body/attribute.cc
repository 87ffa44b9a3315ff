// Chapter 7: attributes on communicators, predefined ones included, and on datatypes.
#include <cstring>

#include "bodies.h"
#include "mpi/attributes.h"
#include "mpi/checks.h"
#include "mpi/errors.h"

namespace tutti::mpi::body {
namespace {

// Values of the predefined keys; users get pointers to them.
int* predefined_value(int key) {
  static int tag_limit = kLargestTag, any = MPI_ANY_SOURCE, none = MPI_PROC_NULL, no = 0;
  static int universe = 0;
  switch (key) {
    case MPI_TAG_UB:
      return &tag_limit;
    case MPI_IO:
      return &any;
    case MPI_HOST:
      return &none;
    case MPI_WTIME_IS_GLOBAL:
      return &no;
    case MPI_APPNUM:
      return &no;
    case MPI_LASTUSEDCODE:
      return last_used_code();
    case MPI_UNIVERSE_SIZE:
      universe = process.world->wireup().size();
      return &universe;
    default:
      return nullptr;
  }
}
bool is_predefined_key(int key) {
  return predefined_value(key) != nullptr;
}

Code changed_predefined() {
  return refuse(Code::keyval, "a predefined attribute cannot change");
}
Code unknown_key(int key) {
  return refuse(Code::keyval, "key " + std::to_string(key) + " is unknown");
}

}  // namespace

Code comm_create_keyval(MPI_Comm_copy_attr_function* comm_copy_attr_fn,
                        MPI_Comm_delete_attr_function* comm_delete_attr_fn, int* comm_keyval,
                        void* extra_state) {
  *comm_keyval = create_key(ObjectKind::comm, reinterpret_cast<CopyFunction>(comm_copy_attr_fn),
                            reinterpret_cast<DeleteFunction>(comm_delete_attr_fn), extra_state);
  return Code::ok;
}

Code comm_free_keyval(int* comm_keyval) {
  if (const Code code = free_key(ObjectKind::comm, *comm_keyval); code != Code::ok) return code;
  *comm_keyval = MPI_KEYVAL_INVALID;
  return Code::ok;
}

Code comm_set_attr(comm::Communicator& comm, int comm_keyval, void* attribute_val) {
  if (is_predefined_key(comm_keyval)) return changed_predefined();
  return set_attribute(carrier(comm), comm_keyval, attribute_val);
}

Code comm_get_attr(comm::Communicator& comm, int comm_keyval, void* attribute_val, int* flag) {
  void* value = predefined_value(comm_keyval);
  if (value == nullptr && !is_key(ObjectKind::comm, comm_keyval)) return unknown_key(comm_keyval);
  *flag = value != nullptr || get_attribute(carrier(comm), comm_keyval, &value);
  if (*flag != 0) std::memcpy(attribute_val, &value, sizeof value);
  return Code::ok;
}

Code comm_delete_attr(comm::Communicator& comm, int comm_keyval) {
  if (is_predefined_key(comm_keyval)) return changed_predefined();
  return drop_attribute(carrier(comm), comm_keyval);
}

Code type_create_keyval(MPI_Type_copy_attr_function* type_copy_attr_fn,
                        MPI_Type_delete_attr_function* type_delete_attr_fn, int* type_keyval,
                        void* extra_state) {
  *type_keyval = create_key(ObjectKind::datatype, reinterpret_cast<CopyFunction>(type_copy_attr_fn),
                            reinterpret_cast<DeleteFunction>(type_delete_attr_fn), extra_state);
  return Code::ok;
}

Code type_free_keyval(int* type_keyval) {
  if (const Code code = free_key(ObjectKind::datatype, *type_keyval); code != Code::ok) return code;
  *type_keyval = MPI_KEYVAL_INVALID;
  return Code::ok;
}

Code type_set_attr(types::Datatype& datatype, int type_keyval, void* attribute_val) {
  return set_attribute(carrier(datatype), type_keyval, attribute_val);
}

Code type_get_attr(types::Datatype& datatype, int type_keyval, void* attribute_val, int* flag) {
  if (!is_key(ObjectKind::datatype, type_keyval)) return unknown_key(type_keyval);
  void* value = nullptr;
  *flag = get_attribute(carrier(datatype), type_keyval, &value);
  if (*flag != 0) std::memcpy(attribute_val, &value, sizeof value);
  return Code::ok;
}

Code type_delete_attr(types::Datatype& datatype, int type_keyval) {
  return drop_attribute(carrier(datatype), type_keyval);
}

}  // namespace tutti::mpi::body
