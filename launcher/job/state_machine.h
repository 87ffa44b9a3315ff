// What moves a round from state to state (states.h): failures, time limits, hosts and ranks that
// are gone. It alone writes the course, and the first failure that it is told of decides the end.
//
// Owner: the Head.
#pragma once

#include <functional>
#include <string>

#include "control/control.h"
#include "control/terminal.h"
#include "job/alike.h"
#include "job/course.h"
#include "job/ending.h"
#include "job/hosts.h"
#include "job/rounds.h"

namespace tutti::launch::job {

class StateMachine {
 public:
  struct Calls {
    // The start took longer than this. True: somebody has dealt with it, and the job goes on.
    std::function<bool(const std::string& limit)> is_late;
    std::function<void()> failed_late;  // when the job was over already
    std::function<void()> done;         // the last state
    std::function<void()> went_on;      // the job was stopped until now
  };
  StateMachine(control::Loop& loop, const Round& round, Course& course, Hosts& hosts,
               control::Terminal& terminal, Calls calls);

  void begin();
  void launched(std::uint64_t job_id);
  void enter(State state);
  void settle_soon();
  void go_on();  // prun was stopped: the time of this state begins anew

  // The first failure is the one that is told.
  void fail(int status, const std::string& line, Cause cause = Cause::ended);
  void interrupt(int signal);  // by the user
  void say_bye();              // with the status, and whether another round follows
  void host_failed(int host, int status, const std::string& reason);
  void remark_of_host(int host, const std::string& text);
  void say_what_hosts_said();  // what was kept, since others may say the same
  void on_newcomer();
  bool rank_ended(int rank);  // false: it had ended already
  void host_left(int host);   // and with it its ranks
  // Enters the next state if all that this one waited for is there, or gone.
  void look_for_end();

  Ending& ending() { return ending_; }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  double limit_of(State state) const;  // in seconds; 0: none
  void limit(State state);
  void on_limit(State state);
  bool comes_again() const;
  void show_progress();

  control::Loop& loop_;
  const Round& round_;
  const JobRequest& request_;
  Course& course_;
  Hosts& hosts_;
  control::Terminal& terminal_;
  Calls calls_;
  Ending ending_;
  control::Loop::TimerId limit_ = 0;
  AlikeLines before_run_;
};

}  // namespace tutti::launch::job
