// Making and dropping segments. One that is made late is told everything that the others were told.
#include "daemon/generations.h"

#include <algorithm>
#include <string>

#include "daemon/store.h"

namespace tutti::launch::daemon {
namespace {

// Ranks are never many programs apart, since most programs end together on all ranks.
constexpr std::uint32_t kMostAhead = 64;
constexpr std::int64_t kLives = -1;

}  // namespace

Result<void> Generations::open(wireup::JobFacts facts) {
  facts_ = std::move(facts);
  if (facts_.key.size() != key_.size()) return fail(Code::other, "a job key of wrong length");
  std::copy(facts_.key.begin(), facts_.key.end(), key_.begin());
  facts_.key = key_;
  finalized_in_.assign(facts_.host_of.size(), kLives);
  TUTTI_TRY(first, wireup::make_segment(facts_));
  segments_.emplace(0, std::move(first));
  return {};
}

Result<const wireup::Segment*> Generations::get(std::uint32_t generation) {
  if (const wireup::Segment* const made = find(generation)) return made;
  const std::uint32_t oldest = segments_.begin()->first;
  if (generation < oldest || generation - oldest > kMostAhead)
    return fail(Code::other, "a rank's MPI program number " + std::to_string(generation) +
                                 " is far from those of this host's ranks, which are at number " +
                                 std::to_string(oldest) +
                                 "; start ranks that do not wait for each other with a prun each");
  facts_.generation = generation;
  TUTTI_TRY(made, wireup::make_segment(facts_));
  const wireup::Segment& segment = segments_.emplace(generation, std::move(made)).first->second;
  for (std::size_t rank = 0; rank < finalized_in_.size(); ++rank)
    tell_end(segment, generation, static_cast<int>(rank), false);
  if (aborted_) publish_abort(segment);
  return &segment;
}

const wireup::Segment* Generations::find(std::uint32_t generation) const {
  const auto found = segments_.find(generation);
  return found == segments_.end() ? nullptr : &found->second;
}

void Generations::drop_below(std::uint32_t generation) {
  segments_.erase(segments_.begin(), segments_.lower_bound(generation));
}

Result<void> Generations::publish(std::uint32_t generation, int rank, std::string_view address) {
  if (generation < segments_.begin()->first) return {};  // nobody here is in it any more
  TUTTI_TRY(segment, get(generation));
  publish_address(*segment, rank, address);
  return {};
}

void Generations::ended(int rank, std::uint32_t finalized, bool wakes) {
  if (rank < 0 || static_cast<std::size_t>(rank) >= finalized_in_.size()) return;
  finalized_in_[static_cast<std::size_t>(rank)] = finalized;
  for (const auto& [generation, segment] : segments_) tell_end(segment, generation, rank, wakes);
}

void Generations::tell_end(const wireup::Segment& segment, std::uint32_t generation, int rank,
                           bool wakes) {
  const std::int64_t finalized = finalized_in_[static_cast<std::size_t>(rank)];
  if (finalized == kLives) return;
  publish_end(segment, rank,
              generation < finalized ? ProcessEnd::orderly : ProcessEnd::without_finalizing, wakes);
}

void Generations::abort() {
  aborted_ = true;
  for (const auto& [generation, segment] : segments_) publish_abort(segment);
}

}  // namespace tutti::launch::daemon
