// Calls that are no plain collective of one group: between two groups, and among neighbours.
// Private to comm.
#pragma once

#include "comm/shape.h"
#include "comm/state.h"

namespace tutti::comm {

// Between the groups of an intercommunicator.
Shape shape_between(const Communicator& comm, const CollCall& call);
Result<std::shared_ptr<Prepared>> prepare_between(Communicator& comm, const Shape& shape);
void bind_between(const Communicator& comm, const CollCall& call, const Shape& shape,
                  engine::Binding& binding);

// Among the neighbours of a topology.
Result<std::shared_ptr<Prepared>> prepare_neighbours(Communicator& comm, const CollCall& call);
void bind_neighbours(const Communicator& comm, const CollCall& call, engine::Binding& binding);

}  // namespace tutti::comm
