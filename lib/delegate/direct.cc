// Long blocks that are alike, read straight from the givers' memory (process_vm_readv): one copy
// instead of two, but a system call, and slow where pages are many. Which is faster here is found
// out while working.
//
// The root, else the first member, chooses for all and says so in its word, which all hear; a giver
// says in its own where its blocks lie, unless the kernel cannot read them there (gaps, a device's
// memory, in place). Takers read, answer, and the giver waits for all answers: its caller may write
// again. Who could not read takes its blocks through the chunks in the same call, and is never
// asked to read again.
//
// The judge is given the copying time of the slowest member, its waiting left out: each member
// publishes its own time with the number of the call, and the member that chooses reads them all
// when the entry of that call is used again.
#include "base/judge.h"
#include "delegate/work.h"

namespace tutti::delegate {
namespace {

constexpr std::uint64_t kReadable = 1, kDirect = 2;  // of the word
constexpr Count kLeast = 8 << 10;                    // a block: less does not pay for a system call
constexpr std::size_t kSizes = 13;                   // that are told apart, from kLeast on
constexpr Count kPiece = 1 << 20;                    // of one read
constexpr Count kThrough = 16 << 10;                 // of what has gaps here, by way of the stack

constexpr coll::Collective kForms[] = {coll::Collective::bcast, coll::Collective::gather,
                                       coll::Collective::scatter, coll::Collective::allgather,
                                       coll::Collective::alltoall};

std::size_t form_of(coll::Collective collective) {
  return static_cast<std::size_t>(std::ranges::find(kForms, collective) - kForms);
}

}  // namespace

bool ShmTeam::may_read(Count block) const {
  return single_copy_ != BlockReads::off && block >= kLeast;
}

// Once it is known of all others. Those that have not started yet are asked in a later call.
void ShmTeam::prove_reading(const Exchange& exchange) {
  if (!exchange.may_be_direct) return;
  std::atomic<Reads>& reads = control(me_).reads;
  // relaxed: our own.
  if (reads.load(std::memory_order_relaxed) != Reads::unknown) return;
  proved_.resize(static_cast<std::size_t>(size_));
  Reads found = transport::is_readable(segment_, local_of(me_)) ? Reads::yes : Reads::no;
  for (int member = 0; member < size_ && found == Reads::yes; ++member) {
    const auto at = static_cast<std::size_t>(member);
    if (member == me_ || proved_[at]) continue;
    if (!transport::is_readable(segment_, local_of(member))) return;
    if (transport::read_neighbour(segment_, {local_of(me_), local_of(member)}, 0, {}))
      proved_[at] = true;
    else
      found = Reads::no;
  }
  // relaxed: a word that is believed when it is seen.
  reads.store(found, std::memory_order_relaxed);
}

bool ShmTeam::all_read() const {
  for (int member = 0; member < size_; ++member)
    // relaxed: as above.
    if (control(member).reads.load(std::memory_order_relaxed) != Reads::yes) return false;
  return true;
}

// This member's word, and where its blocks lie.
std::uint64_t ShmTeam::say_way(Exchange& exchange) {
  std::uint64_t word = 0;
  if (!exchange.may_be_direct) return word;
  if (const types::Buffer from = exchange.from();
      exchange.gives_away() && from.is_contiguous() && !exchange.overwrites()) {
    const auto address = reinterpret_cast<std::uint64_t>(from.at());
    std::memcpy(entry(me_).short_payload, &address, sizeof address);
    word |= kReadable;
  }
  if (me_ == exchange.chooser() && all_read() && choose_direct(exchange)) word |= kDirect;
  return word;
}

bool ShmTeam::choose_direct(const Exchange& exchange) {
  if (single_copy_ == BlockReads::on) return true;
  judges_.resize(std::size(kForms) * kSizes);
  Turn& turn = turns_[number_ % kEntries];
  if (turn.number > 0) {
    std::uint32_t longest = 0;
    bool is_known = true;
    for (int member = 0; member < size_; ++member) {
      // relaxed: a figure. That call is over on all members, as its entry is used again.
      const std::uint64_t spent =
          control(member).spent[number_ % kEntries].load(std::memory_order_relaxed);
      is_known = is_known && spent >> 32 == (turn.number & 0xffffffffU);
      longest = std::max(longest, static_cast<std::uint32_t>(spent));
    }
    if (is_known) judges_[turn.judge].took(turn.way, std::max(longest, 1U));
  }
  const auto block = static_cast<std::size_t>(exchange.call.block);
  const std::size_t judge = form_of(exchange.call.collective) * kSizes +
                            size_class(block, static_cast<std::size_t>(kLeast), kSizes);
  turn = {number_, judge, judges_[judge].next()};
  return turn.way == 1;
}

// Every member was heard that has a say.
void ShmTeam::hear_way(Exchange& exchange) const {
  if (!exchange.may_be_direct) return;
  exchange.is_direct = (entry(exchange.chooser()).word & kDirect) != 0;
  // relaxed: our own.
  const Reads reads = control(me_).reads.load(std::memory_order_relaxed);
  exchange.is_timed = single_copy_ == BlockReads::judged && reads == Reads::yes;
}

bool ShmTeam::is_direct(const Exchange& exchange, int giver) const {
  return exchange.is_direct && (entry(giver).word & kReadable) != 0;
}

bool ShmTeam::has_failed(int taker) const {
  // acquire: pairs with move_directly(). A taker whose reading failed stays in this call until it
  // has its blocks, so its answer stands as long as anybody asks.
  return control(taker).answered.load(std::memory_order_acquire) == 2 * number_ + 1;
}

Code ShmTeam::move_directly(Work& work) {
  Exchange& exchange = *work.exchange;
  if (!exchange.is_direct) return Code::ok;
  if (!exchange.has_read && exchange.takes(me_)) {
    if (const Code code = read_blocks(work); code != Code::ok) return code;
    exchange.has_read = true;
    move_own(exchange);
  }
  if (work.round > 0 || !is_direct(exchange, me_) || work.stage != Work::Stage::give)
    return Code::ok;
  for (; work.member < size_; ++work.member) {
    if (work.member == me_ || !exchange.takes(work.member)) continue;
    const Code code = await(control(work.member).answered, 2 * number_);
    if (code != Code::ok) return code;
  }
  work.member = 0;
  return Code::ok;
}

// Reads the givers' blocks, then answers that it has. A giver that gave up meanwhile may have
// written to its block while we read: then the call ends with an error.
Code ShmTeam::read_blocks(Work& work) {
  Exchange& exchange = *work.exchange;
  bool has_failed = false;
  for (int i = 1; i < size_ && !has_failed; ++i) {
    const int giver = (me_ + i) % size_;
    if (!exchange.gives(giver) || !is_direct(exchange, giver)) continue;
    has_failed = !read_block(exchange, giver);
    // acquire: pairs with break_off().
    const std::uint32_t said = control(giver).broken.load(std::memory_order_acquire);
    if (const Code code = said == 0 ? Code::ok : broken_by(giver, said); code != Code::ok)
      return code;
  }
  if (has_failed)  // relaxed: see prove_reading()
    control(me_).reads.store(Reads::no, std::memory_order_relaxed);
  // release: our reads are over before the giver sees it; pairs with await().
  control(me_).answered.store(2 * number_ + (has_failed ? 1 : 0), std::memory_order_release);
  wake_others();
  return Code::ok;
}

bool ShmTeam::read_block(Exchange& exchange, int giver) const {
  const Spending spending(exchange);
  std::uint64_t address = 0;
  std::memcpy(&address, entry(giver).short_payload, sizeof address);
  address += static_cast<std::uint64_t>(exchange.block_for(me_) * exchange.call.block);
  const auto read = [&](Count from, std::byte* to, Count bytes) {
    return transport::read_neighbour(segment_, {local_of(me_), local_of(giver)},
                                     address + static_cast<std::uint64_t>(from),
                                     {to, static_cast<std::size_t>(bytes)})
        .has_value();
  };
  const types::Buffer into = exchange.taken(giver);
  alignas(kCacheLine) std::byte through[kThrough];
  const bool is_straight = into.is_contiguous();
  const Count piece = is_straight ? kPiece : kThrough;
  for (Count at = 0; at < into.bytes; at += piece) {
    const Count bytes = std::min(piece, into.bytes - at);
    if (!read(at, is_straight ? into.at() + at : through, bytes)) return false;
    if (!is_straight) unpack_bytes(into, at, through, bytes);
  }
  return true;
}

void ShmTeam::tell_spent(const Exchange& exchange) {
  if (!exchange.is_timed) return;
  const std::uint32_t figure =
      pace_of(exchange.spent_ns, static_cast<std::size_t>(exchange.call.block));
  // relaxed: a figure; end_call() tells of it.
  control(me_).spent[number_ % kEntries].store(number_ << 32 | figure, std::memory_order_relaxed);
}

}  // namespace tutti::delegate
