// The daemon of one host: messages in, messages out, and an orderly end.
//
//   parent --Prepare--> hello --Launch--> ranks run --Bye--> finish, Bye, leave
//
// A closed channel, SIGTERM (the parent died) or a failure of its own ends the ranks at once.
// In the tree it also passes frames on: down to the child that leads to their host, up from any.
#include "daemon/daemon.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <utility>

#include "daemon/checks.h"
#include "daemon/hello.h"
#include "daemon/ranks.h"
#include "daemon/shown.h"
#include "job/exit_status.h"

namespace tutti::launch::daemon {
namespace {

constexpr std::size_t kHoldBytes = 256U << 10;  // output queued for a slow head
constexpr std::chrono::seconds kBeat{5};
constexpr std::chrono::seconds kSilence{30};
constexpr std::chrono::seconds kLastWords{5};  // for a slow reader, when the job is gone

class Daemon {
 public:
  explicit Daemon(DaemonPlace place)
      : place_(std::move(place)),
        up_(loop_, std::move(place_.up)),
        ranks_(loop_, [this](const control::Message& message) { say(message); }) {}

  int run();

 private:
  // A daemon that this one started for the tree.
  struct Child {
    int host;
    std::unique_ptr<control::Channel> channel;
  };

  void say(const control::Message& message);
  static void tell_here(const control::Message& message);
  void hold(bool on);
  void go_on();
  std::size_t unshown() const { return shown_ ? shown_->queued_bytes() : 0; }
  void beat();
  void on_frame(control::Frame&& one);
  void on_up_closed(const std::string& why);
  void on_signal(int number);
  void reap();
  void pass_down(const control::Frame& one);
  void settle_soon();

  void handle(const control::Prepare& prepare);
  void handle(control::Launch& launch);
  void handle(const control::Input& input) { ranks_.input(input); }
  void handle(const control::Addresses& addresses) { ranks_.publish(addresses); }
  void handle(const control::Gone& gone) { ranks_.gone(gone); }
  void handle(const control::Examine& wish) { checks_.examine(host_, wish); }
  void handle(const control::Probe& wish) { checks_.probe(wish); }
  void handle(const control::Look& look);
  void handle(const control::Gathered& all) { ranks_.hear_servers(all); }
  void handle(const control::Fetch& fetch) { ranks_.hear_servers(fetch); }
  void handle(const control::Fetched& fetched) { ranks_.hear_servers(fetched); }
  void handle(const control::Signal& signal);
  void handle(const control::End& end);
  void handle(const control::Bye& bye);
  void handle(const control::Grow& grow);
  template <class T>
  void handle(const T&) {}  // Heartbeat, and what only goes up

  void add_child(int host, control::ChannelEnds ends);
  void child_failed(int host, int status, const std::string& reason);
  void drop_child(int host);
  void leave_when_done();

  DaemonPlace place_;
  control::Loop loop_;
  control::Channel up_;
  Ranks ranks_;
  int host_ = control::kEveryHost;
  std::optional<topo::Machine> machine_;
  std::unique_ptr<Spawner> spawner_;
  Checks checks_{loop_, [this](const control::Message& message) { say(message); }};
  std::map<int, Child> children_;
  bool alone_ = false;  // no other host has a part in the job
  bool leaving_ = false, has_finished_ = false, said_bye_ = false, is_cut_off_ = false;
  int status_ = 0;
  std::unique_ptr<Shown> shown_;  // null: the head shows what ranks write
};

int Daemon::run() {
  adopt_orphans();
  loop_.on_signals({SIGCHLD, SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGUSR1, SIGUSR2},
                   [this](int number) { on_signal(number); });
  up_.open([this](control::Frame&& one) { on_frame(std::move(one)); },
           [this](const std::string& why) {
             if (place_.by_hand && !leaving_)
               std::fprintf(stderr, "prun: the connection to the job was %s\n", why.c_str());
             on_up_closed(why);
           });
  up_.on_drained([this] { go_on(); });
  if (place_.shows_output)
    shown_ = std::make_unique<Shown>(
        loop_, [this](const control::DaemonFailed& why) { say(why); },
        [this] {
          go_on();
          if (is_cut_off_) loop_.stop();
          leave_when_done();
        });
  beat();
  loop_.run();
  const int lost = shown_ ? shown_->tell_loss() : 0;
  if (status_ == 0) status_ = lost;
  sweep_leftovers(place_.environment);  // of a helper that was killed
  return status_;
}

// On this machine the end of prun is seen at once, and a prun that is stopped may go on.
void Daemon::beat() {
  up_.keep_alive(kBeat, place_.over_network ? kSilence : std::chrono::hours{24 * 365});
}

void Daemon::say(const control::Message& message) {
  if (place_.among_strangers) {
    tell_here(message);
    if (const auto numbers = numbers_only(message)) up_.send(host_, *numbers);
    return;
  }
  up_.send(host_, message);
  if (up_.queued_bytes() > kHoldBytes) hold(true);
}

// Words that a head of whom nothing is known does not get are for the user who started this node.
void Daemon::tell_here(const control::Message& message) {
  std::string words;
  if (const auto* note = std::get_if<control::Note>(&message)) words = note->text;
  if (const auto* failed = std::get_if<control::DaemonFailed>(&message)) words = failed->reason;
  if (const auto* aborts = std::get_if<control::RankAborts>(&message)) words = aborts->reason;
  if (const auto* ended = std::get_if<control::RankEnded>(&message)) words = ended->reason;
  if (!words.empty()) std::fprintf(stderr, "prun: %s\n", words.c_str());
}

// A slow head slows the ranks, and the daemons below, instead of filling this one's memory.
void Daemon::hold(bool on) {
  ranks_.hold_output(on);
  for (auto& [host, child] : children_) child.channel->pause_reading(on);
}

// Everybody who was slow has caught up.
void Daemon::go_on() {
  if (up_.queued_bytes() == 0 && unshown() == 0) hold(false);
}

void Daemon::on_frame(control::Frame&& one) {
  if (one.host != control::kEveryHost && host_ != control::kEveryHost && one.host != host_)
    return pass_down(one);
  if (one.host == control::kEveryHost) pass_down(one);
  auto message = control::decode(one.body);
  if (!message) {
    say(control::DaemonFailed{job::status_of(job::ExitStatus::internal), message.error().text});
    return;
  }
  if (place_.among_strangers) {
    auto numbers = numbers_only(std::move(*message));
    if (!numbers) return;
    *message = std::move(*numbers);
  }
  std::visit([this](auto& what) { handle(what); }, *message);
}

void Daemon::pass_down(const control::Frame& one) {
  if (one.host == control::kEveryHost) {
    for (auto& [host, child] : children_) child.channel->send_raw(control::kEveryHost, one.body);
  } else if (const auto child = children_.find(one.host); child != children_.end()) {
    child->second.channel->send_raw(one.host, one.body);
  }
}

void Daemon::on_up_closed(const std::string&) {
  // Nobody is left to report to; what remains is that nothing remains.
  ranks_.end(0);
  ranks_.close_servers();
  spawner_.reset();
  kill_descendants();
  status_ = 1;
  is_cut_off_ = true;
  if (unshown() == 0) return loop_.stop();
  loop_.after(kLastWords, [this] { loop_.stop(); });
}

void Daemon::on_signal(int number) {
  if (number == SIGCHLD) return reap();
  const bool ends = number == SIGINT || number == SIGQUIT || number == SIGHUP;
  if (number == SIGTERM || (ends && place_.by_hand)) on_up_closed("terminated");
  // The others come from a terminal that we happen to share; the head forwards what is meant.
}

void Daemon::reap() {
  int status = 0;
  for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG))
    ranks_.on_child_ended(pid, status);
  // The only host of a job need not wait to be sent away.
  if (alone_ && !leaving_ && ranks_.all_ended()) handle(control::Bye{});
}

void Daemon::handle(const control::Prepare& prepare) {
  host_ = prepare.host;
  machine_ = std::move(place_.machine);
  if (topo::Machine given = machine_of(prepare.machine); !given.threads.empty())
    machine_ = std::move(given);
  if (!machine_ && prepare.want_machine) {
    if (auto machine = topo::read_this_machine(prepare.want_devices ? topo::Devices::read
                                                                    : topo::Devices::left_out))
      machine_ = std::move(*machine);
    else
      say(control::Note{"host " + prepare.name + ": " + machine.error().text});
  }
  say(hello_from(place_, machine_));
}

void Daemon::handle(control::Launch& launch) {
  if (place_.own_launch) {
    auto own = place_.own_launch(host_, launch);
    if (!own)
      return say(
          control::DaemonFailed{job::status_of(job::ExitStatus::internal), own.error().text});
    launch = std::move(*own);
  }
  Ranks::Place place;
  place.host = host_;
  place.library_folder = place_.library_folder;
  place.pmix_program = place_.pmix_program;
  place.environment = place_.environment;
  place.machine = machine_;
  if (place_.shows_output)
    place.show = [this](int stream, std::string_view text) {
      shown_->write(stream, text);
      if (unshown() > kHoldBytes) hold(true);
    };
  place.directory = place_.directory;
  for (const int stream : {0, 1}) place.files[stream] = place_.files[stream].get();
  alone_ = launch.hosts.size() == 1 && !place_.by_hand;
  if (const auto done = ranks_.launch(std::move(launch), place); !done)
    say(control::DaemonFailed{job::status_of(job::ExitStatus::no_resources), done.error().text});
  settle_soon();
}

void Daemon::settle_soon() {
  loop_.after(control::kSettled, [this] {
    up_.settle();
    control::settle();
  });
}

void Daemon::handle(const control::Look& look) {
  ranks_.look(look);
  settle_soon();
}

void Daemon::handle(const control::Signal& signal) {
  // A stopped head sends no heartbeats; that is not silence.
  const bool stops = signal.number == SIGTSTP || signal.number == SIGSTOP;
  if (stops) up_.keep_alive(std::chrono::seconds{0}, kSilence);
  if (signal.number == SIGCONT) beat();
  if (!stops && signal.number != SIGCONT) return ranks_.signal(signal.number);
  // Stopping is not left to the program: one in an orphaned process group would not stop.
  signal_descendants(stops ? SIGSTOP : SIGCONT,
                     [this](pid_t child) { return spawner_ && spawner_->has_started(child); });
}

void Daemon::handle(const control::Bye& bye) {
  if (std::exchange(leaving_, true)) return;
  if (place_.by_hand) status_ = bye.again ? kComeAgain : bye.status;
  ranks_.finish([this] {
    has_finished_ = true;
    leave_when_done();
  });
}

void Daemon::handle(const control::End& end) {
  ranks_.end(end.grace_ms);
  if (end.grace_ms == 0) ranks_.hurry();
}

void Daemon::leave_when_done() {
  if (!has_finished_ || !children_.empty() || unshown() > 0) return;
  if (!std::exchange(said_bye_, true)) say(control::Bye{});
  if (up_.queued_bytes() == 0) return loop_.stop();
  up_.on_drained([this] { leave_when_done(); });
}

void Daemon::handle(const control::Grow& grow) {
  if (!place_.make_spawner) {
    for (const control::HostPart& host : grow.hosts)
      child_failed(host.host, job::status_of(job::ExitStatus::internal),
                   "this daemon starts no others");
    return;
  }
  SpawnReports reports;
  reports.ready = [this](int host, control::ChannelEnds ends) { add_child(host, std::move(ends)); };
  reports.failed = [this](int host, int status, const std::string& reason) {
    child_failed(host, status, reason);
  };
  reports.note = [this](const std::string& text) { say(control::Note{text}); };
  spawner_ = place_.make_spawner(loop_, grow, std::move(reports));
  spawner_->start(grow.hosts);
}

void Daemon::add_child(int host, control::ChannelEnds ends) {
  auto channel = std::make_unique<control::Channel>(loop_, std::move(ends));
  channel->open(
      [this](control::Frame&& one) {
        up_.send_raw(one.host, one.body);
        if (up_.queued_bytes() > kHoldBytes) hold(true);
      },
      [this, host](const std::string& why) {
        std::string words = spawner_ ? spawner_->last_words(host) : "";
        if (!leaving_)
          child_failed(host, job::status_of(job::ExitStatus::host_lost),
                       "the connection was " + why + (words.empty() ? "" : ": " + words));
        drop_child(host);
      });
  channel->keep_alive(kBeat, kSilence);
  children_[host] = Child{host, std::move(channel)};
  // The host is there: its own messages say the rest, and the head sends it Prepare.
  up_.send(host, control::Heartbeat{});
}

void Daemon::child_failed(int host, int status, const std::string& reason) {
  say(control::HostFailed{host, status, reason});
}

void Daemon::drop_child(int host) {
  children_.erase(host);
  leave_when_done();
}

}  // namespace

int run_daemon(DaemonPlace place) {
  return Daemon(std::move(place)).run();
}

}  // namespace tutti::launch::daemon
