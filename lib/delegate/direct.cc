// Long blocks read straight from the givers' memory (process_vm_readv): one copy instead of two,
// but a system call, and slow where pages are many. Which is faster here is found out while
// working.
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
// whoever chose reads what all have said in its next long calls. Calls that were the first to use
// some of the chunks' memory say nothing: new pages take many times what copying takes.
#include "base/judge.h"
#include "delegate/work.h"

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

bool ShmTeam::may_read(Count block) const {
  return single_copy_ != BlockReads::off && block >= kLeastRead;
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

// This member's word, and where its blocks lie. `longest`: of the blocks that it knows of.
std::uint64_t ShmTeam::say_way(const Exchange& exchange, Count longest) {
  if (!exchange.may_be_direct) return 0;
  std::uint64_t word = say_addresses(exchange) ? kReadable : 0;
  if (me_ == exchange.chooser() && all_read()) word |= choose_way(exchange, longest);
  return word;
}

// One, or one for each member. False: some block cannot be read.
bool ShmTeam::say_addresses(const Exchange& exchange) {
  if (!exchange.gives_away() || exchange.overwrites()) return false;
  std::byte* to = addresses(exchange, me_);
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

// Where a giver says them: of uneven blocks behind the table of their sizes, if both have room.
std::byte* ShmTeam::addresses(const Exchange& exchange, int giver) const {
  AreaEntry& said = entry(giver);
  if (!exchange.to_each || exchange.call.uneven == nullptr) return said.short_payload;
  const std::size_t table = sizeof(Count) * static_cast<std::size_t>(size_);
  return tables_bytes() == table ? nullptr : said.payload(tables_bytes()) + table;
}

std::uint64_t ShmTeam::choose_way(const Exchange& exchange, Count longest) {
  if (single_copy_ == BlockReads::on) return kDirect;
  judges_.resize(std::size(kForms) * kSizes);
  const std::size_t at = judge_of(exchange.call.collective, longest);
  Judge& judge = judges_[at];
  const unsigned way = judge.next();
  const bool is_timed = judge.asks();
  if (is_timed) turns_.push_back({number_, at, way, static_cast<std::size_t>(longest)});
  return (way == 1 ? kDirect : 0) | (is_timed ? kTimed : 0);
}

// In order. What is not known kEntries calls later will not be: then the call is over on all.
void ShmTeam::judge_turns() {
  while (!turns_.empty()) {
    const Turn& turn = turns_.front();
    std::int64_t heard = 0, ended = 0;
    bool is_known = true, has_figure = true;
    for (int member = 0; member < size_ && is_known; ++member) {
      const Span& span = control(member).spans[turn.number % kSpans];
      // acquire: pairs with tell_span(); relaxed: told by it.
      is_known = span.number.load(std::memory_order_acquire) == turn.number;
      const std::int64_t end = span.ended_ns.load(std::memory_order_relaxed);
      has_figure = has_figure && end > 0;
      heard = std::max(heard, span.heard_ns.load(std::memory_order_relaxed));
      ended = std::max(ended, end);
    }
    if (!is_known && number_ - turn.number < kEntries) return;
    if (is_known && has_figure)
      judges_[turn.judge].took(turn.way, pace_of(ended - heard, turn.bytes));
    turns_.erase(turns_.begin());
  }
}

// Every member was heard that has a say.
void ShmTeam::hear_way(Exchange& exchange) {
  if (!exchange.may_be_direct) return;
  judge_turns();
  const std::uint64_t word = entry(exchange.chooser()).word;
  exchange.is_direct = (word & kDirect) != 0;
  exchange.is_timed = (word & kTimed) != 0;
  if (exchange.is_timed) exchange.heard_ns = now_ns();
  rounds_then_.resize(std::size(kForms) * kSizes);
  rounds_then_[judge_of(exchange.call.collective, exchange.longest)] =
      !exchange.is_direct && !exchange.is_timed;
}

// Before the way is heard: that of the last such call. Calls that are timed come several in a row,
// and what was given before the time began would not count.
bool ShmTeam::expects_rounds(const Exchange& exchange) const {
  if (!exchange.may_be_direct) return true;
  const std::size_t at = judge_of(exchange.call.collective, exchange.longest);
  return at < rounds_then_.size() && rounds_then_[at];
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
  }
  if (const Code code = move_own(work); code != Code::ok) return code;
  if (work.round > 0 || work.stage != Work::Stage::give) return Code::ok;
  // Who gives nothing away has said no word in this call.
  if (!exchange.gives_away() || !is_direct(exchange, me_)) return Code::ok;
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
  const Exchange& exchange = *work.exchange;
  bool has_failed = false;
  for (; work.member < size_ && !has_failed; ++work.member) {
    const int giver = (me_ + work.member) % size_;
    if (giver == me_ || !exchange.gives(giver) || !is_direct(exchange, giver)) continue;
    const Code read = read_block(work, giver);
    if (read == kNotYet) return read;
    has_failed = read != Code::ok;
    if (has_given_up(giver)) return broken_by(giver);
  }
  work.member = 0;
  if (has_failed)  // relaxed: see prove_reading()
    control(me_).reads.store(Reads::no, std::memory_order_relaxed);
  // release: our reads are over before the giver sees it; pairs with await().
  control(me_).answered.store(2 * number_ + (has_failed ? 1 : 0), std::memory_order_release);
  wake_others();
  return Code::ok;
}

// Goes on where it had to pause. An error: it cannot be read.
Code ShmTeam::read_block(Work& work, int giver) {
  Exchange& exchange = *work.exchange;
  const bool is_uneven = exchange.call.uneven != nullptr;
  const auto mine = static_cast<std::size_t>(exchange.block_for(me_));
  std::uint64_t address = 0;
  std::memcpy(&address, addresses(exchange, giver) + (is_uneven ? mine * sizeof address : 0),
              sizeof address);
  if (!is_uneven) address += mine * static_cast<std::uint64_t>(exchange.call.block);
  const types::Buffer into = exchange.taken(giver).part(0, bytes_from(exchange, giver));
  alignas(kCacheLine) std::byte through[kThrough];
  const bool is_straight = into.is_contiguous();
  const Count most = is_straight ? static_cast<Count>(kMostCopied) : kThrough;
  Count& at = exchange.read;
  bool is_read = true;
  for (Count bytes = 0; at < into.bytes && is_read; at += bytes) {
    if (has_copied_much()) return pause();
    bytes = std::min(most, into.bytes - at);
    const auto length = static_cast<std::size_t>(bytes);
    is_read = transport::read_neighbour(segment_, {local_of(me_), local_of(giver)},
                                        address + static_cast<std::uint64_t>(at),
                                        {is_straight ? into.at() + at : through, length})
                  .has_value();
    if (is_read && !is_straight) unpack(into, at, through, bytes);
    copied_ += length;
  }
  at = 0;
  return is_read ? Code::ok : Code::other;
}

void ShmTeam::tell_span(const Exchange& exchange) {
  if (!exchange.is_timed) return;
  Span& span = control(me_).spans[number_ % kSpans];
  // relaxed: `number` tells of them.
  span.heard_ns.store(exchange.heard_ns, std::memory_order_relaxed);
  span.ended_ns.store(is_new_ ? 0 : now_ns(), std::memory_order_relaxed);
  // release: pairs with judge_turns().
  span.number.store(number_, std::memory_order_release);
}

}  // namespace tutti::delegate
