// What the servers for other MPIs' programs say about ranks, and when the ranks may start.
#include "daemon/ranks.h"
#include "status/status.h"

namespace tutti::launch::daemon {

RankProcess* Ranks::rank_numbered(int rank) {
  for (RankProcess& one : ranks_)
    if (one.part.rank == rank) return &one;
  return nullptr;
}

void Ranks::make_servers() {
  serve::ServeReports reports;
  // A rank's number is the word of a program: none of ours may have it.
  reports.joined = [this](int rank) {
    if (RankProcess* const one = rank_numbered(rank)) one->joined = true;
  };
  reports.finalized = [this](int rank) {
    if (RankProcess* const one = rank_numbered(rank)) one->finalized = true;
  };
  reports.aborts = [this](int rank, int status, const std::string& reason) {
    RankProcess* const ending = rank_numbered(rank);
    if (ending != nullptr) abort(*ending, status, reason, false);
  };
  reports.note = [this](const std::string& line) { say_(control::Note{line, true}); };
  reports.gather = [this](const control::Gather& part) {
    if (launch_.hosts.size() > 1) return say_(part);
    loop_.post([this, all = control::Gathered{part.name, {part.part}}] { servers_.hear(all); });
  };
  reports.say = say_;
  serve::Needs needs;
  for (const App& app : apps_) {
    needs.pmi1 = needs.pmi1 || app.needs.pmi1;
    needs.pmix = needs.pmix || app.needs.pmix;
    needs.certain = needs.certain || (app.needs.pmix && app.needs.certain);
  }
  servers_.open(loop_, launch_, {place_.host, place_.pmix_program, fds_.server}, needs,
                std::move(reports), [this](const std::string& problem) { on_served(problem); });
}

void Ranks::on_served(const std::string& problem) {
  if (problem.empty()) return start_more();
  say_(control::DaemonFailed{status::of(status::ExitStatus::no_resources), problem});
}

}  // namespace tutti::launch::daemon
