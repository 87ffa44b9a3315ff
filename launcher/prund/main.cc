// prund: the daemon on a host that prun reached over a network. Its stdin and stdout are the
// channel; what it prints on stderr is shown to the user when the host is lost.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/open_files.h"
#include "control/control.h"
#include "daemon/daemon.h"
#include "spawn/installation.h"
#include "spawn/slurm.h"
#include "spawn/spawn.h"
#include "spawn/ssh_words.h"

using namespace tutti;
using namespace tutti::launch;

namespace {

// Some remote shells run their command without input unless told otherwise.
bool is_deaf() {
  struct stat about {};
  if (::fstat(0, &about) != 0 || (S_ISCHR(about.st_mode) && ::isatty(0) == 0)) return true;
  pollfd input{0, POLLIN, 0};
  return ::poll(&input, 1, 0) > 0 && (input.revents & (POLLIN | POLLHUP)) == POLLHUP;
}

int serve() {
  ::unsetenv(spawn::kStartsDaemon);  // a rank may be a prun
  daemon::DaemonPlace place;
  for (char** environment = environ; *environment != nullptr; ++environment)
    place.environment.emplace_back(*environment);
  place.up.in.reset(::fcntl(0, F_DUPFD_CLOEXEC, 3));
  place.up.out.reset(::fcntl(1, F_DUPFD_CLOEXEC, 3));
  if (!place.up.in.is_open() || !place.up.out.is_open()) {
    std::fputs("prund: is started by prun, not by hand\n", stderr);
    return 2;
  }
  if (const auto enough = can_open_files(); !enough) {
    std::fprintf(stderr, "%s\n", enough.error().text.c_str());
    return 1;
  }
  if (is_deaf()) {
    std::fputs("the remote shell gave its command no input (for kubectl exec: -i)\n", stderr);
    return 1;
  }
  const std::string ready = std::string(spawn::kReadyLine) + "\n";
  if (::write(place.up.out.get(), ready.data(), ready.size()) < 0) return 1;
  const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  ::dup2(nothing.get(), 0);
  ::dup2(nothing.get(), 1);
  place.over_network = true;
  place.library_folder = spawn::this_installation().added_folder;
  place.pmix_program = spawn::this_installation().pmix_program;
  place.info_program = spawn::this_installation().info_program;
  place.make_spawner = [environment = place.environment](control::Loop& loop,
                                                         const control::Grow& grow,
                                                         control::SpawnReports reports) {
    return spawn::spawn_ssh(loop, grow, std::move(reports), environment);
  };
  return daemon::run_kept_daemon(std::move(place));
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGCHLD, SIG_DFL);  // as in prun
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "--serve") return serve();
  if (what == "--hash") {
    std::puts(spawn::name_of_bytes("/proc/self/exe").c_str());
    return 0;
  }
  std::printf("Tutti prund %s: the daemon that prun starts on each host\n",
              control::version().c_str());
  return what == "--version" ? 0 : 2;
}
