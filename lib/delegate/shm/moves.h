// Moves: the forms that move data, and which of them a call takes.
#pragma once

#include "delegate/shm/block_mover.h"
#include "delegate/shm/forms.h"

namespace tutti::delegate {

class Moves {
 public:
  Moves(Members& members, Chunks& chunks, BlockReads reads);
  void choose(Work& work);

 private:
  void lay_out(BlockExchange& exchange) const;

  Members& members_;
  Chunks& chunks_;
  const std::size_t most_one_way_;  // bytes of an entry, where some only give
  DirectReads direct_;
  BlockMover mover_;
  const std::unique_ptr<TeamForm> bcast_short_, short_, long_, uneven_;
};

}  // namespace tutti::delegate
