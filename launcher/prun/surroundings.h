// What the pure rooms are told about the world: files, variables, this machine's name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/cli.h"
#include "hosts/hosts.h"

namespace tutti::launch::prun {

// Standard streams that the caller has closed lead nowhere; else the next descriptor that is made
// would get their number. Output that is lost so is told: a write fails; of errors nobody wants to
// hear.
void hold_standard_streams();
// A line of prun's own (control::own_line) on standard error, where no Terminal is yet.
void say(std::string_view line);
// A text, without the mark of UTF-8 that some editors put first.
Result<std::string> read_file(const std::string& path);
std::optional<std::string> variable(const std::string& name);
bool is_file(const std::string& path);
// Found here, or by PATH.
bool is_program(const std::string& name);
bool is_in_path(const std::string& name);
std::string this_host();
// That prun works in, and the job with it. Error: it is gone.
Result<std::string> this_folder();
// What stands in our variables; and that no prun meant to start Slurm's srun when it started this.
Result<void> check_environment(const std::vector<std::string>& environment);
// Whether this is the only prun of its step of Slurm, where it would take the job's hosts; else
// each would start the whole job.
Result<void> check_alone(const cli::JobSpec& spec);
// The batch system's hosts, the user's, or this machine; without those not wanted. Says in `spec`
// how they are reached, where it does not say it already.
Result<hosts::Allocation> find_hosts(cli::JobSpec& spec, int cores);
// Whether this machine alone is meant, as far as that is known before the machine is read.
bool stays_here(const cli::JobSpec& spec);

}  // namespace tutti::launch::prun
