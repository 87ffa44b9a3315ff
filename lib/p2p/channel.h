// Channel: what the contexts of messages own, apart from peers and links.
//
// There is one, for all contexts, and no lock in it: whoever touches it has the gate. It is a
// struct of its own so that there can be more of them, each with its contexts.
#pragma once

#include "p2p/match.h"
#include "p2p/pool.h"
#include "p2p/transfer.h"

namespace tutti::p2p {

struct Channel {
  explicit Channel(Core* core) : transfers(core) {}

  PostedQueue posted;          // receives that no message has met
  UnexpectedQueue unexpected;  // messages that no receive has met
  MatchQueue taken;            // messages that a matched probe took, until they are received
  TransferPool transfers;      // requests, free ones too
  TransferLine completions;    // done, on_done not yet called
};

}  // namespace tutti::p2p
