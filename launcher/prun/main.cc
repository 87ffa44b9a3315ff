// prun: starts a job and returns its status. argv -> cli -> hosts -> plan -> job.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/open_files.h"
#include "cli/cli.h"
#include "control/control.h"
#include "hosts/hosts.h"
#include "job/job.h"
#include "plan/plan.h"
#include "prun/ask.h"
#include "prun/descriptors.h"
#include "prun/nodes.h"
#include "prun/surroundings.h"
#include "spawn/early.h"
#include "status/status.h"
#include "topo/gpus.h"
#include "wireup/protocol.h"

using namespace tutti;
using namespace tutti::launch;
using namespace tutti::launch::prun;

namespace {

int complain(status::ExitStatus status, const std::string& line) {
  say(line);
  return status::of(status);
}

// Others have a prun, an mpirun and a torchrun as well: whose this is, and where it lies.
std::string version_text(const std::string& called_as) {
  std::array<char, 4096> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  std::string text = "Tutti prun " + control::version() + " (MPI 5.0 standard ABI)\n";
  if (length > 0) text += std::string(path.data(), static_cast<std::size_t>(length));
  if (called_as != "prun") text += ", called as " + called_as;
  return text + "\n";
}

int print_help(const std::string& topic, const std::string& called_as) {
  const auto text = cli::help_text(topic.empty() && called_as == "torchrun" ? called_as : topic);
  if (text) std::fputs(text->c_str(), stdout);
  if (!text) say(text.error().text);
  return status::of(text ? status::ExitStatus::success : status::ExitStatus::usage);
}

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return status::of(status::ExitStatus::success);
}

// What needs no host; nothing: a job is to run, hosts are to be checked or a job is to be joined.
std::optional<int> answer(const cli::JobSpec& spec, std::string called_as) {
  called_as.erase(0, called_as.rfind('/') + 1);
  const cli::Command& command = spec.command;
  if (const auto* help = std::get_if<cli::PrintHelp>(&command))
    return print_help(help->topic, called_as);
  if (const auto* page = std::get_if<cli::PrintPage>(&command))
    return print(cli::page_text(page->page));
  if (std::holds_alternative<cli::PrintVersion>(command)) return print(version_text(called_as));
  if (std::holds_alternative<cli::ListJobs>(command)) return list_jobs();
  if (const auto* wish = std::get_if<cli::PrintStacks>(&command)) return print_stacks(*wish);
  if (const auto* wish = std::get_if<cli::AttachDebugger>(&command))
    return attach_debugger(*wish, spec);
  return std::nullopt;
}

// --report-pid. False: it cannot be written, which was said.
bool report_pid(const std::string& where) {
  if (where.empty()) return true;
  std::FILE* file = where == "-" ? stdout : where == "+" ? stderr : std::fopen(where.c_str(), "we");
  bool good = file != nullptr && std::fprintf(file, "%d\n", static_cast<int>(::getpid())) > 0;
  if (file != nullptr && file != stdout && file != stderr) good = std::fclose(file) == 0 && good;
  if (!good)
    complain(status::ExitStatus::usage,
             "--report-pid " + where + " cannot be written: " + std::strerror(errno));
  return good;
}

// What was printed here is written, or it is told: a full disk. What ranks write is not printed
// here.
int with_all_written(int status) {
  errno = 0;
  const bool good = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (good) return status;
  return complain(status::ExitStatus::no_resources,
                  "standard output could not be written: " +
                      std::string(errno == 0 ? "some of it was refused" : std::strerror(errno)));
}

// Of its GPUs those that a program started here would see.
Result<topo::Machine> read_machine(bool with_devices) {
  if (!with_devices) return topo::read_this_machine();
  auto machine = topo::read_this_machine(topo::DeviceReading::read);
  if (machine)
    topo::keep_usable_gpus(*machine, topo::nvidia_driver(), variable("CUDA_VISIBLE_DEVICES"));
  return machine;
}

void say_remarks(const cli::JobSpec& spec) {
  for (const std::string& warning : spec.warnings) say(warning);
  for (const std::string& note : job::shown_of(spec.notes, spec)) say(note);
}

int run(int argc, char** argv) {
  job::JobRequest request;
  // The join key is for nobody whom prun starts: not ssh, not srun, no rank.
  request.join_key = variable(wireup::kJoinKeyVariable).value_or("");
  ::unsetenv(wireup::kJoinKeyVariable);
  for (char** entry = environ; *entry != nullptr; ++entry) request.environment.emplace_back(*entry);
  if (const auto good = check_environment(request.environment); !good)
    return complain(status::ExitStatus::usage, good.error().text);
  auto spec = cli::parse_command_line({argv, argv + argc},
                                      {read_file, variable, is_file, is_program, is_in_path});
  if (!spec) return complain(status::ExitStatus::usage, spec.error().text);
  if (const auto answered = answer(*spec, argc > 0 ? argv[0] : "prun")) return *answered;
  if (const auto settled = settle_output(spec->output); !settled)
    return complain(status::ExitStatus::usage, settled.error().text);
  const auto folder = this_folder();
  if (!folder) return complain(status::ExitStatus::usage, folder.error().text);
  request.directory = *folder;
  if (stays_here(*spec)) request.early = spawn::EarlyDaemon::start(request.environment);
  auto machine = read_machine(plan::wants_devices(*spec));
  if (machine) request.machine = *machine;
  if (machine) machine = plan::restricted(*machine, spec->placement);
  if (!machine && request.machine) return complain(status::ExitStatus::usage, machine.error().text);
  if (const auto settled = settle_torch(*spec, request.machine); !settled)
    return complain(status::ExitStatus::usage, settled.error().text);
  say_remarks(*spec);

  if (!report_pid(spec->pid_file)) return status::of(status::ExitStatus::usage);
  if (const auto alone = check_alone(*spec); !alone)
    return complain(status::ExitStatus::usage, alone.error().text);
  auto allocation = find_hosts(*spec, machine ? plan::usable_slots(*machine, spec->placement) : 1);
  if (!allocation) return complain(status::ExitStatus::bad_hostfile, allocation.error().text);
  request.spec = *spec;
  request.allocation = *allocation;
  if (std::holds_alternative<cli::CheckHosts>(spec->command)) {
    for (const hosts::HostSlots& host : allocation->hosts)
      request.plan.hosts.push_back({host.name, 1, 0});
    return job::run_job(std::move(request));
  }
  auto met = meet(request, request.machine, this_host());
  if (!met) return complain(status::ExitStatus::no_allocation, met.error().text);
  if (*met) return **met;
  if (request.meeting) return job::run_job(std::move(request));
  auto plan = plan::map_ranks(*spec, *allocation, request.machine ? &*request.machine : nullptr);
  if (!plan) return complain(status::ExitStatus::too_few_slots, plan.error().text);
  if (const auto named = plan::check_streams(*spec, *plan); !named)
    return complain(status::ExitStatus::usage, named.error().text);
  if (spec->display_allocation) std::fputs(plan::print_allocation(*allocation).c_str(), stdout);
  if (spec->dry_run) {
    const bool here = machine && !allocation->given;  // other hosts' machines are not known yet
    auto text = plan::dry_run(std::move(*plan), *spec, here ? &*request.machine : nullptr);
    if (!text) return complain(status::ExitStatus::usage, text.error().text);
    std::fputs(text->c_str(), stdout);
    return status::of(status::ExitStatus::success);
  }
  if (spec->display_map) std::fputs(plan::print_plan(*plan, *spec).c_str(), stdout);

  request.plan = std::move(*plan);
  if (const int written = with_all_written(0); written != 0) return written;
  return job::run_job(std::move(request));
}

}  // namespace

int main(int argc, char** argv) {
  hold_standard_streams();
  std::signal(SIGCHLD, SIG_DFL);  // who is told to ignore it never hears how a child ended
  if (const auto enough = can_open_files(); !enough)
    return complain(status::ExitStatus::no_resources, enough.error().text);
  return with_all_written(run(argc, argv));
}
