// Rows of the catalogue: the public entry and the emitter behind it. Private to coll.
#pragma once

#include <variant>

#include "coll/coll.h"
#include "coll/emitters.h"

namespace tutti::coll {

using Emitter = std::variant<BarrierEmitter*, RootedEmitter*, WholeEmitter*, SpreadEmitter*,
                             BlockedEmitter*, AlltoallEmitter*>;

// The emitter of an entry of catalogue().
const Emitter& emitter_of(const Algorithm& algorithm);

}  // namespace tutti::coll
