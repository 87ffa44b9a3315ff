// What the ranks are in and what they say of their calls, and who is told: the report of a job that
// stands still, calls that differ, --stats, --trace, --report-links, and the desk.
//
// Owner: the Head. looking.cc asks the ranks and judges, answers.cc is for other pruns.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "control/control.h"
#include "control/terminal.h"
#include "job/comparison.h"
#include "job/course.h"
#include "job/desk.h"
#include "job/job.h"
#include "job/usage.h"
#include "job/watcher.h"
#include "status/status.h"

namespace tutti::launch::job {

class Observation {
 public:
  struct Calls {
    std::function<std::set<int>(const control::Look& look)> ask;  // every host; who will answer
    std::function<bool(int host)> is_far;                         // not on this machine
    std::function<void()> settle;
    // Ranks called what does not match; false: the job has failed already, and nobody asks.
    std::function<bool()> may_fail;
    std::function<void(status::ExitStatus status, const std::string& line)> fail;
    std::function<void()> lost;  // something that was to be written
  };
  Observation(control::Loop& loop, const JobRequest& request, const Course& course,
              control::Terminal& terminal, Calls calls);

  // From the beginning of the job.
  void start();
  void go_on();  // prun was stopped, and the ranks with it
  // Before a rank starts: a file that cannot be written is told at once.
  Result<void> open_usage();
  // Once it is launched: other pruns may ask.
  void open_desk();

  void take(int host, const control::Seen& seen);
  void take(const control::Stack& said);
  void take(const control::Used& used);
  void take(const control::Links& links);

  // What the ranks are in, when all have answered, and stacks of some; then `done`.
  void report_at_limit(std::function<void()> done);
  bool waits_for_stacks() const { return !reported_stacks_.empty(); }
  void all_ranks_ended();  // whose calls differ is told, if nothing else was
  void show_rest();        // the end: links, --stats, --trace

 private:
  struct StackWish {  // on their way
    std::vector<int> to_ask;
    std::set<int> asked;
    std::map<int, std::string> stack_of;
    std::function<void(const StackWish&)> then;
  };
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  std::string host_of_rank(int rank) const;
  const std::string& name_of(int host) const { return request_.plan.hosts.at(at(host)).name; }

  // looking.cc
  void look(const control::Look& what, std::function<void()> then);
  void compare_calls();
  void look_again_and_tell(CallComparison::Difference found, CallComparison::Order order);
  void tell_difference(const CallComparison::Difference& found);
  std::string places_of(const CallComparison::Difference& found, const StackWish& stacks) const;
  void look_closer();
  void judge_standstill();
  void check_movement();
  std::string report() const;
  void show_places(std::function<void(const std::string&)> show);
  void print_links();
  void show_usage();

  // answers.cc
  void answer(const std::string& question, const Desk::Reply& reply);
  std::string job_line() const;
  std::string place_line(int rank) const;
  // Of these ranks; `then` has those that came in time.
  void gather_stacks(std::vector<int> ranks, std::chrono::seconds limit,
                     std::function<void(const StackWish&)> then);
  std::string stacks_text(const StackWish& wish) const;
  void ask_next_stack(StackWish& wish);
  void take_stack(const control::Stack& stack);
  void finish_stacks(const std::shared_ptr<StackWish>& wish);

  control::Loop& loop_;
  const JobRequest& request_;
  const Course& course_;
  control::Terminal& terminal_;
  Calls calls_;
  Watcher watcher_;
  struct {
    std::uint64_t number = 0;
    std::int64_t asked_ms = 0;
    std::set<int> waiting;  // hosts
    std::vector<std::function<void()>> then;
  } look_;
  bool reported_still_ = false;
  CallComparison comparison_;
  bool has_new_calls_ = false;
  bool tells_difference_ = false;  // one that ends the job
  bool looks_closer_ = false;      // a look is due soon
  bool judged_still_ = false;      // this standstill was compared in the order of all calls
  std::map<int, std::string> links_;
  std::unique_ptr<Usage> usage_;  // null: no --stats
  std::unique_ptr<Trace> trace_;  // null: no --trace
  Desk desk_{loop_};
  std::vector<std::shared_ptr<StackWish>> stack_wishes_;
  std::function<void(int rank, const std::string& text)> show_stack_;
  std::set<int> reported_stacks_;  // ranks whose stacks a report of ours waits for
  std::function<void()> report_done_;
};

}  // namespace tutti::launch::job
