// Long copies go piece by piece: a step ends after some, and messages move between them.
#include <algorithm>

#include "members.h"

using namespace tutti;
using namespace tutti::test;
using delegate::BlockReads;
using delegate::StepResult;

namespace {

constexpr Count kLong = 8 << 20;  // bytes of a block
constexpr auto kPieces = kLong / static_cast<Count>(transport::kMostReadAtOnce);

// What the hook of progress looks at while a call is under way: the ends of a block that is filled
// with other bytes.
struct Watched {
  const std::byte* first = nullptr;
  const std::byte* last = nullptr;
  std::byte before{};
  int in_the_middle = 0;  // moves of messages while only a part was there
};
thread_local Watched watched;

delegate::Waiting watching(int) {
  delegate::Waiting how = waiting();
  how.progress = [](void*) {
    if (watched.first != nullptr && *watched.first != watched.before &&
        *watched.last == watched.before)
      ++watched.in_the_middle;
    return 0;
  };
  return how;
}

TeamCall allgather(std::vector<std::byte>& own, std::vector<std::byte>& all) {
  TeamCall call;
  call.collective = Collective::allgather;
  call.block = static_cast<Count>(own.size());
  call.from = Buffer::plain(own.data(), call.block);
  call.into = Buffer::plain(all.data(), static_cast<Count>(all.size()));
  return call;
}

// Watches the block of `giver` fill in an allgather; how often messages moved in the middle, or -1.
int moves_in_the_middle(Team& team, int rank, int giver) {
  std::vector<std::byte> own(static_cast<std::size_t>(kLong), std::byte(rank + 1));
  std::vector<std::byte> all(2 * own.size());
  const std::byte* const block = all.data() + static_cast<std::size_t>(giver) * own.size();
  watched = {block, block + own.size() - 1, std::byte{0}, 0};
  const Code code = team.run(allgather(own, all));
  watched.first = nullptr;
  return code == Code::ok && *block == std::byte(giver + 1) && block[own.size() - 1] == *block
             ? watched.in_the_middle
             : -1;
}

}  // namespace

// Of the other's block, which is read or comes in rounds, and of the own one.
TEST_CASE("a step ends when it has copied for long", "[delegate][pieces]") {
  for (const BlockReads single_copy : {BlockReads::on, BlockReads::off})
    for (const Collective collective : {Collective::allgather, Collective::alltoall}) {
      Members members(2);
      auto teams = members.team(single_copy);
      prove(teams);
      Everyone call(teams, collective, kLong / 4, 0);
      for (const int member : {0, 1}) call.begin(member);
      int steps = 0, moved = 0;
      for (bool is_over = false; !is_over && ++steps < kMostSteps;) {
        const StepResult mine = call.run(0).step(), others = call.run(1).step();
        moved += mine == StepResult::moved ? 1 : 0;
        is_over = mine == StepResult::over && others == StepResult::over;
      }
      INFO(static_cast<int>(collective) << ", reads " << static_cast<int>(single_copy));
      REQUIRE(call.is_right());
      CHECK(moved >= kPieces);
    }
}

TEST_CASE("messages move while a block is read, and while the own one is moved",
          "[delegate][pieces]") {
  run_team(2,
           [](Team& team, int rank) {
             std::vector<std::byte> own(16 << 10), all(2 * own.size());
             for (int i = 0; i < 2; ++i)
               if (team.run(allgather(own, all)) != Code::ok || team.run(TeamCall{}) != Code::ok)
                 return false;
             return moves_in_the_middle(team, rank, 1 - rank) >= kPieces - 1 &&
                    moves_in_the_middle(team, rank, rank) >= kPieces - 1;
           },
           {.single_copy = BlockReads::on, .reader = [](int) { return true; }, .how = &watching});
}

// Nobody waits for the other here for longer than it looks.
TEST_CASE("messages move while blocks go through the chunks and nobody waits",
          "[delegate][pieces]") {
  run_team(
      2,
      [](Team& team, int rank) { return moves_in_the_middle(team, rank, 1 - rank) >= kPieces - 1; },
      {.looks = 1'000'000'000, .how = &watching});
}

// Its own blocks are long; of what travels all is short, or what member 0 gives is long, too.
TEST_CASE("a long own block of a v form goes in pieces, and all others come right",
          "[delegate][pieces]") {
  const Count stride = GENERATE(1, 2);  // bytes from one element to the next
  const Count given = GENERATE(Count{24}, kLong);
  const BlockReads single_copy = GENERATE(BlockReads::off, BlockReads::on);
  const types::TypeRef spaced = *types::make_resized(*types::predefined_type(0x247), 0, stride);
  Members members(2);
  auto teams = members.team(single_copy);
  prove(teams);
  const types::Devices devices{};
  const std::vector<Count> sent[] = {{kLong, given}, {24, kLong}};
  const std::vector<Count> received[] = {{kLong, 24}, {given, kLong}};
  const auto displs = [](const std::vector<Count>& counts) {
    return std::vector<Count>{0, counts[0]};
  };
  const std::vector<Count> sent_at[] = {displs(sent[0]), displs(sent[1])};
  const std::vector<Count> received_at[] = {displs(received[0]), displs(received[1])};
  std::vector<std::vector<std::byte>> from, into;
  std::vector<delegate::Uneven> sides;
  for (int member = 0; member < 2; ++member) {
    const auto bytes = [stride](const std::vector<Count>& counts) {
      return static_cast<std::size_t>((counts[0] + counts[1]) * stride);
    };
    from.emplace_back(bytes(sent[member]), std::byte(member + 1));
    into.emplace_back(bytes(received[member]));
    sides.push_back(
        {{from.back().data(), spaced.get(), sent[member], sent_at[member], {}, &devices},
         {into.back().data(), spaced.get(), received[member], received_at[member], {}, &devices}});
  }
  std::vector<TeamCall> calls(2);
  std::vector<std::unique_ptr<delegate::TeamRun>> runs;
  for (std::size_t member = 0; member < 2; ++member) {
    calls[member].collective = Collective::alltoallv;
    calls[member].uneven = &sides[member];
    runs.push_back(teams[member]->begin(calls[member]));
  }
  int steps = 0;
  while (runs[0]->step() != StepResult::over && steps < kMostSteps) runs[1]->step(), ++steps;
  CHECK(steps >= kPieces - 1);
  while (runs[1]->step() != StepResult::over && ++steps < kMostSteps) {
  }
  for (std::size_t member = 0; member < 2; ++member) {
    REQUIRE(runs[member]->code() == Code::ok);
    for (std::size_t giver = 0; giver < 2; ++giver) {
      const auto first = into[member].begin() + received_at[member][giver] * stride;
      const Count bytes = received[member][giver];
      CHECK(std::count(first, first + bytes * stride, std::byte(giver + 1)) == bytes);
    }
  }
}
