// Chunks: rounds laid out, claimed, filled and told of.
#include "delegate/shm/chunks.h"

#include <algorithm>
#include <utility>

namespace tutti::delegate {
namespace {

constexpr Count kLine = static_cast<Count>(kCacheLine);
// Of a round. Between distant cores to tell of a part takes as long as to copy 8 KiB (record 0071).
// Parts of 128 KiB were faster there, and slower where a cache is shared (record 0065).
constexpr Count kLeastPart = 8 << 10;
constexpr Count kMostPart = 64 << 10;

}  // namespace

Chunks::Chunks(Members& members) : members_(members) {
  const std::size_t all = members.geometry().chunk_bytes / kLeastDepth / kCacheLine * kCacheLine;
  if (members.size() != 2) return;
  cell_bytes_ = std::min(all, static_cast<std::size_t>(kMostPart));
  if (all <= cell_bytes_) return;
  turn_bytes_ = 4 * cell_bytes_;
  const std::size_t returning = static_cast<std::size_t>(kReturning) * cell_bytes_;
  if (ring_bytes() >= returning + kLeastDepth * cell_bytes_) returning_bytes_ = returning;
  holds_turn_[static_cast<std::size_t>(members.me())] = true;
}

// Calls use the chunks in turn, as frames do a lane's ring and for the same reason: what is written
// has left the readers' caches (transport/shm/lane.h). So a giver may be calls ahead; only where
// they begin again, all calls before must be over.
Code Chunks::claim(Count bytes, int reader) {
  const auto wanted = static_cast<std::size_t>(bytes);
  const bool begins_again = from_ + used_ + wanted > ring_bytes();
  if (begins_again)
    if (const Code code = members_.await_end_of_all(last_call_); code != Code::ok) return code;
  in_cells_ = in_turn_ = false;
  last_call_ = members_.number();
  from_ = begins_again ? 0 : from_ + used_;
  used_ = wanted;
  reader_ = reader;
  return Code::ok;
}

// Nobody else reads or writes there. The cell that came last first: more of it is in the cache.
std::optional<int> Chunks::give_turn(Count bytes) {
  if (static_cast<std::size_t>(bytes) > turn_bytes_) return std::nullopt;
  const int cell = holds_turn_[static_cast<std::size_t>(last_turn_)] ? last_turn_ : 1 - last_turn_;
  if (!std::exchange(holds_turn_[static_cast<std::size_t>(cell)], false)) return std::nullopt;
  last_turn_ = cell;
  in_turn_ = true;
  return cell;
}

// It gives there in a later call, when it has ended this one; not where the other is in another
// call, and may write there for longer.
void Chunks::take_turn(int cell, Count bytes) {
  if (static_cast<std::size_t>(bytes) > turn_bytes_) return;  // said by a rank that runs wild
  if (!members_.do_calls_differ()) holds_turn_[static_cast<std::size_t>(cell)] = true;
  last_turn_ = cell;
  in_turn_ = true;
}

void Chunks::claim_cells() {
  in_cells_ = true;
  in_turn_ = false;
  way_ = {};
}

// As a rule it is known: the other gives in turn, and has taken before it does.
Code Chunks::begin_cell(Count round) {
  std::uint64_t& given = given_[(cell_rounds_ + static_cast<std::uint64_t>(round)) % given_.size()];
  if (given > known_read_) {
    const Code code = members_.await(members_.control(1 - members_.me()).read, given);
    if (code != Code::ok) return code;
    known_read_ = given;
  }
  given = rounds_ + static_cast<std::uint64_t>(round) + 1;
  return Code::ok;
}

void Chunks::tell(std::atomic<std::uint64_t>& counter, Count rounds) {
  // release: pairs with the acquire in await().
  counter.store(rounds_ + static_cast<std::uint64_t>(rounds), std::memory_order_release);
  members_.wake_others();
}

// Who only takes can do so while others give, in quarters at least. Where all do both there is
// nothing to gain by that, and each part costs a wait.
Chunks::Rounds Chunks::rounds_of(Count bytes, Count pieces, const Kept& kept, bool one_way) const {
  const Count whole = (bytes + kLine - 1) / kLine * kLine;
  const Count quarter = (bytes / 4 + kLine - 1) / kLine * kLine;
  const Count all = static_cast<Count>(ring_bytes()) / pieces;
  const Count wanted = std::clamp(one_way ? quarter : whole, kLeastPart, kMostPart);
  const bool in_cells = cell_bytes_ > 0 && !one_way;
  const Count most = in_cells ? static_cast<Count>(cell_bytes_)
                              : all / static_cast<Count>(kept.least) / kLine * kLine;
  const Count part = std::min({wanted, whole, most});
  return {part, (bytes + part - 1) / part, std::min(all / part, static_cast<Count>(kept.most)),
          in_cells};
}

void Chunks::begin_round(Count round, Count depth, Count part) {
  part_ = static_cast<std::size_t>(part);
  way_ = {};
  if (in_turn_) return;
  // Ranks that share a core share its cache, which serves best. Pages that are new say nothing of
  // the stores.
  const bool is_new = touch(round, depth);
  if (!members_.is_oversubscribed() && !is_new && part_ >= kLeastPaced)
    way_ = pace_.way_for(part_, members_.control(reader_).paces);
}

// What was begun is there. How it was written stands in the line that says so: written before, that
// line would be taken from who looks at it twice. Nor is it read here.
void Chunks::tell_filled(Count round, bool has_data) {
  const std::uint64_t way = has_data ? way_.told() : kNoData;
  told_ = (told_ & ~(std::uint64_t{kNoData} << told_at(round))) | way << told_at(round);
  Filled& mine = members_.filled(members_.me());
  mine.told.store(told_, std::memory_order_relaxed);  // relaxed: `rounds` tells of it
  tell(mine.rounds, round + 1);
}

// Whether a round goes to pages of our chunks that we never wrote to.
bool Chunks::touch(Count round, Count depth) {
  constexpr std::size_t kPage = 4096;
  if (round >= depth) return false;
  touched_.resize(ring_bytes() / kPage + 1);
  const std::size_t bytes = used_ / static_cast<std::size_t>(depth);
  const std::size_t from = from_ + static_cast<std::size_t>(round) * bytes;
  bool is_new = false;
  for (std::size_t page = from / kPage; page * kPage < from + bytes; ++page) {
    is_new = is_new || !touched_[page];
    touched_[page] = true;
  }
  return is_new;
}

void Chunks::put(std::byte* to, const std::byte* from, Count bytes) {
  members_.count_copied(static_cast<std::size_t>(bytes));
  pace_.copy(way_, to, from, static_cast<std::size_t>(bytes), part_);
}

}  // namespace tutti::delegate
