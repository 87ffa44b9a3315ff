// GiverEntry: what a giver's entry says of its blocks when they go in rounds or have their own
// sizes.
//
//   word      a size, and how the blocks go (below)
//   payload   blocks that are alike: the address of what is given, where that can be read
//             blocks of their own sizes, one for each member: a table of the sizes, then either the
//             blocks themselves or, where those go in rounds, a table of their addresses
#pragma once

#include "delegate/shm/exchange.h"
#include "delegate/shm/members.h"

namespace tutti::delegate {

// In an entry's word, besides sizes. It goes through the chunks; or is read where it lies, if that
// is chosen; that is chosen; all say what it takes. Its rounds lie in a turn's cell; the second.
inline constexpr std::uint64_t kInRounds = std::uint64_t{1} << 63, kReadable = kInRounds >> 1,
                               kDirect = kInRounds >> 2, kTimed = kInRounds >> 3,
                               kInTurn = kInRounds >> 4, kSecondTurn = kInRounds >> 5;

inline Count size_in(std::uint64_t word) {
  return static_cast<Count>(word &
                            ~(kInRounds | kReadable | kDirect | kTimed | kInTurn | kSecondTurn));
}

class GiverEntry {
 public:
  GiverEntry(const Members& members, const BlockExchange& exchange, int giver)
      : members_(members), exchange_(exchange), entry_(members.entry(giver)) {}

  // Of sizes, and of addresses where that fits, too.
  static std::size_t tables_bytes(const Members& members);
  bool is_in_rounds() const { return (entry_.word & kInRounds) != 0; }
  // Uneven: bytes to this member, as the giver says.
  Count bytes_said() const;
  // A block may be shorter than the room for it.
  Count bytes() const {
    return exchange_.call.uneven == nullptr ? exchange_.call.block : bytes_said();
  }
  // Uneven, in the entry itself: whether its sizes are those of this call, where ranks that differ
  // go on.
  bool is_sound() const;
  // The block in it for this member.
  std::byte* block() const;
  // Where the giver says its addresses: of uneven blocks behind the table of their sizes. Null:
  // both have no room.
  std::byte* addresses() const;

 private:
  const Members& members_;
  const BlockExchange& exchange_;
  AreaEntry& entry_;
};

}  // namespace tutti::delegate
