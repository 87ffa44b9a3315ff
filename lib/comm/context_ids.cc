// Agreeing on numbers of communicators.
#include "comm/context_ids.h"

#include <algorithm>
#include <string>

#include "base/check.h"

namespace tutti::comm {
namespace {

constexpr std::int64_t kBusy = std::int64_t{1} << 40;  // above every number

}  // namespace

Error none_left() {
  return {Code::other,
          std::to_string(ContextIds::kMost) +
              " communicators live at a time, and no more can be made; does the program free "
              "those that it no longer needs (MPI_Comm_free)?"};
}

std::int64_t ContextIds::lowest_free(std::int64_t from) const {
  auto index = static_cast<std::size_t>(std::max(from, first_free_));
  while (index < used_.size() && used_[index]) ++index;
  return static_cast<std::int64_t>(index);
}

void ContextIds::take(std::uint32_t context) {
  const std::size_t index = context / 2;
  if (index >= used_.size()) used_.resize(index + 1, false);
  TUTTI_CHECK(!used_[index], "context " + std::to_string(context) + " is taken twice");
  used_[index] = true;
  if (static_cast<std::int64_t>(index) == first_free_) first_free_ = lowest_free(first_free_);
}

void ContextIds::give(std::uint32_t context) {
  used_[context / 2] = false;
  first_free_ = std::min(first_free_, static_cast<std::int64_t>(context / 2));
}

// The number that is proposed elsewhere right now may be agreed there.
Result<Number> ContextIds::take_alone() {
  std::int64_t free = lowest_free(0);
  if (held_ && free == proposed_) free = lowest_free(free + 1);
  if (free >= kMost) return tl::unexpected(none_left());
  const auto context = static_cast<std::uint32_t>(free) * 2;
  take(context);
  return Number{context, 0};
}

bool ContextIds::try_hold(const Claim& claim) {
  if (held_ || *waiting_.begin() != claim) return false;
  held_ = true;
  return true;
}

ContextIds::Agreement::Agreement(ContextIds& ids, const Claim& claim) : ids_(ids), claim_(claim) {
  ids_.waiting_.insert(claim_);
}

ContextIds::Agreement::~Agreement() {
  let_go();
  ids_.waiting_.erase(ids_.waiting_.find(claim_));
}

void ContextIds::Agreement::let_go() {
  if (holds_) ids_.held_ = false;
  holds_ = false;
}

void ContextIds::Agreement::propose(Values& values) {
  if (!holds_) holds_ = ids_.try_hold(claim_);
  values[0] = holds_ ? ids_.lowest_free(from_) : kBusy;
  values[1] = -values[0];
  values[2] = ids_.clock_ + 1;
  if (holds_) ids_.proposed_ = values[0];
}

ContextIds::Agreement::Verdict ContextIds::Agreement::judge(const Values& maximum) {
  if (maximum[0] == kBusy) {
    let_go();
    from_ = 0;
    return Verdict::busy;
  }
  if (maximum[0] >= kMost) return Verdict::none;  // some member has none below
  if (maximum[0] == -maximum[1]) {
    // Members agree only while they hold the numbers, so no other communicator takes one meanwhile.
    ids_.clock_ = maximum[2];
    number_ = {static_cast<std::uint32_t>(maximum[0]) * 2, static_cast<std::uint64_t>(maximum[2])};
    ids_.take(number_.context);
    return Verdict::agreed;
  }
  from_ = maximum[0];
  return Verdict::again;
}

Result<Number> ContextIds::agree(const Claim& claim, const Maximum& maximum,
                                 const std::function<void()>& pause) {
  // A number is claimed only when all members have come. A rank that claimed one while it waits for
  // them would hold up its own duplications under way, which those members may be waiting for
  // (comm/duplication.cc).
  Values come{};
  if (const Code code = maximum(come); code != Code::ok)
    return fail(code, "members could not meet for a new communicator");
  Agreement agreement(*this, claim);
  for (;;) {
    Values values{};
    agreement.propose(values);
    if (const Code code = maximum(values); code != Code::ok)
      return fail(code, "members could not agree on a new communicator");
    const auto verdict = agreement.judge(values);
    if (verdict == Agreement::Verdict::agreed) return agreement.number();
    if (verdict == Agreement::Verdict::none) return tl::unexpected(none_left());
    if (verdict == Agreement::Verdict::busy) pause();
  }
}

}  // namespace tutti::comm
