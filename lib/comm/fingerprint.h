// Fingerprint of a collective call: 32 bits that every member must say alike, and that can be
// turned back into words when two differ ("allreduce of 4 KiB with sum").
#pragma once

#include <cstdint>
#include <string>

#include "comm/state.h"

namespace tutti::comm {

// The bits are those of watch::Fingerprint.
std::uint32_t fingerprint_of(coll::Collective collective, const types::Op* op, int root,
                             Count bytes, const types::Datatype* type = nullptr);
// Of one that a function of ours makes for itself.
std::uint32_t own_fingerprint(const CollCall& call, int root, Count bytes,
                              const types::Datatype* type);
inline bool has_root(coll::Collective collective) {
  return row_of(collective).has_root;
}
// Of a reduction or movement in one group; of a widened one, as the user said it.
inline std::uint32_t fingerprint(const CollCall& call, int root, Count bytes,
                                 const types::Datatype* type) {
  if (call.purpose != watch::Purpose::users) [[unlikely]]
    return own_fingerprint(call, root, bytes, type);
  if (call.said_type != nullptr && type != nullptr) {
    bytes = call.said_count * call.said_type->size();
    type = call.said_type;
  }
  return fingerprint_of(call.collective, call.op, root, bytes, type);
}

// What members of one side of an intercommunicator must say alike beyond the fingerprint.
std::uint32_t terms_of(coll::Collective collective, const types::Op* op,
                       const types::Datatype* type);

// A collective of so many bytes that this rank begins, for the daemon (watch/calls.h). Alike on all
// members.
struct Begun {
  std::uint32_t fingerprint;
  std::uint32_t terms = 0;
  int root;  // -1: this rank takes no part
};
void remember(Communicator& comm, Communicator::State::Kind kind, const Begun& call, Count bytes);

}  // namespace tutti::comm
