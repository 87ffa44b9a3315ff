// The line that says why, where the rank's output is, and what it wrote last.
#include "job/rank_ends.h"

#include <sys/wait.h>

#include <utility>

#include "wireup/protocol.h"

namespace tutti::launch::job {
const std::string& RankEnds::name_of(int host) const {
  return request_.plan.hosts.at(static_cast<std::size_t>(host)).name;
}

bool RankEnds::take(int host, const control::RankEnded& report) {
  if (!machine_.rank_ended(report.rank)) return false;
  if (auto missed = absence(report, name_of(host))) machine_.ending().miss(std::move(*missed));
  tell_end(report, judge(report, name_of(host)));
  if (course_.ranks_left == 0) tell_victim();
  return true;
}

void RankEnds::tell_end(const control::RankEnded& report, const RankVerdict& verdict) {
  Ending& ending = machine_.ending();
  if (verdict.status == 0) return;
  if (!ending.has_failed() && ending.is_victim(report.rank)) return;
  const bool by_user = ending.signal() != 0 && WIFSIGNALED(report.wait_status) &&
                       WTERMSIG(report.wait_status) == ending.signal();
  std::string line = verdict.line;
  if (report.launch_status == 0) {
    line += output_place(streams_.place_of(report.rank));
    if (request_.plan.ranks.size() > 1)
      line += last_lines(report.last_lines, !streams_.shows_errors_of(report.rank));
  }
  if (request_.spec.keep_going || (request_.spec.report_exits && ending.has_failed())) {
    report.follows ? ending.blemish_after(verdict.status) : ending.blemish(verdict.status);
    if (!by_user) streams_.terminal().say(line);
    return;
  }
  if (report.follows && !by_user && !ending.has_failed())
    return blame_another(report.rank, {verdict.status, line});
  machine_.fail(verdict.status, by_user ? "" : line,
                report.launch_status == 0 ? Cause::rank : Cause::ended);
}

void RankEnds::take(int host, const control::RankAborts& report) {
  RankVerdict verdict = judge(report, name_of(host));
  Ending& ending = machine_.ending();
  if (!report.follows || ending.has_failed())
    return machine_.fail(verdict.status, verdict.line, Cause::rank);
  blame_another(report.rank, std::move(verdict));
}

// A rank failed because it had lost another, or because a collective failed there: what that one
// says is the reason, if it is told in time; it may be heard later. One that ended with status 0
// and had never joined says nothing.
void RankEnds::blame_another(int victim, RankVerdict verdict) {
  Ending& ending = machine_.ending();
  constexpr std::chrono::seconds kTurn{wireup::kTurnOfReasonS};
  if (!ending.blamed()) loop_.after(kTurn, [this] { tell_victim(); });
  ending.blame_another(victim, std::move(verdict));
}

void RankEnds::tell_victim() {
  const auto blamed = machine_.ending().blamed();
  if (blamed && !machine_.ending().has_failed())
    machine_.fail(blamed->status, blamed->line, Cause::rank);
}

}  // namespace tutti::launch::job
