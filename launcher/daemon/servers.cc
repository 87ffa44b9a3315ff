// From a Launch to the servers that its programs need.
#include "daemon/servers.h"

#include "daemon/launch.h"

namespace tutti::launch {
namespace {

ServedJob job_of(const Launch& launch, int host) {
  ServedJob job;
  job.job_id = launch.job_id;
  job.host = host;
  job.hosts = launch.hosts;
  job.host_of = launch.host_of;
  job.universe = launch.universe;
  job.app_of.resize(launch.host_of.size());
  for (std::size_t app = 0; app < launch.apps.size(); ++app) {
    const AppPart& part = launch.apps[app];
    for (int i = 0; i < part.ranks; ++i)
      if (const auto rank = static_cast<std::size_t>(part.first_rank + i); rank < job.app_of.size())
        job.app_of[rank] = static_cast<int>(app);
  }
  for (const RankPart& rank : launch.ranks) job.local.push_back(rank.rank);
  return job;
}

}  // namespace

void Servers::open(Loop& loop, const Launch& launch, int host, Needs needs, ServeReports reports) {
  forced_ = !launch.serve.empty();
  if (forced_) needs = {launch.serve == "pmi1", launch.serve == "pmix"};
  if (needs.pmi1) pmi1_ = serve_pmi1(loop, job_of(launch, host), std::move(reports), kServerFd);
}

Result<Server::Outfit> Servers::outfit(int local, const Needs& needs) {
  if (pmi1_ && (needs.pmi1 || forced_)) return pmi1_->outfit(local);
  return Server::Outfit{};
}

void Servers::on_gathered(const Gathered& all) {
  if (pmi1_) pmi1_->on_gathered(all);
}

}  // namespace tutti::launch
