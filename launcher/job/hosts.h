// The hosts of a round: how each is reached, who is there, and what the head and the daemons say to
// each other.
//
// Owner: the Head, which hears what concerns the job. starters.cc decides how each host is reached.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "control/control.h"
#include "job/course.h"
#include "job/rounds.h"
#include "spawn/slurm.h"

namespace tutti::launch::job {

class Hosts {
 public:
  // What is known of one.
  struct Facts {
    bool said_hello = false, started = false;
    bool over_network = false;     // not on this machine
    bool has_joined = false;       // by itself
    bool is_stranger = false;      // it has proved nothing: see numbers_only
    bool was_sent_daemon = false;  // prund was not there
    bool left = false;             // nothing more comes from it
    control::Hello hello;
    std::string noise;  // its shell printed before the daemon
  };
  struct Calls {
    // All but what concerns the way to a host; a Hello once, and of our version.
    std::function<void(int host, const control::Message& message)> said;
    // is_gone: nothing more comes from it.
    std::function<void(int host, int status, const std::string& reason, bool is_gone)> failed;
    std::function<void(int host)> left;
    std::function<void()> changed;  // who is there, after that
    std::function<void(const std::string& text)> note;
  };
  Hosts(control::Loop& loop, Round& round, const Course& course, Calls calls);

  // by_tree: where there are many, some start the others.
  void start(bool by_tree);
  void close();  // waits for all that was started, and for nobody else

  std::size_t count() const { return hosts_.size(); }
  const Facts& operator[](int host) const { return hosts_.at(at(host)); }
  const std::string& name_of(int host) const { return request_.plan.hosts.at(at(host)).name; }
  template <class Holds>
  bool all(Holds holds) const {
    return std::all_of(hosts_.begin(), hosts_.end(), holds);
  }
  // Names of those that the job waits for while it starts, shortened.
  std::string awaited() const;
  std::string agent() const { return grow_message({}).agent.at(0); }  // by which they are reached

  void send(int host, const control::Message& message);
  void send_all(const control::Message& message);
  std::set<int> ask(const control::Look& look);  // who will answer
  void say_bye(const control::Bye& bye);         // to all, and to who joined and has no ranks
  bool is_told() const;                          // all that was sent is on its way
  void settle();                                 // keeps no room for what was large
  void leave(int host);                          // it is gone, and so are those behind it
  void drop(int host);                           // nothing is expected of it any more
  void drop_those_that_never_came();

 private:
  struct Host : Facts {
    std::unique_ptr<control::StartupChannel> channel;  // null: reached through `via`
    int via = -1;                            // itself, or the host whose daemon started it
    bool is_early = false;                   // started before its machine was read
    std::vector<control::HostPart> to_grow;  // hosts that its daemon is to start
  };
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  Host& host(int index) { return hosts_.at(at(index)); }
  void fail(int index, int status, const std::string& reason, bool is_gone = true);

  // starters.cc
  control::HostPart part_of(int index) const;
  bool is_by_srun() const;
  bool is_reached_here(const control::HostPart& part) const;
  void keep_spares();
  void start_by_tree(const std::vector<control::HostPart>& hosts);
  void start_over_network(const std::vector<control::HostPart>& hosts);
  control::Spawner& add_spawner(std::unique_ptr<control::Spawner> spawner,
                                const std::vector<control::HostPart>& hosts);
  control::SpawnReports reports();
  control::Grow grow_message(std::vector<control::HostPart> hosts) const;

  // hosts.cc
  control::Prepare prepare_for(int index);
  void on_ready(int index, control::ChannelEnds ends);
  void on_closed(int index, const std::string& why);
  void on_frame(int direct, control::Frame&& one);
  // Of what concerns the way to a host. True: nobody else needs to hear it.
  bool take(int index, const control::Heartbeat&);
  bool take(int index, const control::Hello& hello);
  bool take(int index, const control::Started&);
  bool take(int index, const control::HostFailed& report);
  bool take(int index, const control::DaemonFailed& report);
  bool take(int index, const control::Bye&);
  template <class T>
  bool take(int, const T&) {
    return false;
  }

  control::Loop& loop_;
  Round& round_;
  const JobRequest& request_;
  const Course& course_;
  Calls calls_;
  std::vector<std::unique_ptr<control::Spawner>> spawners_;
  std::map<int, control::Spawner*> spawner_of_;  // by host
  std::optional<spawn::Suspension> suspension_;  // of a Slurm job, whose daemons are its steps
  std::vector<Host> hosts_;
  std::vector<std::unique_ptr<control::StartupChannel>> spares_;  // of who joined and has no ranks
};

}  // namespace tutti::launch::job
