// Attributes: keys with copy and delete functions, and the values on objects of all kinds.
//
// A key lives until it is freed and no object has a value under it (MPI 5.0, 7.7.2). Called
// with the gate held, which is let go while a function of the user's runs: that may change the
// attributes of the same object, free the key, and let other threads do so. The object itself is
// kept by the caller.
#pragma once

#include <map>

#include "mpi/objects.h"

namespace tutti::mpi {

// The functions of all kinds of objects have the same shape but for the handle, a pointer.
using CopyFunction = int (*)(void* object, int key, void* extra, void* in, void* out, int* flag);
using DeleteFunction = int (*)(void* object, int key, void* value, void* extra);

int create_key(ObjectKind serves, CopyFunction copy, DeleteFunction remove, void* extra);
Code free_key(ObjectKind serves, int key);

// What carries attributes: its kind, the handle that callbacks get, and its values by key.
struct Carrier {
  ObjectKind kind;
  Handle handle;
  std::map<int, void*>& values;
};
inline Carrier carrier(comm::Communicator& comm) {
  return {ObjectKind::comm, comm.handle(), comm.attributes};
}
inline Carrier carrier(types::Datatype& type) {
  return {ObjectKind::datatype, type.handle(), type.attributes};
}

Code set_attribute(const Carrier& on, int key, void* value);
// False: there is no value under this key.
bool get_attribute(const Carrier& on, int key, void** value);
Code drop_attribute(const Carrier& on, int key);
// Newest first. Stops at the first delete function that fails.
Code drop_all_attributes(const Carrier& on);
// As a dup does it: asks every copy function of the values there are by then. When one fails the
// copies made so far are deleted.
Code copy_attributes(const Carrier& from, const Carrier& to);
bool is_key(ObjectKind serves, int key);

}  // namespace tutti::mpi
