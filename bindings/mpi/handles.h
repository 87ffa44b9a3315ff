// Handles as ints and back (MPI 5.0, 20): for other languages.
//
// Predefined handles are their own number; others have that of their slot (base/slots.h). So a
// freed handle's number may serve a later object there.
#pragma once

#include "base/object.h"

namespace tutti::mpi {

int number_of(Handle handle);         // 0 for what is no handle
Handle handle_of_number(int number);  // 0 when nothing has this number

}  // namespace tutti::mpi
