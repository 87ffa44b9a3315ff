// A daemon on this machine: a forked copy of this process that becomes the daemon.
//
// No exec: what is loaded stays loaded, which makes `prun -np 2 true` quick. The copy keeps no
// descriptor of its parent but its channel, else it would hold open what must be seen closing.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "job/exit_status.h"
#include "spawn/fork_daemon.h"
#include "spawn/installation.h"
#include "spawn/spawn.h"

namespace tutti::launch {

void keep_only(int fd, int as) {
  ::dup2(fd, as);
  ::close_range(static_cast<unsigned>(as) + 1, ~0U, 0);
  ::fcntl(as, F_SETFD, FD_CLOEXEC);
  const int nothing = ::open("/dev/null", O_RDWR);
  ::dup2(nothing, 0);
  ::dup2(nothing, 1);
  if (nothing > 2 && nothing != as) ::close(nothing);
}

void become_daemon(int channel, DaemonPlace place) {
  constexpr int kChannel = 3;
  keep_only(channel, kChannel);
  place.pmix_program = this_installation().pmix_program;
  ::setpgid(0, 0);  // the terminal's signals are for prun, which forwards them
  place.in.reset(kChannel);
  place.out.reset(::fcntl(kChannel, F_DUPFD_CLOEXEC, 0));
  ::_exit(run_daemon(std::move(place)));
}

namespace {

class Local final : public Spawner {
 public:
  Local(Loop& loop, SpawnReports reports, Given given)
      : loop_(loop), reports_(std::move(reports)), given_(std::move(given)) {}

  void start(const std::vector<HostPart>& hosts) override {
    for (const HostPart& host : hosts) start_one(host.host);
  }
  std::string last_words(int) override { return "its daemon ended"; }

 private:
  void start_one(int host) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return fail_later(host);
    UniqueFd ours(ends[0]);
    const UniqueFd theirs(ends[1]);
    const pid_t pid = ::fork();
    if (pid < 0) return fail_later(host);
    if (pid == 0) {
      DaemonPlace place;
      place.library_folder = this_installation().library_folder;
      place.machine = std::move(given_.machine);
      place.environment = std::move(given_.environment);
      become_daemon(theirs.get(), std::move(place));
    }
    const int fd = ours.release();
    loop_.post([this, host, fd] {
      reports_.ready(host, UniqueFd(fd), UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)), {});
    });
  }
  void fail_later(int host) {
    loop_.post([this, host, why = std::string(std::strerror(errno))] {
      reports_.failed(host, status_of(ExitStatus::no_resources), "cannot start a process: " + why);
    });
  }

  Loop& loop_;
  SpawnReports reports_;
  Given given_;
};

}  // namespace

std::unique_ptr<Spawner> spawn_local(Loop& loop, SpawnReports reports, Given given) {
  return std::make_unique<Local>(loop, std::move(reports), std::move(given));
}

}  // namespace tutti::launch
