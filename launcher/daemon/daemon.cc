// The daemon of one host: messages in, messages out, and an orderly end.
//
//   parent --Prepare--> hello --Launch--> ranks run --Bye--> finish, Bye, leave
//
// A closed channel, SIGTERM (the parent died) or a failure of its own ends the ranks at once.
// In the tree it also passes frames on: down to the child that leads to their host, up from any.
#include "daemon/daemon.h"

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <utility>

#include "base/environment.h"
#include "control/addresses.h"
#include "control/far_kernel.h"
#include "daemon/below.h"
#include "daemon/checks.h"
#include "daemon/echoes.h"
#include "daemon/hello.h"
#include "daemon/ranks.h"
#include "daemon/shown.h"
#include "status/status.h"

namespace tutti::launch::daemon {
namespace {

constexpr std::size_t kHoldBytes = 256U << 10;  // output that this node shows, queued
constexpr std::size_t kMostUnsent = 4U << 20;   // then ranks and hosts below wait with their words
constexpr std::chrono::seconds kLastWords{5};   // for a slow reader, when the job is gone

class Daemon {
 public:
  explicit Daemon(DaemonPlace place)
      : place_(std::move(place)),
        up_(loop_, std::move(place_.up)),
        ranks_(loop_, [this](const control::Message& message) { say(message); }) {}

  int run();

 private:
  void say(const control::Message& message);
  void hold_while_unsent();
  void hold_or_go_on();
  std::size_t unshown() const { return shown_ ? shown_->queued_bytes() : 0; }
  void beat();
  void on_frame(control::Frame&& one);
  void cut_off(int status);
  int status_when_told(int signal) const {
    return signal == SIGTERM && !place_.by_hand ? kTold : 1;
  }
  void on_signal(int number);
  void hear_keeper();
  void reap();
  void settle_soon();

  void handle(const control::Prepare& prepare);
  void handle(control::Launch& launch);
  void handle(const control::Input& input) { ranks_.input(input); }
  void handle(const control::Window& size) { ranks_.resize(size); }
  void handle(const control::Addresses& addresses) { ranks_.publish(addresses); }
  void handle(const control::Gone& gone) { ranks_.gone(gone); }
  void handle(const control::OutputTaken& taken);
  void handle(const control::Examine& wish) {
    checks_.examine(host_, wish, {place_.info_program, place_.environment});
  }
  void handle(const control::Probe& wish) { checks_.probe(wish); }
  void handle(const control::Look& look);
  void handle(const control::Gathered& all) { ranks_.hear_servers(all); }
  void handle(const control::Fetch& fetch) { ranks_.hear_servers(fetch); }
  void handle(const control::Fetched& fetched) { ranks_.hear_servers(fetched); }
  void handle(const control::Signal& signal);
  void handle(const control::End& end);
  void handle(const control::Bye& bye);
  void handle(const control::Grow& grow) { below_.grow(place_.make_spawner, grow); }
  template <class T>
  void handle(const T&) {}  // Heartbeat, and what only goes up

  void leave_when_done();

  DaemonPlace place_;
  control::Loop loop_;
  control::StartupChannel up_;
  Ranks ranks_;
  int host_ = control::kEveryHost;
  std::optional<topo::Machine> machine_;
  std::vector<std::string> up_addresses_;  // of the machine that the channel leads to
  Checks checks_{loop_, [this](const control::Message& message) { say(message); }};
  Below below_{
      loop_,
      {up_, [this] { hold_while_unsent(); },
       [this](const control::Message& message) { say(message); }, [this] { leave_when_done(); }}};
  bool alone_ = false;  // no other host has a part in the job
  bool leaving_ = false, has_finished_ = false, said_bye_ = false, is_cut_off_ = false;
  int status_ = 0;
  std::uint64_t on_its_way_ = 0, room_ = control::output_room(1);  // bytes of output
  std::unique_ptr<Shown> shown_;  // null: nobody looks at this process
  const pid_t keeper_ = ::getppid();
  bool has_launched_ = false;
  Echoes echoes_;
};

int Daemon::run() {
  adopt_orphans();
  ::mallopt(M_ARENA_MAX, 1);  // no memory of its own for a thread that looks something up
  loop_.on_signals({SIGCHLD, SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGUSR1, SIGUSR2, SIGALRM,
                    SIGABRT, SIGXCPU},
                   [this](int number) { on_signal(number); });
  if (place_.signals.is_open()) loop_.on_readable(place_.signals.get(), [this] { hear_keeper(); });
  up_.open([this](control::Frame&& one) { on_frame(std::move(one)); },
           [this](const std::string& why) {
             if (shown_ && !leaving_) shown_->say("the connection to the job was " + why);
             cut_off(place_.by_hand && leaving_ ? status_ : 1);  // it has the job's
           });
  if (place_.by_hand)
    shown_ = std::make_unique<Shown>(
        loop_, [this](const control::DaemonFailed& why) { say(why); },
        [this] {
          hold_or_go_on();
          if (is_cut_off_) loop_.stop();
          leave_when_done();
        });
  up_.on_drained([this] {
    ranks_.hold_words(false);
    below_.hold(false);
    leave_when_done();
  });
  beat();
  loop_.run();
  if (const int lost = shown_ ? shown_->tell_loss() : 0; status_ == 0) status_ = lost;
  sweep_leftovers(place_.environment);  // of a helper that was killed
  return status_;
}

// On this machine the end of prun is seen at once, and a prun that is stopped may go on. Over a
// network so may it, as long as its machine answers.
void Daemon::beat() {
  if (!place_.over_network) return up_.keep_alive(kBeat, std::chrono::hours{24 * 365});
  up_.keep_alive(kBeat, kSilence, [this] {
    if (place_.by_hand) return control::far_kernel_answers(up_.descriptor());
    const auto way =
        control::connection_from(value_in(place_.environment, "SSH_CONNECTION"), up_addresses_);
    return way && control::far_kernel_answers(*way);
  });
}

void Daemon::say(const control::Message& message) {
  if (place_.among_strangers) {
    if (shown_) shown_->say_words_of(message);
    if (const auto numbers = numbers_only(message)) up_.send(host_, *numbers);
  } else {
    up_.send(host_, message);
  }
  hold_while_unsent();
  const auto* output = std::get_if<control::Output>(&message);
  if (output != nullptr && !place_.among_strangers) {
    on_its_way_ += output->text.size();
    hold_or_go_on();
  }
}

// Where prun is slow to take what is said, it waits with who says it, and goes on when all is sent.
void Daemon::hold_while_unsent() {
  if (up_.queued_bytes() <= kMostUnsent) return;
  ranks_.hold_words(true);
  below_.hold(true);
}

// A slow reader slows the ranks instead of filling memory; half of the room is free before they
// are read again.
void Daemon::hold_or_go_on() {
  if (on_its_way_ >= room_ || unshown() > kHoldBytes)
    ranks_.hold_output(true);
  else if (on_its_way_ <= room_ / 2 && unshown() == 0)
    ranks_.hold_output(false);
}

void Daemon::handle(const control::OutputTaken& taken) {
  on_its_way_ -= std::min(on_its_way_, taken.bytes);
  hold_or_go_on();
}

void Daemon::on_frame(control::Frame&& one) {
  if (one.host != control::kEveryHost && host_ != control::kEveryHost && one.host != host_)
    return below_.pass_down(one);
  if (one.host == control::kEveryHost) below_.pass_down(one);
  auto message = control::decode(one.body);
  if (!message) {
    say(control::DaemonFailed{status::of(status::ExitStatus::internal), message.error().text});
    return;
  }
  if (place_.among_strangers) {
    auto numbers = numbers_only(std::move(*message));
    if (!numbers) return;
    *message = std::move(*numbers);
  }
  std::visit([this](auto& what) { handle(what); }, *message);
}

// Nobody is left to report to; what remains is that nothing remains.
void Daemon::cut_off(int status) {
  status_ = status;
  if (std::exchange(is_cut_off_, true)) return;
  ranks_.end(0);
  ranks_.close_servers();
  below_.end();
  kill_descendants();
  if (unshown() == 0) return loop_.stop();
  loop_.after(kLastWords, [this] { loop_.stop(); });
}

void Daemon::on_signal(int number) {
  if (number == SIGCHLD) return reap();
  const bool has_keeper = ::getppid() == keeper_;
  // Slurm may signal every process of a step; what is meant for the ranks, the keeper says.
  if (number == SIGTERM && has_keeper && place_.signals.is_open() && !place_.by_hand) return;
  if (number == SIGTERM && !has_keeper && place_.over_network)  // else nobody hears how it ended
    std::fputs("its keeper was killed\n", stderr);
  const bool ends = number == SIGINT || number == SIGQUIT || number == SIGHUP;
  if (number == SIGTERM || (ends && place_.by_hand)) cut_off(status_when_told(number));
  // The others come from a terminal that we happen to share; the head forwards what is meant.
}

void Daemon::hear_keeper() {
  unsigned char number = 0;
  const ssize_t got = ::read(place_.signals.get(), &number, 1);
  if (got == 0) loop_.forget(place_.signals.get());  // SIGTERM says the same
  if (got != 1 || number == 0) return;
  const bool ends = number == SIGTERM || number == SIGINT || number == SIGQUIT || number == SIGHUP;
  if (ends && !has_launched_) return cut_off(status_when_told(number));
  if (!echoes_.note_from_keeper(number)) return;
  if (number != SIGCONT) return ranks_.signal(number);
  ranks_.pause(false);
  signal_descendants(SIGCONT, [this](pid_t child) { return below_.has_started(child); });
}

void Daemon::reap() {
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    ranks_.on_child_ended(pid, status);
    below_.child_ended(pid, status);
  }
  // The only host of a job need not wait to be sent away.
  if (alone_ && !leaving_ && ranks_.all_ended()) handle(control::Bye{});
}

void Daemon::handle(const control::Prepare& prepare) {
  host_ = prepare.host;
  up_addresses_ = prepare.up_addresses;
  auto machine = machine_to_tell(place_, prepare);
  if (machine)
    machine_ = std::move(*machine);
  else
    say(control::Note{machine.error().text, true});
  if (const std::string none = control::none_among(prepare.interfaces); !none.empty())
    say(control::Note{none, true});
  say(hello_from(place_, machine_, prepare.interfaces));
}

void Daemon::handle(control::Launch& launch) {
  has_launched_ = true;
  if (place_.own_launch) {
    auto own = place_.own_launch(host_, launch);
    if (!own)
      return say(control::DaemonFailed{status::of(status::ExitStatus::internal), own.error().text});
    launch = std::move(*own);
  }
  Ranks::Place place;
  place.host = host_;
  place.library_folder = place_.library_folder;
  place.pmix_program = place_.pmix_program;
  place.environment = place_.environment;
  replace_in(place.environment, launch.environment);
  place.machine = machine_;
  if (place_.shows_output)
    place.show = [this](int stream, std::string_view text) {
      shown_->write(stream, text);
      hold_or_go_on();
    };
  place.directory = place_.directory;
  for (const int stream : {0, 1}) place.files[stream] = place_.files[stream].get();
  room_ = control::output_room(launch.hosts.size());
  alone_ = launch.hosts.size() == 1 && !place_.by_hand;
  if (const auto done = ranks_.launch(std::move(launch), place); !done)
    say(control::DaemonFailed{status::of(status::ExitStatus::no_resources), done.error().text});
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
  if (!stops && signal.number != SIGCONT) {
    if (echoes_.note_from_head(signal.number)) ranks_.signal(signal.number);
    return;
  }
  ranks_.pause(stops);
  // Stopping is not left to the program: one in an orphaned process group would not stop.
  signal_descendants(stops ? SIGSTOP : SIGCONT,
                     [this](pid_t child) { return below_.has_started(child); });
}

void Daemon::handle(const control::Bye& bye) {
  if (place_.by_hand) status_ = bye.again ? kComeAgain : bye.status;  // the last one's counts
  if (std::exchange(leaving_, true)) return;
  below_.leave();
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
  if (!has_finished_ || !below_.empty() || unshown() > 0) return;
  if (!std::exchange(said_bye_, true)) say(control::Bye{});
  if (up_.queued_bytes() == 0) loop_.stop();
}

}  // namespace

int run_daemon(DaemonPlace place) {
  return Daemon(std::move(place)).run();
}

}  // namespace tutti::launch::daemon
