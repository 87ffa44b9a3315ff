// Long blocks that are read where they lie: what cannot be read, who fails, who waits for whom.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "base/check.h"
#include "members.h"
#include "rounds.h"

using namespace tutti;
using namespace tutti::test;
using delegate::BlockReads;
using delegate::StepResult;

namespace {

constexpr Collective kRead[] = {
    Collective::bcast,     Collective::gather,     Collective::scatter,
    Collective::allgather, Collective::alltoall,   Collective::gatherv,
    Collective::scatterv,  Collective::allgatherv, Collective::alltoallv};

bool is_for_root(Collective collective) {
  return collective == Collective::gather || collective == Collective::gatherv;
}
bool is_for_all(Collective collective) {
  return collective == Collective::allgather || collective == Collective::alltoall ||
         collective == Collective::allgatherv || collective == Collective::alltoallv;
}

// For a call of three whose blocks are all of so many ints or, of drawn sizes, of half as many at
// least (of an alltoallv those from and to member 0); not in place, without gaps.
Count many(Collective collective, Count least) {
  if (!coll::is_v_form(collective)) return least;
  const std::vector<int> keys = collective == Collective::alltoallv
                                    ? std::vector<int>{1, 2, 37, 2 * 37}
                                    : std::vector<int>{0, 1, 2};
  for (Count count = least; count < 2 * least; ++count)
    if (count % 3 != 0 && count % 5 != 1 && std::all_of(keys.begin(), keys.end(), [&](int key) {
          return size_drawn(count, key) >= least / 2;
        }))
      return count;
  TUTTI_CHECK(false, "no count has such sizes");
  return 0;
}

// Pages, of which some may not be touched.
class Pages {
 public:
  Pages(std::size_t count, int fd)
      : bytes_(count * kPage),
        at_(static_cast<std::byte*>(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                                           fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd,
                                           0))) {
    TUTTI_CHECK(static_cast<void*>(at_) != MAP_FAILED, "no memory to map");
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { ::munmap(at_, bytes_); }
  void forbid(std::size_t page) {
    TUTTI_CHECK(::mprotect(at_ + page * kPage, kPage, PROT_NONE) == 0, "a page stays open");
  }
  std::byte* at(std::size_t page) const { return at_ + page * kPage; }

  static constexpr std::size_t kPage = 4096;

 private:
  std::size_t bytes_;
  std::byte* at_;
};

TeamCall bcast(const Buffer& what) {
  TeamCall call;
  call.collective = Collective::bcast;
  call.into = what;
  call.block = what.bytes;
  return call;
}

}  // namespace

// Some members' blocks cannot be read, some have gaps to fill: those go through the chunks. What a
// giver gave is written over as soon as its call is back.
TEST_CASE("long blocks are read where they lie", "[delegate][direct]") {
  for (const BlockReads single_copy : {BlockReads::on, BlockReads::judged})
    for (const int size : {2, 3, 8})
      run_team(size,
               [size](Team& team, int rank) {
                 std::mt19937 calls(5), own(static_cast<unsigned>(rank));
                 Mixer mixer(team, rank, size);
                 mixer.may_have_gaps = [&own] { return own() % 3 == 0; };
                 for (int i = 0; i < rounds(400) / size; ++i) {
                   const Collective collective = kServed[calls() % std::size(kServed)];
                   const Count count = i % 3 == 0 ? calls() % 100 : 2000 + calls() % 60'000;
                   const int root = static_cast<int>(calls() % static_cast<unsigned>(size));
                   if (!mixer.run(collective, count, root)) return false;
                   mixer.scribble();
                 }
                 return true;
               },
               {.single_copy = single_copy});
}

// Before that what goes through the chunks shows nothing: pages are new, and stores are tried.
TEST_CASE("the first trial waits until the chunks' own stores have been judged",
          "[delegate][direct]") {
  constexpr Count kInts = 64 << 10;
  run_team(2,
           [](Team& team, int rank) {
             Mixer mixer(team, rank, 2);
             for (std::uint32_t i = 0; i < Pace::turns_unsettled(kInts * sizeof(int)); ++i) {
               if (!mixer.run(Collective::barrier, 0, 0)) return false;
               if (!mixer.run(Collective::gather, kInts, 0)) return false;
             }
             return true;
           },
           {.single_copy = BlockReads::judged, .may_read = false});
}

// Its trials come without a clock: after so many calls of a size.
TEST_CASE("a team's first member, or its root, tries both ways of every form and size",
          "[delegate][direct]") {
  Combinations combinations;
  for (const Collective collective : kRead) {
    if (!combinations.takes_next()) continue;
    run_team(3,
             [collective](Team& team, int rank) {
               Mixer mixer(team, rank, 3);
               const Count count = many(collective, 100'000);
               const auto unsettled = static_cast<int>(
                   Pace::turns_unsettled(static_cast<std::size_t>(count) * sizeof(int) / 2));
               for (int i = 0; i < 60 + unsettled + static_cast<int>(Judge::kFew); ++i) {
                 // All prove that they read, however late they come.
                 if (!mixer.run(Collective::barrier, 0, 0)) return false;
                 if (!mixer.run(collective, count, 1)) return false;
                 mixer.scribble();
               }
               return true;
             },
             {.single_copy = BlockReads::judged, .reader = [collective](int rank) {
                return is_for_root(collective) ? rank == 1 : rank != 1 || is_for_all(collective);
              }});
  }
}

TEST_CASE("nothing is read where single copy is off", "[delegate][direct]") {
  Members members(2);
  auto teams = members.team(BlockReads::off);
  prove(teams);
  for (int member = 0; member < 2; ++member)
    CHECK(answer_of(*members.wireups[0], members.area, member) == 0);
}

TEST_CASE("who gives stays in the call until its readers are done", "[delegate][direct]") {
  for (const Collective collective : kRead) {
    Members members(3);
    auto teams = members.team(BlockReads::on);
    prove(teams);
    const bool goes_to_root = is_for_root(collective);
    const int giver = goes_to_root ? 1 : 0, last = goes_to_root ? 0 : 2;
    Everyone call(teams, collective, many(collective, 50'000), 0);
    for (int member = 0; member < 3; ++member) call.begin(member);
    for (int i = 0; i < 50; ++i)
      for (int member = 0; member < 3; ++member)
        if (member != last) call.run(member).step();
    CHECK(call.run(giver).step() == StepResult::waits);
    REQUIRE(call.finish({0, 1, 2}));
    CHECK(call.is_right());
    CHECK(answer_of(*members.wireups[0], members.area, last) > 0);
  }
}

// It says no word in such a call; what it said in an earlier one still stands in its entry.
TEST_CASE("who only takes waits for no other reader", "[delegate][direct]") {
  Members members(3);
  auto teams = members.team(BlockReads::on);
  for (std::uint64_t i = 0; i < delegate::kEntries; ++i) {
    Everyone before(teams, Collective::allgather, many(Collective::allgather, 50'000), 0);
    for (int member = 0; member < 3; ++member) before.begin(member);
    REQUIRE(before.finish({0, 1, 2}));
  }
  Everyone call(teams, Collective::bcast, many(Collective::bcast, 50'000), 0);
  for (int member = 0; member < 3; ++member) call.begin(member);
  for (int i = 0; i < 50; ++i)
    for (const int member : {0, 1}) call.run(member).step();
  CHECK(call.run(1).step() == StepResult::over);
  REQUIRE(call.finish({0, 1, 2}));
  CHECK(call.is_right());
}

// As if the giver's process were another one now.
TEST_CASE("blocks that cannot be read come through the chunks, and later ones, too",
          "[delegate][direct]") {
  Combinations combinations;
  for (const Collective collective : kRead)
    for (const Count least : {5'000, 100'000, 400'000}) {
      if (!combinations.takes_next()) continue;
      Members members(3);
      auto teams = members.team(BlockReads::on);
      prove(teams);
      const Count count = many(collective, least);
      const int giver = is_for_root(collective) ? 2 : 1;
      const int reader = is_for_root(collective) ? 1 : 0;
      members.words[Members::at(giver)].reset();
      std::uint64_t answer = 0;
      for (int i = 0; i < 3; ++i) {
        Everyone call(teams, collective, count, 1);
        for (int member = 0; member < 3; ++member) call.begin(member);
        REQUIRE(call.finish({0, 1, 2}));
        INFO(static_cast<int>(collective) << ", " << count << " ints, call " << i);
        REQUIRE(call.is_right());
        // In the first call it was tried; later nobody reads.
        const std::uint64_t now = answer_of(*members.wireups[0], members.area, reader);
        CHECK(now % 2 == 1);
        if (i > 0) CHECK(now == answer);
        answer = now;
      }
    }
}

// The kernel lets nobody else read such memory; half of the block is of that kind.
TEST_CASE("a read that ends in the middle is made good through the chunks", "[delegate][direct]") {
  const int fd = static_cast<int>(::syscall(SYS_memfd_secret, 0));
  if (fd < 0) {
    WARN("skipped: there is no memory here that only its owner can read (memfd_secret)");
    return;
  }
  constexpr std::size_t kPages = 64;
  REQUIRE(::ftruncate(fd, kPages * Pages::kPage) == 0);
  const Pages secret(kPages, fd);
  ::close(fd);
  REQUIRE(::mmap(secret.at(0), kPages / 2 * Pages::kPage, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == secret.at(0));
  std::memset(secret.at(0), 42, kPages * Pages::kPage);
  Members members(2);
  auto teams = members.team(BlockReads::on);
  prove(teams);
  std::vector<std::byte> taken(kPages * Pages::kPage);
  const auto bytes = static_cast<Count>(taken.size());
  const TeamCall give = bcast(Buffer::plain(secret.at(0), bytes));
  const TeamCall take = bcast(Buffer::plain(taken.data(), bytes));
  const auto giver = teams[0]->begin(give), taker = teams[1]->begin(take);
  int steps = 0;
  while (taker->step() != StepResult::over && ++steps < kMostSteps) giver->step();
  REQUIRE(steps < kMostSteps);
  CHECK(taker->code() == Code::ok);
  CHECK(giver->step() == StepResult::over);
  CHECK(std::all_of(taken.begin(), taken.end(), [](std::byte b) { return b == std::byte{42}; }));
  CHECK(answer_of(*members.wireups[0], members.area, 1) % 2 == 1);
}

// Gaps are pages that nobody may touch, on the giver's side, the taker's, or both; the rest ends at
// such a page.
TEST_CASE("memory beside and between blocks is not touched", "[delegate][direct]") {
  constexpr std::size_t kBlocks = 20;
  constexpr auto kBytes = static_cast<int>(Pages::kPage);
  auto strided = *types::make_vector(kBlocks, kBytes, 2 * kBytes, *types::predefined_type(0x247));
  const auto memory = [&](Pages& pages, bool has_gaps) {
    if (has_gaps)
      for (std::size_t page = 1; page < 2 * kBlocks; page += 2) pages.forbid(page);
    else
      pages.forbid(kBlocks);
    return has_gaps ? Buffer::whole(pages.at(0), 1, *strided)
                    : Buffer::plain(pages.at(0), kBlocks * kBytes);
  };
  for (const bool gives_gaps : {false, true})
    for (const bool takes_gaps : {false, true})
      run_team(2,
               [&](Team& team, int rank) {
                 for (int turn = 0; turn < 4; ++turn) {
                   Pages pages(2 * kBlocks, -1);
                   const bool has_gaps = rank == 0 ? gives_gaps : takes_gaps;
                   const TeamCall call = bcast(memory(pages, has_gaps));
                   const auto place = [&](std::size_t block) {
                     return pages.at(has_gaps ? 2 * block : block);
                   };
                   for (std::size_t block = 0; block < kBlocks && rank == 0; ++block)
                     std::memset(place(block), static_cast<int>(block) + turn, Pages::kPage);
                   if (team.run(TeamCall{}) != Code::ok || team.run(call) != Code::ok) return false;
                   for (std::size_t block = 0; block < kBlocks; ++block)
                     for (std::size_t i = 0; i < Pages::kPage; ++i)
                       if (place(block)[i] != static_cast<std::byte>(block + turn)) return false;
                 }
                 return true;
               },
               {.single_copy = BlockReads::on,
                .reader = [&](int rank) { return rank == 1 && !gives_gaps; }});
}

// Through the chunks, and read where blocks lie: one who gives up or dies leaves nobody waiting.
TEST_CASE("every form is cancelled or loses a member in the middle", "[delegate][direct]") {
  Combinations combinations;
  for (const BlockReads single_copy : {BlockReads::off, BlockReads::on})
    for (const Collective collective : kServed)
      for (const int steps_before : {0, 2, 5, 11})
        for (const bool dies : {false, true}) {
          if (!combinations.takes_next()) continue;
          Members members(3);
          auto teams = members.team(single_copy);
          Everyone first(teams, Collective::allgather, 5'000, 0);  // all have proved reading then
          Everyone call(teams, collective, 300'000, 0);
          Everyone last(teams, Collective::barrier, 0, 0);
          for (int member = 0; member < 3; ++member)
            first.begin(member), call.begin(member), last.begin(member);
          REQUIRE(first.finish({0, 1, 2}));
          REQUIRE(first.is_right());
          for (int i = 0; i < steps_before; ++i) call.run(i % 3).step();
          if (dies)
            members.wireups[0]->segment().rank(1).gone.store(1, std::memory_order_release);
          else
            teams[1]->cancel(Code::proc_aborted);
          INFO(static_cast<int>(collective) << " after " << steps_before << ", dies " << dies);
          REQUIRE(last.finish({0, 2}));
          for (const int member : {0, 2}) CHECK(last.run(member).code() == Code::proc_aborted);
        }
}
