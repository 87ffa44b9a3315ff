// A transport for tests that behaves as badly as a transport may: it delays frames, lets peers
// overtake each other (frames of one pair only as a bulk link), fills up, splits work over many
// rounds, and loses peers. Deterministic by seed. Ranks may be driven by one thread or by one each.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "fake_lender.h"
#include "transport/transport.h"

namespace tutti::test {

struct FakeOptions {
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::string name = "fake";
  std::uint64_t seed = 1;
  // A bulk link, by these traits; its frames overtake each other, and what is placed comes late.
  std::size_t bulk_from = transport::kNever;
  bool is_rail = false;  // one of several alike, beside the ordered link of the same name
  MemoryKinds kinds = kinds_of(MemoryKind::host);
  bool is_reachable = true;   // else connect() fails
  int longest_delay = 0;      // a frame is held back for 0..this many rounds
  std::size_t capacity = 64;  // frames under way per ordered pair; more: try_post says no
  int refuse_percent = 0;     // try_post says no this often though there is room
  std::size_t max_frame = 4096;
  std::size_t eager_bytes = 1024;
  bool gets = false;
  std::size_t get_from = 64 << 10;
  bool gets_are_judged = false;
  int get_delay = 0;                 // rounds until a get is done
  bool get_fails = false;            // get returns an error
  std::size_t get_fails_at = kNone;  // at this offset and beyond, when it is done
  bool puts = false;                 // and atomics
  int put_delay = 0;                 // each is written after 0..this many rounds
  std::size_t key_bytes = 24;        // of a region, at least that
  bool places = true;                // asks place() for frames from 512 bytes on
  std::size_t lends = 0;             // bytes of such frames that a rank may keep at one time
  bool late_done = false;            // a pinned payload is read at delivery, done fires then
  // Kinds of memory that its links move themselves, and where the test sees an address of such.
  MemoryKinds moves = kinds_of(MemoryKind::host);
  std::function<std::byte*(const void*)> seen = {};
  // The copy of that number, out of such memory and into it counted together, fails: both ends lose
  // their link, as by UCX.
  std::size_t copy_fails_at = kNone;
  std::size_t throws_at = kNone;  // posting the frame of that number
};

// Few frames fit, they are held back, and many are refused.
inline FakeOptions full_and_slow() {
  FakeOptions options;
  options.capacity = 2;
  options.longest_delay = 3;
  options.refuse_percent = 30;
  return options;
}

// What joins the fake transports of one test; outlives them.
class FakeNet {
 public:
  FakeNet(int ranks, const FakeOptions& options);
  ~FakeNet();
  // The transport of one rank; delivers to `sink`. `numbers`: what that rank calls each of the
  // net's, where it knows them by other numbers.
  std::unique_ptr<transport::Transport> open(int rank, transport::Sink* sink,
                                             std::vector<int> numbers = {});
  // From now on nothing passes from or to `rank`; all others are told at their next progress.
  // What `rank` had sent before is delivered first.
  void lose(int rank);
  // All others hear at their next progress that `rank` has ended, as by a transport that has no
  // connection with it.
  void tell_ended(int rank);
  std::uint64_t frames(bool only_pieces = false) const;  // posted so far, all ranks
  std::uint64_t overtaken() const;  // frames that were delivered before an earlier one
  const FakeLoans& lent() const;    // to all ranks
  // That are exposed, or imported, now; and all reads of them so far.
  int regions() const;
  int remotes() const;
  std::uint64_t gets() const;
  std::uint64_t copies() const;  // out of and into memory that is not the host's
  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace tutti::test
