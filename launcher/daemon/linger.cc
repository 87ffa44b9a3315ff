// The end of a host's part of the job: what filters of the ranks still write, then nothing is left.
#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "daemon/daemon.h"
#include "daemon/ranks.h"

namespace tutti::launch::daemon {
namespace {

// The filters of a rank that has ended get a second without a byte, and this long in all.
constexpr std::int64_t kQuiet = 1'000'000'000, kLongestLinger = 5'000'000'000;
constexpr std::chrono::milliseconds kLingerLook{20};

}  // namespace

void Ranks::finish(std::function<void()> done) {
  servers_.close();
  door_.reset();
  finished_ = std::move(done);
  last_byte_ns_ = now_ns();
  lingers_until_ns_ = last_byte_ns_ + kLongestLinger;
  linger();
}

void Ranks::hurry() {
  lingers_until_ns_ = 0;
  linger();
}

// Whether somebody may still write, and has lately. What a slow head holds back does not count.
bool Ranks::writes_on() const {
  const std::int64_t now = now_ns();
  if (now >= lingers_until_ns_ || (!hold_ && now >= last_byte_ns_ + kQuiet)) return false;
  return std::any_of(ranks_.begin(), ranks_.end(), [](const RankProcess& rank) {
    return rank.output[0].is_open() || rank.output[1].is_open();
  });
}

void Ranks::linger() {
  if (!finished_) return;
  loop_.cancel(linger_timer_);
  if (writes_on()) {
    linger_timer_ = loop_.after(kLingerLook, [this] { linger(); });
    return;
  }
  kill_descendants();
  for (RankProcess& rank : ranks_)
    for (const int stream : {0, 1}) read_rest(rank, stream);
  std::exchange(finished_, nullptr)();
}

}  // namespace tutti::launch::daemon
