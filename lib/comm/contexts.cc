// Agreeing on numbers of communicators.
#include "comm/contexts.h"

#include "base/check.h"

namespace tutti::comm {
namespace {

constexpr std::int64_t kBusy = std::int64_t{1} << 40;  // above every number

}  // namespace

std::int64_t ContextIds::lowest_free(std::int64_t from) const {
  auto index = static_cast<std::size_t>(from);
  while (index < used_.size() && used_[index]) ++index;
  return static_cast<std::int64_t>(index);
}

void ContextIds::take(std::uint32_t context) {
  const std::size_t index = context / 2;
  if (index >= used_.size()) used_.resize(index + 1, false);
  TUTTI_CHECK(!used_[index], "context " + std::to_string(context) + " is taken twice");
  used_[index] = true;
}

void ContextIds::give(std::uint32_t context) {
  used_[context / 2] = false;
}

bool ContextIds::try_hold(const Claim& claim) {
  if (held_ || *waiting_.begin() != claim) return false;
  held_ = true;
  return true;
}

Result<std::uint32_t> ContextIds::agree(const Claim& claim, const Maximum& maximum,
                                        const std::function<void()>& pause) {
  waiting_.insert(claim);
  bool holds = false;
  std::int64_t from = 0;
  Code code = Code::ok;
  std::int64_t agreed = -1;
  while (agreed < 0) {
    if (!holds) holds = try_hold(claim);
    const std::int64_t mine = holds ? lowest_free(from) : kBusy;
    std::int64_t values[2] = {mine, -mine};
    code = maximum(values);
    if (code != Code::ok) break;
    if (values[0] == kBusy) {
      if (holds) held_ = false;
      holds = false;
      from = 0;
      pause();
    } else if (values[0] == -values[1]) {
      agreed = values[0];
    } else {
      from = values[0];
    }
  }
  if (holds) held_ = false;
  waiting_.erase(claim);
  if (code != Code::ok) return fail(code, "members could not agree on a new communicator");
  return static_cast<std::uint32_t>(agreed) * 2;
}

}  // namespace tutti::comm
