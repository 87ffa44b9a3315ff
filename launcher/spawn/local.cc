// A daemon on this machine: a forked copy of this process that becomes its keeper.
//
// No exec: what is loaded stays loaded, which makes `prun -np 2 true` quick. Of its parent's
// descriptors the copy keeps its channel only, since an open copy of another one would hide that it
// closed; and prun's output where that is a file, into which ranks write without passing through
// prun.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/shortage.h"
#include "spawn/fork_daemon.h"
#include "spawn/installation.h"
#include "spawn/keepers.h"
#include "spawn/spawn.h"
#include "status/status.h"

namespace tutti::launch::spawn {

static bool is_file(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

void keep_only(int fd, int as, int files) {
  ::dup2(fd, as);
  ::close_range(static_cast<unsigned>(as + files) + 1, ~0U, 0);
  for (int kept = as; kept <= as + files; ++kept) ::fcntl(kept, F_SETFD, FD_CLOEXEC);
  const int nothing = ::open("/dev/null", O_RDWR);
  ::dup2(nothing, 0);
  ::dup2(nothing, 1);
  if (nothing > 2 && nothing != as) ::close(nothing);
}

namespace {

constexpr int kChannel = 3;

int serve(int channel, const std::function<daemon::DaemonPlace()>& make_place) {
  const pid_t keeper = ::getppid();
  daemon::DaemonPlace place = make_place();
  daemon::end_with(keeper);  // a host's namespaces have made that void
  const UniqueFd safe(::fcntl(channel, F_DUPFD_CLOEXEC, kChannel + 3));
  for (const int stream : {1, 2}) {
    ::close(kChannel + stream);
    if (!is_file(stream)) continue;
    ::dup2(stream, kChannel + stream);
    place.files[stream - 1].reset(kChannel + stream);
  }
  keep_only(safe.get(), kChannel, 2);
  place.library_folder = this_installation().added_folder;
  place.pmix_program = this_installation().pmix_program;
  place.info_program = this_installation().info_program;
  place.up.in.reset(kChannel);
  place.up.out.reset(::fcntl(kChannel, F_DUPFD_CLOEXEC, 0));
  return daemon::run_daemon(std::move(place));
}

}  // namespace

void become_daemon(int channel, const std::vector<std::string>& environment,
                   const std::function<daemon::DaemonPlace()>& make_place) {
  ::setpgid(0, 0);  // the terminal's signals are for prun, which forwards them
  const auto step_aside = [channel] {
    keep_only(channel, kChannel);
    return kChannel;
  };
  // How the daemon ended stands in the exit status (Keepers::last_words).
  const auto after = [](int, bool) {};
  ::_exit(
      daemon::keep({[&] { return serve(channel, make_place); }, step_aside, after, environment}));
}

namespace {

// Returns the number of its keeper, or -1.
pid_t fork_daemon(const DaemonInputs& given, UniqueFd* channel) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  channel->reset(ends[0]);
  // Where prun was started without standard output, nothing else may stand there.
  if (ends[0] < 3) channel->reset(::fcntl(ends[0], F_DUPFD_CLOEXEC, 3));
  const UniqueFd theirs(ends[1]);
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  become_daemon(theirs.get(), given.environment, [&given] {
    daemon::DaemonPlace place;
    place.machine = given.machine;
    place.environment = given.environment;
    return place;
  });
}

class Local final : public control::Spawner {
 public:
  Local(control::Loop& loop, control::SpawnReports reports, DaemonInputs given)
      : loop_(loop), reports_(std::move(reports)), given_(std::move(given)) {}

  void start(const std::vector<control::HostPart>& hosts) override {
    for (const control::HostPart& host : hosts) start_one(host.host);
  }
  std::string last_words(int host) override { return keepers_.last_words(host); }

 private:
  void start_one(int host) {
    const bool is_early = given_.early && given_.machine && given_.early->give_to(keepers_, host);
    if (!is_early) {
      UniqueFd ours;
      const pid_t keeper = fork_daemon(given_, &ours);
      if (keeper < 0) return fail_later(host);
      keepers_.add(host, keeper, std::move(ours));
    }
    loop_.post([this, host] { reports_.ready(host, keepers_.channel_to(host)); });
  }
  void fail_later(int host) {
    loop_.post([this, host, why = no_process(errno)] {
      reports_.failed(host, status::of(status::ExitStatus::no_resources), why);
    });
  }

  control::Loop& loop_;
  control::SpawnReports reports_;
  DaemonInputs given_;
  Keepers keepers_;
};

}  // namespace

std::shared_ptr<EarlyDaemon> EarlyDaemon::start(const std::vector<std::string>& environment) {
  UniqueFd channel;
  const pid_t pid = fork_daemon({{}, environment}, &channel);
  return pid < 0 ? nullptr : std::make_shared<EarlyDaemon>(std::move(channel), pid);
}

bool EarlyDaemon::give_to(Keepers& keepers, int host) {
  if (!channel_.is_open()) return false;
  keepers.add(host, keeper_, std::move(channel_));
  return true;
}

EarlyDaemon::~EarlyDaemon() {
  Keepers nobody_took_it;
  give_to(nobody_took_it, 0);
}

std::unique_ptr<control::Spawner> spawn_local(control::Loop& loop, control::SpawnReports reports,
                                              DaemonInputs given) {
  return std::make_unique<Local>(loop, std::move(reports), std::move(given));
}

}  // namespace tutti::launch::spawn
