// Attributes: keys with copy and delete functions, and the values on communicators.
//
// A key lives until it is freed and no object has a value under it (MPI 5.0, 7.7.2). Called
// with the gate held.
#pragma once

#include "mpi/objects.h"

namespace tutti::mpi {

// The functions of all kinds of objects have the same shape but for the handle, a pointer.
using CopyFunction = int (*)(void* object, int key, void* extra, void* in, void* out, int* flag);
using DeleteFunction = int (*)(void* object, int key, void* value, void* extra);

int create_key(ObjectKind serves, CopyFunction copy, DeleteFunction remove, void* extra);
Code free_key(ObjectKind serves, int key);

Code set_attribute(comm::Communicator& comm, int key, void* value);
bool get_attribute(const comm::Communicator& comm, int key, void** value);
Code drop_attribute(comm::Communicator& comm, int key);
// Newest first. Stops at the first delete function that fails.
Code drop_all_attributes(comm::Communicator& comm);
// As MPI_Comm_dup does it: asks every copy function.
Code copy_attributes(comm::Communicator& from, comm::Communicator& to);
bool is_key(ObjectKind serves, int key);

}  // namespace tutti::mpi
