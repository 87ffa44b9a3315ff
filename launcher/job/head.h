// The head of a running job: knows every host and rank, hears the daemons, decides the status.
//
// Owner: run_job, for the time of one job. Messages come in through hear.cc, states change in
// head.cc; starters.cc decides how each host is reached.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/control.h"
#include "daemon/daemon.h"
#include "job/checker.h"
#include "job/course.h"
#include "job/ending.h"
#include "job/job.h"
#include "job/observation.h"
#include "job/reasons.h"
#include "job/rounds.h"
#include "job/states.h"
#include "job/streams.h"
#include "spawn/slurm.h"

namespace tutti::launch::job {

// Spawners of this job, and which of them each host is started by.
struct Starters {
  std::vector<std::unique_ptr<control::Spawner>> spawners;
  std::map<int, control::Spawner*> of_host;
};

class Head {
 public:
  explicit Head(Round round);
  Outcome run();

 private:
  struct Host {
    std::unique_ptr<control::Channel> channel;  // null: reached through `via`
    int via = -1;                               // itself, or the host whose daemon started it
    bool said_hello = false, started = false;
    bool over_network = false;  // not on this machine
    bool is_early = false;      // started before its machine was read
    bool has_joined = false;    // by itself
    bool is_stranger = false;   // it has proved nothing: see numbers_only
    bool left = false;          // nothing more comes from it
    int ranks_left = 0;
    std::vector<control::HostPart> to_grow;  // hosts that its daemon is to start
    control::Hello hello;
    std::string noise;  // its shell printed before the daemon
    bool was_sent_daemon = false;
  };

  // starters.cc
  bool is_by_srun() const;
  void start_hosts();
  void keep_spares();
  void start_over_network(const std::vector<control::HostPart>& hosts);
  control::Spawner& add_spawner(std::unique_ptr<control::Spawner> spawner,
                                const std::vector<control::HostPart>& hosts);
  control::SpawnReports reports();
  control::Grow grow_message(std::vector<control::HostPart> hosts) const;

  // head.cc: states
  void enter(State state);
  void on_limit(State state);
  double limit_of(State state) const;  // in seconds; 0: none
  void fail(int status, const std::string& line, Cause cause = Cause::ended);
  void host_failed(int host, int status, const std::string& reason, bool is_gone = true);
  void host_left(int host);
  void look_for_end();
  void send(int host, const control::Message& message);
  void send_all(const control::Message& message);
  void on_signal(int number);
  bool comes_again() const;
  void on_newcomer();
  void show_progress();
  std::string awaited() const;

  // finish.cc: the last words
  void stream_broke(int error);
  void on_written();
  void finish();
  void limit_last_words();
  void tell_loss();

  // stop.cc: control-Z
  void stop();
  void stop_when_told(std::int64_t until_ns);
  void go_on();

  // checking.cc: --check
  void start_checking();
  void examine(int host);
  void check_failed(int host, int status, const std::string& reason);
  void go_on_checking();

  void settle_soon();
  void report_and_fail(int status, const std::string& line);
  Observation::Calls observers_calls();

  // hear.cc: messages
  void on_ready(int host, control::ChannelEnds ends);
  void on_closed(int host, const std::string& why);
  void on_frame(int direct, control::Frame&& one);
  void handle(int host, const control::Hello& hello);
  void handle(int host, const control::Started&);
  void handle(int host, const control::Output& output) { streams_.take(host, output); }
  void handle(int host, const control::InputTaken& taken) { streams_.take(host, taken); }
  void handle(int host, const control::Addresses& addresses);
  void handle(int host, const control::RankEnded& report);
  void handle(int host, const control::RankAborts& report);
  void handle(int, const control::Links& links) { observation_.take(links); }
  void handle(int host, const control::HostFailed& report);
  void handle(int, const control::Used& used) { observation_.take(used); }
  void handle(int host, const control::Note& note);
  void handle(int host, const control::DaemonFailed& report);
  void handle(int host, const control::Gather& part);
  void handle(int, const control::Seen& seen) { observation_.take(seen); }
  void handle(int host, const control::Findings& findings);
  void handle(int host, const control::Probed& probed);
  void handle(int, const control::Stack& stack) { observation_.take(stack); }
  void handle(int host, const control::Fetch& fetch);
  void handle(int host, const control::Fetched& fetched);
  void handle(int host, const control::Heartbeat&);
  void handle(int host, const control::Bye&);
  template <class T>
  void handle(int host, const T&) {
    host_failed(host, 200, "its daemon said what a daemon does not say");
  }
  control::Prepare prepare_for(int host);
  void launch();
  void send_addresses();
  void tell_hosts_of(const control::RankEnded& report);
  void tell_end(const control::RankEnded& report, const Verdict& verdict);
  void tell_victim();

  const std::string& name_of(int host) const { return request_.plan.hosts.at(at(host)).name; }
  Host& host(int index) { return hosts_.at(at(index)); }
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  Round round_;
  JobRequest& request_;
  control::Loop loop_;
  Course course_;
  Streams streams_;
  Observation observation_;
  Starters starters_;
  std::optional<spawn::Suspension> suspension_;  // of a Slurm job, whose daemons are its steps
  std::vector<Host> hosts_;
  std::vector<std::unique_ptr<control::Channel>> spares_;  // of who joined and has no ranks
  control::Loop::TimerId limit_ = 0, signal_timer_ = 0, address_timer_ = 0, stop_timer_ = 0,
                         gone_timer_ = 0;
  bool launched_ = false;
  Ending ending_;
  std::string last_reason_;
  int interrupts_ = 0;
  int endings_ = 0;  // signals that end
  control::Addresses addresses_;
  std::size_t addresses_sent_ = 0;
  control::Gone gone_;                                         // not told to hosts yet
  std::unique_ptr<Checker> checker_;                           // null: this is a job
  bool is_finished_ = false;                                   // everything has been said
  std::map<std::string, std::map<int, std::string>> gathers_;  // by name, by host: parts
};

}  // namespace tutti::launch::job
