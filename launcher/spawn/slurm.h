// Daemons as steps of a Slurm job: what srun is told, and what scontrol knows of the job.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti::launch::spawn {

using Environment = std::vector<std::string>;  // "NAME=value"

// Set for an srun that starts a daemon. A prun that finds it set was started in srun's place.
inline constexpr const char* kStartsDaemon = "TUTTI_STARTS_DAEMON";

// "gpu:2", "gpu:a100:2,nic:1" by host: what a job has of generic resources, from the words of
// `scontrol show job -d`. Pure.
std::map<std::string, std::string> resources_by_host(const std::string& shown);

// How daemons are started by srun. A step for each host, beside whatever runs there.
//
// srun takes what the job was submitted with (GPUs, tasks and processors of each) for what the step
// is to have, from variables and from slurmctld. A step of one task on one host cannot have all of
// it: srun gets its environment without these variables, the daemon gets them back, and where GPUs
// were not asked for by node, the step asks for those that the job has on its host.
class SlurmSteps {
 public:
  explicit SlurmSteps(const Environment& environment);

  // Words that follow "srun" to run this line of shell on the host.
  std::vector<std::string> words_for(const std::string& host, const std::string& line) const;
  const Environment& environment() const { return environment_; }  // for srun itself

 private:
  Environment environment_;                       // without what shapes a step
  std::vector<std::string> given_back_;           // that
  std::map<std::string, std::string> resources_;  // by host; empty: as srun does it
  std::map<std::string, int> component_;          // by host, of a heterogeneous job
};

// What a user can type to see whether a daemon could be started there.
std::string trial_line(const std::string& agent, const std::string& host);

// Whether a silent host belongs to a job that is suspended, or was a moment ago: its daemon is
// stopped, and not lost.
class Suspension {
 public:
  explicit Suspension(const Environment& environment);
  bool ask();  // scontrol

 private:
  std::string job_;
  std::int64_t seen_ns_ = 0;
};

}  // namespace tutti::launch::spawn
