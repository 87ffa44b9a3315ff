// The world as prun finds it.
#include "prun/surroundings.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/text.h"
#include "base/unique_fd.h"
#include "job/job.h"

namespace tutti::launch::prun {
namespace {

bool has_program(const std::string& name) {
  for (const std::string& folder : text::split(variable("PATH").value_or(""), ':'))
    if (::access((folder + "/" + name).c_str(), X_OK) == 0) return true;
  return false;
}

// Reads each file once, whoever asks: a pipe (`--hostfile <(...)`) has nothing more the second
// time.
hosts::ReadFile reader() {
  return [texts = std::map<std::string, std::string>()](
             const std::string& path) mutable -> Result<std::string> {
    const auto known = texts.find(path);
    if (known != texts.end()) return known->second;
    TUTTI_TRY(text, read_file(path));
    return texts[path] = text;
  };
}

}  // namespace

void hold_standard_streams() {
  for (int fd = 0; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0)  // the lowest number that is free
      (void)!::open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
}

Result<std::string> read_file(const std::string& path) {
  const auto refused = [&path] {
    return fail(Code::arg, "cannot read " + path + ": " + std::strerror(errno));
  };
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return refused();
  std::string text;
  char piece[4096];
  for (;;) {
    const ssize_t bytes = ::read(file.get(), piece, sizeof piece);
    if (bytes == 0) return text;
    if (bytes > 0) text.append(piece, static_cast<std::size_t>(bytes));
    if (bytes < 0 && errno != EINTR) return refused();
  }
}

std::optional<std::string> variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string this_host() {
  utsname names{};
  return ::uname(&names) == 0 ? names.nodename : "localhost";
}

Result<hosts::Allocation> find_hosts(cli::JobSpec& spec, int cores) {
  TUTTI_TRY(batch, hosts::batch_allocation(variable, read_file));
  if (spec.starter == cli::Starter::local) batch.reset();
  TUTTI_TRY(allocation,
            hosts::allocate(plan::wishes_of(spec), reader(), this_host(), cores, batch));
  if (batch && allocation.batch == hosts::Batch::slurm && !spec.starter_given) {
    if (has_program("srun"))
      spec.starter = cli::Starter::slurm;
    else
      spec.notes.emplace_back("no srun in PATH; the hosts of the Slurm job are reached by ssh");
  }
  hosts::HostRules rules{
      spec.placement.excluded, spec.listen.empty() ? spec.placement.most_hosts : 0, {}};
  if (spec.placement.no_local)
    rules.not_this = [](const std::string& name) { return !job::is_this_machine(name); };
  TUTTI_DO(hosts::keep_wanted(allocation, rules));
  return allocation;
}

bool stays_here(const cli::JobSpec& spec) {
  if (!spec.show.empty() || spec.dry_run || spec.torch.used || spec.max_restarts > 0) return false;
  if (!spec.listen.empty() || !spec.join.empty()) return false;
  if (!cli::hosts_of(spec).empty() || !cli::hostfiles_of(spec).empty()) return false;
  if (spec.placement.no_local || !spec.placement.excluded.empty()) return false;
  if (spec.starter == cli::Starter::local) return true;
  if (spec.starter == cli::Starter::virtual_hosts) return false;
  const auto batch = hosts::batch_allocation(variable, read_file);
  return batch && !*batch;
}

}  // namespace tutti::launch::prun
