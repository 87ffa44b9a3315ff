// What the fake transports of one test share. Private to the fake transport.
#pragma once

#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "fake_flying.h"
#include "fake_lender.h"
#include "fake_memory.h"
#include "fake_transport.h"

namespace tutti::test {

struct FakeNet::State {
  State(int count, const FakeOptions& given)
      : ranks(count),
        options(given),
        random(given.seed),
        flying(static_cast<std::size_t>(count * count)),
        finished(static_cast<std::size_t>(count)),
        lost(static_cast<std::size_t>(count)),
        ended(static_cast<std::size_t>(count), -1) {}

  std::deque<Flying>& between(int from, int to) {
    return flying[static_cast<std::size_t>(from * ranks + to)];
  }
  int draw(int limit) {  // 0..limit
    return limit <= 0 ? 0 : static_cast<int>(random() % static_cast<std::uint64_t>(limit + 1));
  }

  std::mutex mutex;
  int ranks;
  FakeOptions options;
  std::mt19937_64 random;
  std::vector<std::deque<Flying>> flying;
  std::vector<std::vector<Done*>> finished;  // by sender: payloads that may be changed again
  std::vector<bool> lost;
  std::vector<int> ended;  // by rank, who it is to be told of; -1: nobody
  std::uint64_t frames = 0;
  std::uint64_t overtaken = 0;
  FakeLoans loans;
  FakeMemory memory{options};
  // Between two ranks a copy has failed: what both are told, and by rank whom of them.
  struct Break {
    int one = -1, other = -1;
    std::string text;
  } cut;
  std::uint64_t copies = 0, pieces = 0;
  // Whom this rank lost its link with; -1: nobody.
  int lost_by(int rank) const {
    return cut.one == rank ? cut.other : cut.other == rank ? cut.one : -1;
  }

  // Once one of them finds no memory.
  void count_frame(bool is_piece) {
    pieces += is_piece ? 1 : 0;
    if (frames++ == options.throws_at) throw std::bad_alloc();
  }
  // Where the test may touch it.
  std::byte* open(const Memory& at) const {
    return at.kind == MemoryKind::host ? static_cast<std::byte*>(at.data) : options.seen(at.data);
  }
  // Locked. A payload that is copied at one end of a link. False: the copy fails.
  bool copy(void* into, const void* from, const Memory& place, const Break& ends) {
    if (place.kind != MemoryKind::host && copies++ == options.copy_fails_at) {
      cut = ends;
      return false;
    }
    std::memcpy(into, from, place.bytes);
    return true;
  }
};

}  // namespace tutti::test
