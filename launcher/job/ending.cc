#include "job/ending.h"

#include <algorithm>
#include <utility>

#include "status/status.h"

namespace tutti::launch::job {

bool Ending::fail(Cause cause, int status) {
  if (has_failed()) return false;
  failure_ = Failure{cause, status};
  return true;
}

void Ending::blemish(int status) {
  if (blemish_ == 0) blemish_ = status;
}

void Ending::blemish_after(int status) {
  if (blemish_after_ == 0) blemish_after_ = status;
}

void Ending::interrupt(int signal, bool for_another_round) {
  signal_ = signal;
  if (for_another_round) failure_ = Failure{Cause::user, status::of_signal(signal)};
}

void Ending::lose(const std::string& host) {
  if (std::find(lost_.begin(), lost_.end(), host) == lost_.end()) lost_.push_back(host);
}

void Ending::blame_another(int rank, RankVerdict verdict) {
  victims_.insert(rank);
  if (!victim_) victim_ = std::move(verdict);
}

void Ending::miss(RankVerdict verdict) {
  if (!missed_) missed_ = std::move(verdict);
}

std::optional<RankVerdict> Ending::blamed() const {
  if (!victim_ || !missed_) return victim_;
  return RankVerdict{missed_->status, missed_->line + "; " + victim_->line};
}

int Ending::status() const {
  if (failure_ && failure_->status != 0) return failure_->status;
  return blemish_ != 0 ? blemish_ : blemish_after_;
}

Cause Ending::cause() const {
  if (signal_ != 0) return Cause::user;
  return failure_ ? failure_->cause : Cause::ended;
}

}  // namespace tutti::launch::job
