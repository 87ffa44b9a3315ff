// From a Launch to the servers that its programs need.
#include "daemon/servers.h"

namespace tutti::launch::daemon {
namespace {

serve::ServedJob job_of(const control::Launch& launch, int host) {
  serve::ServedJob job;
  job.job_id = launch.job_id;
  job.host = host;
  job.hosts = launch.hosts;
  job.host_of = launch.host_of;
  job.universe = launch.spec.universe;
  job.app_of.resize(launch.host_of.size());
  for (std::size_t app = 0; app < launch.apps.size(); ++app) {
    const control::AppPart& part = launch.apps[app];
    for (int i = 0; i < part.ranks; ++i)
      if (const auto rank = static_cast<std::size_t>(part.first_rank + i); rank < job.app_of.size())
        job.app_of[rank] = static_cast<int>(app);
  }
  for (const control::RankPart& rank : launch.ranks) job.local.push_back(rank.rank);
  return job;
}

}  // namespace

void Servers::open(control::Loop& loop, const control::Launch& launch, const Place& place,
                   serve::Needs needs, serve::ServeReports reports, const Ready& ready) {
  const serve::ServedJob job = job_of(launch, place.host);
  if (needs.pmi1) pmi1_ = serve::serve_pmi1(loop, job, reports, place.server_fd);
  if (!needs.pmix) return ready("");
  if (!place.pmix_program.empty()) {
    pmix_ = serve::serve_pmix(loop, job, std::move(reports), place.pmix_program, ready);
    return;
  }
  // A script may do without; a program of Open MPI would be alone n times.
  ready(needs.certain ? "this program is of Open MPI and needs a PMIx server, which Tutti has not "
                        "on this host (prun-pmix); install it there, built with OpenPMIx"
                      : "");
}

Result<serve::Server::Outfit> Servers::outfit(int local, const serve::Needs& needs) {
  serve::Server::Outfit outfit;
  if (pmi1_ && needs.pmi1) {
    TUTTI_TRY(mine, pmi1_->outfit(local));
    outfit = std::move(mine);
  }
  if (pmix_ && needs.pmix) {
    TUTTI_TRY(mine, pmix_->outfit(local));
    outfit.variables.insert(outfit.variables.end(), mine.variables.begin(), mine.variables.end());
    // MPICH 5 gives up when it sees signs of both, unless it is told which is meant for it.
    if (outfit.fd.is_open()) outfit.variables.emplace_back("MPIR_CVAR_PMI_VERSION=1");
  }
  return outfit;
}

void Servers::hear(const control::Message& message) {
  if (pmi1_) pmi1_->hear(message);
  if (pmix_) pmix_->hear(message);
}

void Servers::close() {
  pmi1_.reset();
  pmix_.reset();
}

}  // namespace tutti::launch::daemon
