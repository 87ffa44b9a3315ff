// Who leads, who is tried, and when a loser is tried again.
#include "select/contest.h"

#include <algorithm>
#include <cstdio>

namespace tutti::select {
namespace {

// Predictions are believed within this factor: who is further behind is not tried.
constexpr double kDoubt = 4;
// Calls of each way before it is judged; the first, in which connections are made, does not count.
constexpr int kTries = 3;
// Machines change: one call in so many goes to who lost, where that is not far behind.
constexpr std::uint32_t kAgain = 128;
// What is known moves by this part of the difference to what is new.
constexpr double kPart = 0.125;

}  // namespace

bool Contest::is_tried(int way) const {
  return records_[static_cast<std::size_t>(way)].given >= kTries;
}

double Contest::time_of(int way) const {
  const auto at = static_cast<std::size_t>(way);
  return records_[at].told > 1 ? records_[at].us : predicted_[at];
}

Contest::Way Contest::best(const Mask& can) const {
  int best = ours;
  for (int way = 0; way < kWays; ++way)
    if (can[static_cast<std::size_t>(way)] && time_of(way) < time_of(best)) best = way;
  return static_cast<Way>(best);
}

bool Contest::is_worth_a_try(int way, const Mask& can) const {
  return can[static_cast<std::size_t>(way)] && time_of(way) <= kDoubt * time_of(best(can));
}

// Of those that are not far behind; ours last.
Contest::Way Contest::least_tried(const Mask& can) const {
  int least = best(can);
  const auto given = [this](int way) { return records_[static_cast<std::size_t>(way)].given; };
  for (int way = kWays - 1; way >= 0; --way)
    if (is_worth_a_try(way, can) && given(way) < given(least)) least = way;
  return static_cast<Way>(least);
}

bool Contest::asks(const Mask& can) {
  if (best(can) != ours) return true;
  if (std::none_of(can.begin() + library, can.end(), [](bool is_there) { return is_there; }))
    return false;
  for (int way = library; way < kWays; ++way)
    if (is_worth_a_try(way, can) && (!is_tried(way) || !is_tried(ours))) return true;
  return ++calls_ >= kAgain;
}

Contest::Way Contest::next(const Mask& can) {
  const Way least = least_tried(can);
  const bool is_again = is_tried(least) && ++calls_ >= kAgain;
  if (is_again) calls_ = 0;
  const Way chosen = is_again || !is_tried(least) ? least : best(can);
  ++records_[chosen].given;
  return chosen;
}

void Contest::took(Way way, double us) {
  Record& record = records_[way];
  if (++record.told <= 2)
    record.us = us;
  else if (record.told <= kTries)
    record.us = std::min(record.us, us);
  else  // one that was held up tells little
    record.us = std::min(us, record.us + kPart * (std::min(us, kDoubt * record.us) - record.us));
}

std::optional<Contest::Way> Contest::verdict(const Mask& can) const {
  int known = 0;
  for (int way = 0; way < kWays; ++way) {
    const int told = records_[static_cast<std::size_t>(way)].told;
    if (told > 0) ++known;
    if (told < kTries && is_worth_a_try(way, can)) return std::nullopt;
  }
  return known > 1 ? std::optional(best(can)) : std::nullopt;
}

const char* Contest::name_of(Way way) {
  return way == ours ? "ours" : way == library ? "nccl" : "nccl by levels";
}

std::string Contest::why(const Mask& can) const {
  std::array<Way, kWays> order{ours, library, levels};
  std::stable_sort(order.begin(), order.end(),
                   [this](Way a, Way b) { return time_of(a) < time_of(b); });
  std::string text;
  for (const Way way : order) {
    if (!can[way]) continue;
    char words[96];
    int written =
        std::snprintf(words, sizeof words, "%s: predicted %.1f us", name_of(way), predicted_[way]);
    if (records_[way].told > 0)
      std::snprintf(words + written, sizeof words - static_cast<std::size_t>(written),
                    ", took %.1f us", records_[way].us);
    text += (text.empty() ? "" : "; ") + std::string(words);
  }
  return text;
}

}  // namespace tutti::select
