// Which way long blocks go, and reading them.
//
// The root, else the first member, chooses for all and says so in its word, which all hear (of
// blocks with their own sizes, where it gives long ones itself); a giver says in its own where its
// blocks lie, unless the kernel cannot read them there (gaps, a device's memory, in place). Takers
// read, answer, and the giver waits for all answers: its caller may write again. Who could not read
// takes its blocks through the chunks in the same call, and is never asked to read again.
//
// The judge is given what the team took, from when the last member had heard all until the last one
// was through: copying, and waiting for each other between rounds, but not for members that come
// late. Where the judge asks, who chooses says so: then each member says when that was for it, and
// whoever chose reads what all have said in its next long calls.
#include "delegate/shm/direct.h"

namespace tutti::delegate {
namespace {

constexpr Count kLeastRead = 8 << 10;  // a block: less does not pay for a system call
constexpr std::size_t kSizes = 13;     // that are told apart, from kLeastRead on
constexpr Count kThrough = 16 << 10;   // of what has gaps here, by way of the stack

using coll::Collective;
constexpr Collective kForms[] = {
    Collective::bcast,     Collective::gather,     Collective::scatter,
    Collective::allgather, Collective::alltoall,   Collective::gatherv,
    Collective::scatterv,  Collective::allgatherv, Collective::alltoallv};

// Which judge is asked.
std::size_t judge_of(Collective collective, Count longest) {
  const auto form = static_cast<std::size_t>(std::ranges::find(kForms, collective) - kForms);
  return form * kSizes + size_class(static_cast<std::size_t>(longest),
                                    static_cast<std::size_t>(kLeastRead), kSizes);
}

}  // namespace

bool DirectReads::may_read(Count block) const {
  return wanted_ != BlockReads::off && block >= kLeastRead;
}

// Once it is known of all others. Those that have not started yet are asked in a later call.
void DirectReads::prove_reading(const BlockExchange& exchange) {
  if (!exchange.may_be_direct) return;
  std::atomic<Reads>& reads = members_.control(me_).reads;
  // relaxed: our own.
  if (reads.load(std::memory_order_relaxed) != Reads::unknown) return;
  proved_.resize(static_cast<std::size_t>(size_));
  Reads found =
      transport::is_readable(members_.segment(), members_.local_of(me_)) ? Reads::yes : Reads::no;
  for (int member = 0; member < size_ && found == Reads::yes; ++member) {
    const auto at = static_cast<std::size_t>(member);
    if (member == me_ || proved_[at]) continue;
    if (!transport::is_readable(members_.segment(), members_.local_of(member))) return;
    if (transport::read_neighbour(members_.segment(),
                                  {members_.local_of(me_), members_.local_of(member)}, 0, {}))
      proved_[at] = true;
    else
      found = Reads::no;
  }
  // relaxed: a word that is believed when it is seen.
  reads.store(found, std::memory_order_relaxed);
}

bool DirectReads::all_read() const {
  for (int member = 0; member < size_; ++member)
    // relaxed: as above.
    if (members_.control(member).reads.load(std::memory_order_relaxed) != Reads::yes) return false;
  return true;
}

std::uint64_t DirectReads::say_way(const BlockExchange& exchange, Count longest) {
  if (!exchange.may_be_direct) return 0;
  std::uint64_t word = say_addresses(exchange) ? kReadable : 0;
  if (me_ == exchange.chooser() && all_read()) word |= choose_way(exchange, longest);
  return word;
}

// One, or one for each member. False: some block cannot be read.
bool DirectReads::say_addresses(const BlockExchange& exchange) {
  if (!exchange.gives_away() || exchange.overwrites()) return false;
  std::byte* to = GiverEntry(members_, exchange, me_).addresses();
  if (to == nullptr) return false;
  const bool has_many = exchange.to_each && exchange.call.uneven != nullptr;
  for (int member = 0; member < (has_many ? size_ : 1); ++member) {
    const types::Buffer from = exchange.call.uneven == nullptr ? exchange.from()
                               : has_many && member == me_     ? types::Buffer{}
                                                               : exchange.given(member);
    if (!from.is_contiguous()) return false;
    const auto address = reinterpret_cast<std::uint64_t>(from.at());
    std::memcpy(to, &address, sizeof address);
    to += sizeof address;
  }
  return true;
}

// What goes through the chunks counts once its own stores have been judged, and their pages have
// been written to before.
void DirectReads::make_judges() {
  for (std::size_t form = 0; form < std::size(kForms); ++form)
    for (std::size_t size = 0; size < kSizes; ++size)
      judges_.emplace_back(0, Pace::turns_unsettled(std::size_t{kLeastRead} << size));
}

std::uint64_t DirectReads::choose_way(const BlockExchange& exchange, Count longest) {
  if (wanted_ == BlockReads::on) return kDirect;
  if (judges_.empty()) make_judges();
  const std::size_t at = judge_of(exchange.call.collective, longest);
  Judge& judge = judges_[at];
  const unsigned way = judge.next();
  const bool is_timed = judge.asks();
  if (is_timed) turns_.push_back({members_.number(), at, way, static_cast<std::size_t>(longest)});
  return (way == 1 ? kDirect : 0) | (is_timed ? kTimed : 0);
}

// In order. What is not known kEntries calls later will not be: then the call is over on all.
void DirectReads::judge_turns() {
  while (!turns_.empty()) {
    const Turn& turn = turns_.front();
    std::int64_t heard = 0, ended = 0;
    bool is_known = true;
    for (int member = 0; member < size_ && is_known; ++member) {
      const Span& span = members_.control(member).spans[turn.number % kSpans];
      // acquire: pairs with tell_span(); relaxed: told by it.
      is_known = span.number.load(std::memory_order_acquire) == turn.number;
      heard = std::max(heard, span.heard_ns.load(std::memory_order_relaxed));
      ended = std::max(ended, span.ended_ns.load(std::memory_order_relaxed));
    }
    if (!is_known && members_.number() - turn.number < kEntries) return;
    if (is_known) judges_[turn.judge].took(turn.way, pace_of(ended - heard, turn.bytes));
    turns_.erase(turns_.begin());
  }
}

void DirectReads::hear_way(BlockExchange& exchange) {
  if (!exchange.may_be_direct) return;
  judge_turns();
  const std::uint64_t word = members_.entry(exchange.chooser()).word;
  exchange.is_direct = (word & kDirect) != 0;
  exchange.is_timed = (word & kTimed) != 0;
  if (exchange.is_timed) exchange.heard_ns = now_ns();
  rounds_then_.resize(std::size(kForms) * kSizes);
  rounds_then_[judge_of(exchange.call.collective, exchange.longest)] =
      !exchange.is_direct && !exchange.is_timed;
}

// Before the way is heard: that of the last such call. Calls that are timed come several in a row,
// and what was given before the time began would not count.
bool DirectReads::expects_rounds(const BlockExchange& exchange) const {
  if (!exchange.may_be_direct) return true;
  const std::size_t at = judge_of(exchange.call.collective, exchange.longest);
  return at < rounds_then_.size() && rounds_then_[at];
}

bool DirectReads::is_direct(const BlockExchange& exchange, int giver) const {
  return exchange.is_direct && (members_.entry(giver).word & kReadable) != 0;
}

bool DirectReads::has_failed(int taker) const {
  // acquire: pairs with read_blocks(). A taker whose reading failed stays in this call until it
  // has its blocks, so its answer stands as long as anybody asks.
  return members_.control(taker).answered.load(std::memory_order_acquire) ==
         2 * members_.number() + 1;
}

// Reads the givers' blocks, then answers that it has. A giver that gave up meanwhile may have
// written to its block while we read: then the call ends with an error.
Code DirectReads::read_blocks(Work& work) {
  const BlockExchange& exchange = *work.exchange;
  bool has_failed = false;
  for (; work.member < size_ && !has_failed; ++work.member) {
    const int giver = (me_ + work.member) % size_;
    if (giver == me_ || !exchange.gives(giver) || !is_direct(exchange, giver)) continue;
    const Code read = read_block(work, giver);
    if (read == kNotYet) return read;
    has_failed = read != Code::ok;
    if (members_.has_given_up(giver)) return members_.faults().broken_by(giver);
  }
  work.member = 0;
  if (has_failed)  // relaxed: see prove_reading()
    members_.control(me_).reads.store(Reads::no, std::memory_order_relaxed);
  // release: our reads are over before the giver sees it; pairs with await_answers().
  members_.control(me_).answered.store(2 * members_.number() + (has_failed ? 1 : 0),
                                       std::memory_order_release);
  members_.wake_others();
  return Code::ok;
}

Code DirectReads::await_answers(Work& work) {
  const BlockExchange& exchange = *work.exchange;
  // Who gives nothing away has said no word in this call. In cells the other's answer says, too,
  // that it has written what it gave ahead.
  if (!exchange.gives_away() || !(is_direct(exchange, me_) || exchange.in_cells)) return Code::ok;
  for (; work.member < size_; ++work.member) {
    if (work.member == me_ || !exchange.takes(work.member)) continue;
    const Code code = members_.await(members_.control(work.member).answered, 2 * members_.number());
    if (code != Code::ok) return code;
  }
  work.member = 0;
  return Code::ok;
}

// Goes on where it had to pause. An error: it cannot be read.
Code DirectReads::read_block(Work& work, int giver) {
  BlockExchange& exchange = *work.exchange;
  const bool is_uneven = exchange.call.uneven != nullptr;
  const auto mine = static_cast<std::size_t>(exchange.block_for(me_));
  std::uint64_t address = 0;
  std::memcpy(
      &address,
      GiverEntry(members_, exchange, giver).addresses() + (is_uneven ? mine * sizeof address : 0),
      sizeof address);
  if (!is_uneven) address += mine * static_cast<std::uint64_t>(exchange.call.block);
  const types::Buffer into =
      exchange.taken(giver).part(0, GiverEntry(members_, exchange, giver).bytes());
  alignas(kCacheLine) std::byte through[kThrough];
  const bool is_straight = into.is_contiguous();
  const Count most = is_straight ? static_cast<Count>(Members::kMostCopied) : kThrough;
  Count& at = exchange.read;
  bool is_read = true;
  for (Count bytes = 0; at < into.bytes && is_read; at += bytes) {
    if (members_.has_copied_much()) return members_.pause();
    bytes = std::min(most, into.bytes - at);
    const auto length = static_cast<std::size_t>(bytes);
    is_read = transport::read_neighbour(members_.segment(),
                                        {members_.local_of(me_), members_.local_of(giver)},
                                        address + static_cast<std::uint64_t>(at),
                                        {is_straight ? into.at() + at : through, length})
                  .has_value();
    if (is_read && !is_straight) members_.unpack(into, at, through, bytes);
    members_.count_copied(length);
  }
  at = 0;
  return is_read ? Code::ok : Code::other;
}

void DirectReads::tell_span(const BlockExchange& exchange) {
  if (!exchange.is_timed) return;
  Span& span = members_.control(me_).spans[members_.number() % kSpans];
  // relaxed: `number` tells of them.
  span.heard_ns.store(exchange.heard_ns, std::memory_order_relaxed);
  span.ended_ns.store(now_ns(), std::memory_order_relaxed);
  // release: pairs with judge_turns().
  span.number.store(members_.number(), std::memory_order_release);
}

}  // namespace tutti::delegate
