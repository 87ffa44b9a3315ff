// A real daemon in a process of its own, driven over its channel.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <variant>

#include "catch.h"
#include "daemon/daemon.h"

namespace tutti::launch::daemon {

// The head's side of one daemon. Reads are plain and blocking: the daemon is another process.
class Driver {
 public:
  // With `output` it is one that a user has started, and shows there what its ranks write.
  explicit Driver(const UniqueFd& output = {}) {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    fd_.reset(ends[0]);
    UniqueFd theirs(ends[1]);
    pid_ = ::fork();
    if (pid_ == 0) {
      fd_.reset();
      DaemonPlace place;
      place.environment = {"PATH=/usr/bin:/bin", "HOME=/"};
      place.by_hand = place.shows_output = output.is_open();
      if (place.by_hand) ::dup2(output.get(), 1);
      place.up.out.reset(::dup(theirs.get()));
      place.up.in = std::move(theirs);
      ::_exit(run_daemon(std::move(place)));
    }
    control::Prepare prepare;
    prepare.want_machine = false;
    send(prepare);
    CHECK(wait_for<control::Hello>().version == control::version());
  }
  ~Driver() {
    fd_.reset();
    int status = 0;
    if (pid_ > 0) ::waitpid(pid_, &status, 0);
  }

  void send(const control::Message& message) { send_at_once({message}); }

  void send_at_once(std::initializer_list<control::Message> messages) {
    std::string bytes;
    for (const control::Message& message : messages)
      bytes += control::frame(0, control::encode(message));
    REQUIRE(::write(fd_.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }

  // To a daemon that may be gone by now.
  void say(const control::Message& message) {
    const std::string bytes = control::frame(0, control::encode(message));
    (void)::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  void launch(const std::string& script, int ranks = 1, bool with_input = false) {
    send(launch_of(script, ranks, with_input));
  }

  static control::Launch launch_of(const std::string& script, int ranks, bool with_input = false) {
    control::Launch launch;
    launch.job_key.assign(32, 'k');
    launch.hosts = {"here"};
    launch.host_of.assign(static_cast<std::size_t>(ranks), 0);
    control::AppPart app;
    app.argv = {"sh", "-c", script};
    app.working_directory = "/";
    launch.apps.push_back(app);
    for (int i = 0; i < ranks; ++i) launch.ranks.push_back({i, 0, with_input && i == 0, {}});
    return launch;
  }

  // The next message of this kind; output met on the way is collected.
  template <class T>
  T wait_for() {
    for (;;) {
      control::Frame one;
      auto more = reader_.next(&one);
      REQUIRE(more);
      if (!*more) {
        char buffer[4096];
        const ssize_t got = ::read(fd_.get(), buffer, sizeof buffer);
        REQUIRE(got > 0);
        reader_.feed({buffer, static_cast<std::size_t>(got)});
        continue;
      }
      const auto message = control::decode(one.body);
      REQUIRE(message);
      if (const auto* output = std::get_if<control::Output>(&*message)) {
        output_ += output->text;
        if (takes_output_) say(control::OutputTaken{output->text.size()});
      }
      if (const auto* wanted = std::get_if<T>(&*message)) return *wanted;
    }
  }

  // Something comes within a moment.
  bool has_more() const {
    pollfd look{fd_.get(), POLLIN, 0};
    return ::poll(&look, 1, 500) > 0;
  }

  // The daemon of a job's only host goes by itself when its ranks have ended.
  void leave() {
    say(control::Bye{});
    wait_for<control::Bye>();
    int status = -1;
    REQUIRE(::waitpid(pid_, &status, 0) == pid_);
    pid_ = 0;
    CHECK(status == 0);
  }

  UniqueFd fd_;
  pid_t pid_ = 0;
  control::FrameReader reader_;
  std::string output_;
  bool takes_output_ = true;  // and says so
};

}  // namespace tutti::launch::daemon
