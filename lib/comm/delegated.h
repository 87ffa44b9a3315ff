// Calls inside one group, by the delegate where it serves best, else by a schedule. Private to
// comm.
#pragma once

#include "comm/state.h"

namespace tutti::comm {

// Blocking. The call is what is to be done, in the type to do it in.
Code run_inside(Communicator& comm, const CollCall& call);

}  // namespace tutti::comm
