// Data movement, long: blocks that are alike go in rounds through the chunks, or are read where
// they lie.
#include "delegate/shm/block_mover.h"
#include "delegate/shm/forms.h"

namespace tutti::delegate {
namespace {

class MoveLong final : public TeamForm {
 public:
  MoveLong(Members& members, Chunks& chunks, BlockMover& mover, DirectReads& direct)
      : TeamForm(members), chunks_(chunks), mover_(mover), direct_(direct) {}
  Code go_on(Work& work) override;

 private:
  Code come(Work& work);
  Code speak(Work& work);

  Chunks& chunks_;
  BlockMover& mover_;
  DirectReads& direct_;
};

Code MoveLong::go_on(Work& work) {
  if (const Code code = come(work); code != Code::ok) return code;
  if (const Code code = mover_.move_long(work); code != Code::ok) return code;
  if (!work.exchange->has_root()) members_.all_exchanged();
  members_.end_call();
  return Code::ok;
}

// A member that only takes says nothing. All hear who chooses the way.
Code MoveLong::come(Work& work) {
  BlockExchange& exchange = *work.exchange;
  if (work.has_heard) return Code::ok;
  if (!work.has_spoken) {
    if (const Code code = members_.claim_entry(); code != Code::ok) return code;
    const bool is_for_root = exchange.gives_away() && !exchange.everyone_takes;
    const Code claimed =
        mover_.claim_chunks(exchange, is_for_root ? exchange.call.root : (me_ + 1) % size_);
    if (claimed != Code::ok) return claimed;
    direct_.prove_reading(exchange);
    const Code spoken = speak(work);
    work.has_spoken = true;
    if (spoken != Code::ok) return spoken;
  }
  if (exchange.ahead > 0 || !exchange.gives_away()) {  // nobody waits for it
    const Count upto = exchange.ahead > 0 ? exchange.part : BlockMover::kAll;
    if (const Code code = mover_.move_own(work, upto); code != Code::ok) return code;
  }
  for (; work.member < size_; ++work.member) {
    if (!exchange.hears(work.member)) continue;
    if (const Code code = members_.hear(work.member, work.call.fingerprint); code != Code::ok)
      return code;
  }
  work.has_heard = true;
  work.member = 0;
  mover_.hear_turn(exchange);
  direct_.hear_way(exchange);
  return Code::ok;
}

// What is given ahead in a turn's cell is there before that is said: who has heard it may have no
// use for it, as it reads the blocks where they lie, and give there itself in the next call.
Code MoveLong::speak(Work& work) {
  BlockExchange& exchange = *work.exchange;
  if (exchange.gives(me_)) {
    members_.entry(me_).word =
        direct_.say_way(exchange, exchange.longest) | mover_.say_turn(exchange);
    if (exchange.in_turn)
      if (const Code code = mover_.give_ahead(exchange); code != Code::ok) return code;
    members_.publish(work.call.fingerprint);
  }
  return exchange.in_turn ? Code::ok : mover_.give_ahead(exchange);
}

}  // namespace

std::unique_ptr<TeamForm> make_move_long(Members& members, Chunks& chunks, BlockMover& mover,
                                         DirectReads& direct) {
  return std::make_unique<MoveLong>(members, chunks, mover, direct);
}

}  // namespace tutti::delegate
