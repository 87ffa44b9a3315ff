// Signals that prun gets: handed to the ranks, and those that end are followed up.
//
// Owner: the Head.
#pragma once

#include <chrono>
#include <cstdint>

#include "control/control.h"
#include "job/course.h"
#include "job/hosts.h"
#include "job/last_words.h"
#include "job/state_machine.h"

namespace tutti::launch::job {

class Signals {
 public:
  Signals(control::Loop& loop, const Course& course, StateMachine& machine, Hosts& hosts,
          const LastWords& last_words, control::Terminal& terminal)
      : loop_(loop),
        course_(course),
        machine_(machine),
        hosts_(hosts),
        last_words_(last_words),
        terminal_(terminal) {}

  void start();  // from here on they come by the loop

 private:
  void take(int number);
  bool note_end(int number);  // false: the same came a moment ago
  // stop.cc: control-Z
  void stop();
  void stop_when_told(std::int64_t until_ns);
  void go_on();

  control::Loop& loop_;
  const Course& course_;
  StateMachine& machine_;
  Hosts& hosts_;
  const LastWords& last_words_;
  control::Terminal& terminal_;
  bool had_terminal_ = false;  // of a rank's, before prun stopped
  control::Loop::TimerId end_timer_ = 0, stop_timer_ = 0;
  int interrupts_ = 0;
  int endings_ = 0;  // signals that end
  int last_ = 0;     // of these
  std::chrono::steady_clock::time_point last_came_;
};

}  // namespace tutti::launch::job
