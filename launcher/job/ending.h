// How a job ends, as far as it is known: the exit status and the cause are read off this state, and
// nobody else stores either. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "job/reasons.h"
#include "job/rounds.h"

namespace tutti::launch::job {

class Ending {
 public:
  // What ends the job. The first counts; what comes later follows from it. False: it is not the
  // first.
  bool fail(Cause cause, int status);
  // What does not end it, and is not as it should be: a rank that the others go on without, output
  // that was lost. Counts when nothing else makes a status.
  void blemish(int status);
  // Likewise, of a rank that had lost another: counts when that makes no status either.
  void blemish_after(int status);
  // The user's last signal of those that end. In place of another round it is what ends the job.
  void interrupt(int signal, bool for_another_round);
  // A host that the job went on without, or ended by.
  void lose(const std::string& host);
  // This rank ended the job because another one failed, whose end is the reason, if it is told in
  // time; else what `blamed` says is.
  void blame_another(int rank, RankVerdict verdict);
  // This rank's end is no failure, unless others end the job for want of a rank.
  void miss(RankVerdict verdict);

  bool has_failed() const { return failure_.has_value(); }
  int signal() const { return signal_; }
  // The first victim's word, after the end of the first rank that was missed; empty: no victim.
  std::optional<RankVerdict> blamed() const;
  bool is_victim(int rank) const { return victims_.contains(rank); }
  int status() const;
  Cause cause() const;
  const std::vector<std::string>& lost() const { return lost_; }

 private:
  struct Failure {
    Cause cause = Cause::ended;
    int status = 0;
  };
  std::optional<Failure> failure_;
  int blemish_ = 0, blemish_after_ = 0;
  int signal_ = 0;
  std::optional<RankVerdict> victim_, missed_;  // the first one's
  std::set<int> victims_;
  std::vector<std::string> lost_;
};

}  // namespace tutti::launch::job
