// Two members that give to each other through cells (delegate/shm/chunks.h): what one gives stays
// as it is until the other has read it, whichever of them is ahead.
#include <algorithm>
#include <array>
#include <random>

#include "members.h"
#include "rounds.h"

using namespace tutti;
using namespace tutti::test;
using delegate::BlockReads;
using delegate::StepResult;

namespace {

constexpr Count kPart = 64 << 10;  // of a round
constexpr int kBytesType = 0x247;  // MPI_BYTE

std::byte fill_of(std::size_t call, int giver, Count at) {
  return std::byte(7 * call + 3 * static_cast<std::size_t>(giver) +
                   static_cast<std::size_t>(at / 4096) + 1);
}

// Bytes that the two give each other, a call each.
using Plan = std::vector<std::array<Count, 2>>;

// One member's way through the calls of a plan.
class Walker {
 public:
  Walker(Team& team, int me, const Plan& plan) : team_(team), me_(me), plan_(plan) {}

  bool is_over() const { return call_ == plan_.size(); }
  std::size_t call() const { return call_; }
  // False: it has to wait.
  bool step() {
    if (run_ == nullptr) begin();
    const StepResult result = run_->step();
    if (result == StepResult::over) end();
    return result != StepResult::waits;
  }

 private:
  Count given() const { return plan_[call_][static_cast<std::size_t>(me_)]; }
  Count taken() const { return plan_[call_][static_cast<std::size_t>(1 - me_)]; }
  void begin() {
    from_.assign(static_cast<std::size_t>(given()) + 1, std::byte{});
    for (Count at = 0; at < given(); ++at)
      from_[static_cast<std::size_t>(at)] = fill_of(call_, me_, at);
    into_.assign(static_cast<std::size_t>(taken()) + 1, std::byte{});
    const auto other = static_cast<std::size_t>(1 - me_);
    counts_ = {};
    counts_[0][other] = given();
    counts_[1][other] = taken();
    const types::Datatype* const bytes = types::predefined_type(kBytesType);
    sides_ = {{from_.data(), bytes, counts_[0], starts_, {}, &devices_},
              {into_.data(), bytes, counts_[1], starts_, {}, &devices_}};
    the_call_.collective = Collective::alltoallv;
    the_call_.uneven = &sides_;
    run_ = team_.begin(the_call_);
  }
  void end() {
    REQUIRE(run_->code() == Code::ok);
    run_.reset();
    for (Count at = 0; at < taken(); ++at)
      if (into_[static_cast<std::size_t>(at)] != fill_of(call_, 1 - me_, at)) {
        INFO("member " << me_ << ", call " << call_ << ", byte " << at);
        REQUIRE(false);
      }
    std::ranges::fill(from_, std::byte{0xee});
    ++call_;
  }

  Team& team_;
  const int me_;
  const Plan& plan_;
  std::size_t call_ = 0;
  std::vector<std::byte> from_, into_;
  std::array<std::array<Count, 2>, 2> counts_{};
  static constexpr std::array<Count, 2> starts_{};
  const types::Devices devices_{};
  delegate::Uneven sides_{};
  TeamCall the_call_;
  std::unique_ptr<delegate::TeamRun> run_;
};

struct Next {
  Collective collective;
  Count count;
  int root;
};

// The same through calls of all kinds.
class Traveller {
 public:
  Traveller(Team& team, int me, const std::vector<Next>& plan, unsigned seed)
      : team_(team),
        plan_(plan),
        mixer_(team, me, 2),
        random_(2 * seed + static_cast<unsigned>(me)) {}

  bool is_over() const { return call_ == plan_.size(); }
  bool step() {
    if (run_ == nullptr) {
      mixer_.may_have_gaps = [this] { return random_() % 4 == 0; };
      const Next& next = plan_[call_];
      run_ = team_.begin(mixer_.prepare(next.collective, next.count, next.root));
    }
    const StepResult result = run_->step();
    if (result == StepResult::over) {
      INFO("call " << call_);
      REQUIRE(run_->code() == Code::ok);
      REQUIRE(mixer_.is_right());
      run_.reset();
      mixer_.scribble();
      ++call_;
    }
    return result != StepResult::waits;
  }

 private:
  Team& team_;
  const std::vector<Next>& plan_;
  Mixer mixer_;
  std::mt19937 random_;
  std::size_t call_ = 0;
  std::unique_ptr<delegate::TeamRun> run_;
};

// Both, now the one, now the other.
void travel(const std::vector<Next>& plan, unsigned seed, BlockReads single_copy) {
  std::mt19937 random(seed);
  Members members(2);
  auto teams = members.team(single_copy);
  prove(teams);
  std::array<Traveller, 2> both{Traveller{*teams[0], 0, plan, seed},
                                Traveller{*teams[1], 1, plan, seed}};
  for (int turns = 0; !both[0].is_over() || !both[1].is_over(); ++turns) {
    INFO("seed " << seed << ", reads " << static_cast<int>(single_copy));
    REQUIRE(turns < kMostSteps);
    Traveller& one = both[random() % 2];
    for (unsigned steps = random() % 2 == 0 ? 1 : 1000; steps > 0 && !one.is_over(); --steps)
      if (!one.step()) break;
  }
}

}  // namespace

TEST_CASE("who gives to a member that gives nothing waits until it has read", "[delegate][cells]") {
  Members members(2);
  auto teams = members.team();
  const Plan plan{{10 * kPart, 0}, {3 * kPart, 0}, {kPart, kPart}};
  Walker giver(*teams[0], 0, plan), taker(*teams[1], 1, plan);
  // The taker says how much it gives, and reads nothing yet.
  for (int i = 0; i < 2; ++i) taker.step(), giver.step();
  while (giver.step()) REQUIRE(giver.call() == 0);
  for (int steps = 0; !giver.is_over() || !taker.is_over(); ++steps) {
    REQUIRE(steps < kMostSteps);
    if (!giver.is_over()) giver.step();
    if (!taker.is_over()) taker.step();
  }
}

TEST_CASE("whichever of two members is ahead, blocks of all lengths come right",
          "[delegate][cells]") {
  for (const unsigned seed : seeds(20)) {
    std::mt19937 random(seed);
    constexpr std::array<Count, 6> kLengths{0, 20, 9'000, kPart, 2 * kPart + 64, 9 * kPart};
    Plan plan(30);
    for (auto& call : plan)
      for (Count& length : call) length = kLengths[random() % kLengths.size()];
    Members members(2);
    auto teams = members.team();
    Walker walkers[] = {{*teams[0], 0, plan}, {*teams[1], 1, plan}};
    for (int turns = 0; !walkers[0].is_over() || !walkers[1].is_over(); ++turns) {
      REQUIRE(turns < kMostSteps);
      Walker& walker = walkers[random() % 2];
      for (unsigned steps = random() % 2 == 0 ? 1 : 1000; steps > 0 && !walker.is_over(); --steps)
        if (!walker.step()) break;
    }
  }
}

// Where they would not agree whose entry lies where, the next call waits for ever, or reads another
// one's.
TEST_CASE("two members swap their entries alike, whatever one of them says", "[delegate][cells]") {
  enum class Said : std::uint8_t { the_same, nothing, another };
  run_team(2,
           [](Team& team, int rank) {
             std::mt19937 random(3);
             Mixer mixer(team, rank, 2);
             for (int i = 0; i < rounds(4000); ++i) {
               const Collective collective = kServed[random() % std::size(kServed)];
               const Count count = random() % 4 == 0 ? random() % 6000 : random() % 200;
               const int root = static_cast<int>(random() % 2);
               const int who = static_cast<int>(random() % 2);
               const auto said = static_cast<Said>(random() % 8 == 0 ? 1 + random() % 2 : 0);
               // Others are short ones, that end whatever the other calls.
               constexpr Collective kShort[] = {Collective::barrier, Collective::bcast,
                                                Collective::allgather, Collective::allreduce};
               const Collective one = kShort[random() % 4], two = kShort[random() % 4];
               const bool differs = said == Said::another;
               TeamCall call = mixer.prepare(!differs      ? collective
                                             : who == rank ? one
                                                           : two,
                                             differs ? count % 50 : count, root);
               // Also of calls that differ.
               const bool has_nothing = said == Said::nothing || (differs && count % 2 == 0);
               if (who == rank && has_nothing) call.fingerprint = delegate::kHasNothing;
               const Code code = team.run(call);
               if (said == Said::the_same && (code != Code::ok || !mixer.is_right())) return false;
             }
             return true;
           },
           {.how = [](int) {
             delegate::Waiting how = waiting();
             how.overlook = [](void*, std::string) {};
             return how;
           }});
}

// Blocks that are read where they lie, or given ahead and then not taken, among them.
TEST_CASE("two members that are calls apart agree on what lies where", "[delegate][cells]") {
  for (const BlockReads single_copy : {BlockReads::off, BlockReads::judged, BlockReads::on})
    for (const unsigned seed : seeds(30)) {
      std::mt19937 random(seed);
      const auto draw = [&random] {
        constexpr std::array<Count, 6> kCounts{10, 700, 3'000, 16'384, 50'000, 160'000};
        return Next{kServed[random() % std::size(kServed)],
                    kCounts[random() % kCounts.size()] + static_cast<Count>(random() % 2),
                    static_cast<int>(random() % 2)};
      };
      std::vector<Next> plan(40);
      std::ranges::generate(plan, draw);
      // The same again, in which it shows what was kept from the ones before.
      for (std::size_t i = 1; i < plan.size(); ++i)
        if (random() % 2 == 0) plan[i] = plan[i - 1];
      travel(plan, seed, single_copy);
    }
}

// The giver has a cell, or none; and where it has none it may have to wait for room in its chunks,
// which the other does not.
TEST_CASE("of two that give in turn both know who holds what", "[delegate][cells]") {
  for (const unsigned seed : seeds(30)) {
    std::mt19937 random(seed);
    const auto draw = [&random] {
      constexpr Collective kOneWay[] = {Collective::bcast,    Collective::gather,
                                        Collective::scatter,  Collective::gatherv,
                                        Collective::scatterv, Collective::allgather};
      constexpr std::array<Count, 4> kCounts{3'000, 16'384, 60'000, 160'000};
      return Next{kOneWay[random() % std::size(kOneWay)], kCounts[random() % kCounts.size()],
                  static_cast<int>(random() % 2)};
    };
    std::vector<Next> plan(60);
    std::ranges::generate(plan, draw);
    travel(plan, seed, BlockReads::off);
  }
}
