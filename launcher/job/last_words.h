// The end of a round: the last words, and what nobody took of those before.
//
// Owner: the Head.
#pragma once

#include "control/control.h"
#include "job/ending.h"
#include "job/observation.h"
#include "job/streams.h"

namespace tutti::launch::job {

class LastWords {
 public:
  LastWords(control::Loop& loop, Streams& streams, Observation& observation, Ending& ending)
      : loop_(loop), streams_(streams), observation_(observation), ending_(ending) {}

  void say();         // and then ends the loop, when all is written
  void on_written();  // nothing is on its way
  void hurry();       // the job failed: who takes nothing is not waited for
  bool are_said() const { return are_said_; }
  // After the loop: what standard output and error and files did not take.
  void tell_loss();

 private:
  control::Loop& loop_;
  Streams& streams_;
  Observation& observation_;
  Ending& ending_;
  bool are_said_ = false;
};

}  // namespace tutti::launch::job
