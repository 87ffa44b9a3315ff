// Handles as ints and back (MPI 5.0, 20): for other languages.
//
// Predefined handles are their own number; others get the next free one when first asked for.
// A number stays with its address, so a freed handle's number may serve a later object there.
#pragma once

#include "base/object.h"

namespace tutti::mpi {

int number_of(Handle handle);
Handle handle_of_number(int number);  // 0 when the number was never given out

}  // namespace tutti::mpi
