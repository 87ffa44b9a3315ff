// Basic elements in the bytes of a message (MPI 5.0, 5.1.11): a walk down a type's making.
#pragma once

#include <optional>

#include "types/types.h"

namespace tutti::mpi {

// How many whole basic elements the first `bytes` of a message of `type`s hold; empty when the
// bytes end inside one.
std::optional<types::Count> elements_in(const types::Datatype& type, types::Count bytes);
// The bytes of the first `elements` basic elements of such a message.
types::Count bytes_of(const types::Datatype& type, types::Count elements);

}  // namespace tutti::mpi
