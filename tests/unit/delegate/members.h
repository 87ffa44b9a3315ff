// Teams for tests: over the ranks of a host in threads, or all held by one thread that steps them.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "catch.h"
#include "delegate/shm/area.h"
#include "teams.h"
#include "transport/shm/single_copy.h"

namespace tutti::test {

inline constexpr int kMostSteps = 200'000;

// One team over all ranks of a host, each in a thread.
struct Setting {
  int looks = 1000;
  delegate::BlockReads single_copy = delegate::BlockReads::off;
  // Who has read others' memory when the body ends.
  std::function<bool(int rank)> reader = [](int) { return false; };
  bool may_read = true;  // else nobody has
  // Where the ranks are bound, a core each; else unknown, and the cores are this machine's.
  std::vector<model::BoundAt> places = {};
  delegate::Waiting (*how)(int rank) = [](int) { return waiting(); };
};

// What that member says last of its reading: twice the number of the call, and one more where it
// could not read.
inline std::uint64_t answer_of(wireup::Wireup& own, std::uint32_t area, int local) {
  const wireup::Segment& segment = own.segment();
  const delegate::AreaGeometry geometry = delegate::geometry_of(segment.header());
  const std::byte* const slot =
      segment.area(area) + static_cast<std::size_t>(local) * geometry.slot_bytes;
  return reinterpret_cast<const delegate::MemberCounters*>(slot + geometry.control_at())
      ->answered.load(std::memory_order_relaxed);  // relaxed: of a call that is over
}

// A core for each rank, whatever this machine has.
inline void give_cores(wireup::Wireup& any, int ranks) {
  any.segment().header().cores = static_cast<std::uint32_t>(ranks);
}
inline model::BoundAt place_of(const std::vector<model::BoundAt>& places, int rank) {
  return places.empty() ? model::BoundAt{} : places[static_cast<std::size_t>(rank)];
}

inline void run_team(int size, const std::function<bool(Team&, int rank)>& body,
                     const Setting& setting = {}) {
  auto wireups = wireup::in_threads(std::vector<int>(static_cast<std::size_t>(size), 0));
  if (!setting.places.empty()) give_cores(*wireups[0], size);
  std::vector<int> locals(static_cast<std::size_t>(size));
  std::iota(locals.begin(), locals.end(), 0);
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      wireup::Wireup& own = *wireups[static_cast<std::size_t>(rank)];
      delegate::Waiting how = setting.how(rank);
      how.looks = setting.looks;
      // As the rank's transport does.
      transport::shm::SingleCopy word(own.segment(), static_cast<std::uint32_t>(rank), true);
      const auto team =
          delegate::make_shm_team(own, locals, rank, *delegate::host_area(own), how,
                                  {setting.single_copy, place_of(setting.places, rank)});
      if (!body(*team, rank)) return;
      const bool has_read = answer_of(own, delegate::kHostArea, rank) > 0;
      if (has_read ? setting.may_read : !setting.reader(rank)) ++good;
    });
  for (std::thread& thread : threads) thread.join();
  REQUIRE(good == size);
}

// Members of a host, and teams over all of them, held by one thread.
struct Members {
  explicit Members(int members)
      : size(members), wireups(wireup::in_threads(std::vector<int>(at(members), 0))) {
    locals.resize(at(size));
    std::iota(locals.begin(), locals.end(), 0);
  }
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  std::vector<std::unique_ptr<Team>> team(
      delegate::BlockReads single_copy = delegate::BlockReads::off,
      const std::vector<model::BoundAt>& places = {}) {
    if (!places.empty()) give_cores(*wireups[0], size);
    // As the ranks' transports do.
    for (std::uint32_t member = 0; words.size() < at(size); ++member)
      words.push_back(
          std::make_unique<transport::shm::SingleCopy>(wireups[member]->segment(), member, true));
    const auto taken = delegate::take_area(*wireups[0], locals);
    REQUIRE(taken.has_value());
    area = *taken;
    std::vector<std::unique_ptr<Team>> made;
    for (int member = 0; member < size; ++member)
      made.push_back(delegate::make_shm_team(*wireups[at(member)], locals, member, area, waiting(),
                                             {single_copy, place_of(places, member)}));
    return made;
  }

  const int size;
  std::vector<std::unique_ptr<wireup::Wireup>> wireups;
  std::vector<int> locals;
  std::vector<std::unique_ptr<transport::shm::SingleCopy>> words;
  std::uint32_t area = 0;  // of the latest team
};

// The same call of all members of a team, each begun when it is told to.
class Everyone {
 public:
  Everyone(std::vector<std::unique_ptr<Team>>& teams, Collective collective, Count count, int root)
      : teams_(teams), runs_(teams.size()) {
    const int size = static_cast<int>(teams.size());
    for (int member = 0; member < size; ++member) {
      mixers_.push_back(std::make_unique<Mixer>(*teams[Members::at(member)], member, size));
      calls_.push_back(&mixers_.back()->prepare(collective, count, root));
    }
  }
  void begin(int member) {
    runs_[Members::at(member)] = teams_[Members::at(member)]->begin(*calls_[Members::at(member)]);
  }
  bool has_begun(int member) const { return runs_[Members::at(member)] != nullptr; }
  delegate::TeamRun& run(int member) { return *runs_[Members::at(member)]; }
  Mixer& mixer(int member) { return *mixers_[Members::at(member)]; }
  // Steps those of these members in turn until all are over; false: they do not end.
  bool finish(const std::vector<int>& members) {
    for (int steps = 0; steps < kMostSteps; ++steps) {
      bool is_over = true;
      for (const int member : members)
        is_over = run(member).step() == delegate::StepResult::over && is_over;
      if (is_over) return true;
    }
    return false;
  }
  bool is_right() const {
    return std::all_of(runs_.begin(), runs_.end(),
                       [](const auto& run) {
                         return run->step() == delegate::StepResult::over &&
                                run->code() == Code::ok;
                       }) &&
           std::all_of(mixers_.begin(), mixers_.end(),
                       [](const auto& mixer) { return mixer->is_right(); });
  }

 private:
  std::vector<std::unique_ptr<Team>>& teams_;
  std::vector<std::unique_ptr<Mixer>> mixers_;
  std::vector<const TeamCall*> calls_;
  std::vector<std::unique_ptr<delegate::TeamRun>> runs_;
};

// From here on every member has proved that it can read the others'.
inline void prove(std::vector<std::unique_ptr<Team>>& teams) {
  std::vector<int> all(teams.size());
  std::iota(all.begin(), all.end(), 0);
  for (int i = 0; i < 2; ++i) {
    Everyone call(teams, Collective::allgather, 5'000, 0);
    for (const int member : all) call.begin(member);
    REQUIRE(call.finish(all));
    REQUIRE(call.is_right());
  }
}

}  // namespace tutti::test
