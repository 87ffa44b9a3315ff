// prun-pmix: serves PMIx to the ranks of one host. Started by the daemon, with its socket as
// descriptor 0; leaves when that closes.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "control/control.h"
#include "pmix/server.h"

using namespace tutti;
using namespace tutti::launch;

int main() {
  // What is signalled together with its ranks (every process of a Slurm step) is not meant.
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGTSTP})
    std::signal(number, SIG_IGN);
  UniqueFd in(::fcntl(0, F_DUPFD_CLOEXEC, 3)), out(::fcntl(0, F_DUPFD_CLOEXEC, 3));
  if (!in.is_open() || ::isatty(0) != 0) {
    std::fputs("prun-pmix: is started by prun's daemon, not by hand\n", stderr);
    return 2;
  }
  const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  ::dup2(nothing.get(), 0);
  control::Loop loop;
  control::StartupChannel daemon(loop, {std::move(in), std::move(out)});
  const char* const tmpdir = std::getenv("TMPDIR");
  pmix::PmixHost host(loop, daemon, temporary_folder(tmpdir != nullptr ? tmpdir : ""));
  daemon.open(
      [&host](control::Frame&& one) {
        if (const auto message = control::decode(one.body)) host.hear(*message);
      },
      [&loop](const std::string&) { loop.stop(); });
  loop.run();
  return 0;
}
