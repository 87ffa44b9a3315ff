// Data movement, short: a giver puts all its blocks into its entry, who takes reads them there.
#include "delegate/shm/block_mover.h"
#include "delegate/shm/forms.h"

namespace tutti::delegate {
namespace {

class BcastShort final : public TeamForm {
 public:
  explicit BcastShort(Members& members) : TeamForm(members) {}
  Code go_on(Work& work) override;
};

// As MoveShort, of one giver whose block is for all.
Code BcastShort::go_on(Work& work) {
  const TeamCall& call = work.call;
  if (const Code code = members_.claim_entry(); code != Code::ok) return code;
  AreaEntry& said = members_.entry(call.root);
  std::byte* const payload = said.payload(work.bytes);
  if (me_ == call.root) {
    const bool has_data = members_.pack(call.into, 0, payload, call.block);
    members_.publish(said, has_data ? call.fingerprint : kHasNothing);
  } else {
    const Code code = members_.hear(said, call.root, call.fingerprint);
    if (code != Code::ok) return code;
    members_.unpack(call.into, 0, payload, call.block);
  }
  members_.end_call();
  return Code::ok;
}

class MoveShort final : public TeamForm {
 public:
  MoveShort(Members& members, BlockMover& mover) : TeamForm(members), mover_(mover) {}
  Code go_on(Work& work) override;

 private:
  BlockMover& mover_;
};

Code MoveShort::go_on(Work& work) {
  const TeamCall& call = work.call;
  const BlockExchange& exchange = *work.exchange;
  const std::size_t bytes = work.bytes;
  if (!work.has_spoken) {
    if (const Code code = members_.claim_entry(); code != Code::ok) return code;
    if (exchange.gives(me_)) {
      AreaEntry& mine = members_.entry(me_);
      const bool has_data =
          members_.pack(exchange.from(), 0, mine.payload(bytes), static_cast<Count>(bytes));
      members_.publish(mine, has_data ? call.fingerprint : kHasNothing);
    }
    mover_.move_own(work);  // short: at once
    work.has_spoken = true;
    work.member = 1;
  }
  const bool takes = exchange.takes(me_);
  for (int i = work.member; i < size_ && takes; ++i) {
    const int giver = (me_ + i) % size_;
    if (!exchange.gives(giver)) continue;
    AreaEntry& theirs = members_.entry(giver);
    if (const Code code = members_.hear(theirs, giver, call.fingerprint); code != Code::ok) {
      work.member = i;
      return code;
    }
    members_.unpack(call.into, exchange.place_of(giver),
                    theirs.payload(bytes) + exchange.block_for(me_) * call.block, call.block);
  }
  if (!exchange.has_root()) {
    members_.all_exchanged();
    return Code::ok;
  }
  if (exchange.everyone_gives && takes) members_.all_entered();  // the root of a gather
  members_.end_call();
  return Code::ok;
}

}  // namespace

std::unique_ptr<TeamForm> make_bcast_short(Members& members) {
  return std::make_unique<BcastShort>(members);
}

std::unique_ptr<TeamForm> make_move_short(Members& members, BlockMover& mover) {
  return std::make_unique<MoveShort>(members, mover);
}

}  // namespace tutti::delegate
