// A torchrun node starts what its own command line says. Of what the leading node says only these
// are taken: which ranks run here and where the others are, addresses, the job's number and key,
// and knobs by name. Nothing said becomes a program, an argument, a folder or the name of a file.
#include <algorithm>
#include <string_view>

#include "base/environment.h"
#include "base/knobs.h"
#include "job/job.h"
#include "job/parts.h"
#include "model/costs.h"
#include "wireup/protocol.h"

namespace tutti::launch::job {
namespace {

// Of names, addresses and a knob's value.
bool is_plain(const std::string& text) {
  return text.size() < 256 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view("-_.:%,=").find(c) != std::string_view::npos;
         });
}

bool makes_sense(const control::Launch& said, int slots, int host) {
  const auto hosts = static_cast<int>(said.hosts.size());
  return said.ranks.size() <= static_cast<std::size_t>(slots) &&
         said.host_of.size() <= static_cast<std::size_t>(wireup::kMostRanks) && host >= 0 &&
         host < hosts && is_plain(said.spec.master_address) && said.spec.master_port >= 0 &&
         said.spec.master_port < 65536 && model::parse_costs(said.spec.costs) &&
         std::all_of(said.hosts.begin(), said.hosts.end(), is_plain) &&
         std::all_of(said.host_of.begin(), said.host_of.end(),
                     [hosts](int one) { return one >= 0 && one < hosts; });
}

bool is_set(const std::vector<std::string>& environment, const std::string& name) {
  return std::any_of(environment.begin(), environment.end(),
                     [&](const std::string& entry) { return entry.starts_with(name + "="); });
}

// Knobs that the leading node has set and this one has not.
void add_knobs(control::AppPart& part, const control::Launch& said,
               const std::vector<std::string>& environment) {
  if (said.apps.empty()) return;
  const auto& rows = Knobs::rows();
  for (const control::Variable& given : said.apps[0].environment) {
    const bool known = std::any_of(rows.begin(), rows.end(),
                                   [&](const KnobRow& row) { return given.name == row.name; });
    if (!known || given.unset || !is_plain(given.value) || is_set(environment, given.name))
      continue;
    part.environment.insert(part.environment.begin(), {given.name, given.value, false, {}, false});
  }
}

}  // namespace

Result<control::Launch> own_launch(const JobRequest& request, int slots, int host,
                                   const control::Launch& said) {
  const auto senseless = [] {
    return fail(Code::intern, "the node that leads sent a plan that makes no sense here");
  };
  if (!makes_sense(said, slots, host)) return senseless();
  plan::Plan plan;  // as far as it is said: which rank is on which host
  for (const std::string& name : said.hosts) plan.hosts.push_back({name, 1, 0});
  for (std::size_t i = 0; i < said.host_of.size(); ++i) {
    plan::PlannedRank& rank = plan.ranks.emplace_back();
    rank.rank = static_cast<int>(i);
    rank.host = said.host_of[i];
    rank.local_rank = plan.hosts[static_cast<std::size_t>(rank.host)].local_ranks++;
  }
  const JobSecrets secrets{said.job_id, said.job_key, said.restarts, said.restarts};
  control::Launch own =
      common_part(request.spec, plan, secrets, request.directory, request.environment, false);
  add_ranks(own, request.spec, plan, host);
  if (own.ranks.size() != said.ranks.size()) return senseless();
  for (std::size_t i = 0; i < own.ranks.size(); ++i) {
    own.ranks[i].cpus = said.ranks[i].cpus;
    own.ranks[i].nodes = said.ranks[i].nodes;
    own.ranks[i].takes_stdin = false;
  }
  own.spec.universe = said.spec.universe;
  own.spec.max_restarts = said.spec.max_restarts;
  own.spec.costs = said.spec.costs;
  own.spec.master_address = said.spec.master_address;
  own.spec.master_port = said.spec.master_port;
  own.machine_ranks = said.machine_ranks;
  own.machine_cores = said.machine_cores;
  for (control::AppPart& part : own.apps) add_knobs(part, said, request.environment);
  return own;
}

}  // namespace tutti::launch::job
