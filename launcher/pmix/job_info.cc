// What Open MPI needs to know of a job: found by trying (each fact left out breaks some version).
#include "pmix/job_info.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

namespace tutti::launch::pmix {
namespace {

// Ranks by host, in order.
std::vector<std::vector<int>> ranks_by_host(const control::ServeJob& job) {
  std::vector<std::vector<int>> all(job.hosts.size());
  for (std::size_t rank = 0; rank < job.host_of.size(); ++rank)
    all.at(static_cast<std::size_t>(job.host_of[rank])).push_back(static_cast<int>(rank));
  return all;
}

std::string joined(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

// A map as PMIx compresses it: may hold any bytes, so it is handed over as the library made it.
template <class Compress>
std::string compressed(Compress compress, const std::string& plain) {
  char* made = nullptr;
  if (compress(plain.c_str(), &made) != PMIX_SUCCESS || made == nullptr) return plain;
  std::string text = made;
  std::free(made);
  return text;
}

void add_maps(InfoList& facts, const control::ServeJob& job,
              const std::vector<std::vector<int>>& by_host) {
  std::string nodes, ranks;
  for (std::size_t host = 0; host < job.hosts.size(); ++host) {
    nodes += (host > 0 ? "," : "") + job.hosts[host];
    ranks += (host > 0 ? ";" : "") + joined(by_host[host]);
  }
  facts.add(PMIX_NODE_MAP, compressed(PMIx_generate_regex, nodes));
  facts.add(PMIX_PROC_MAP, compressed(PMIx_generate_ppn, ranks));
}

void add_hosts(InfoList& facts, const control::ServeJob& job,
               const std::vector<std::vector<int>>& by_host) {
  for (std::size_t host = 0; host < job.hosts.size(); ++host) {
    const auto& ranks = by_host[host];
    if (ranks.empty()) continue;
    InfoList one;
    one.add(PMIX_HOSTNAME, job.hosts[host]);
    one.add(PMIX_NODEID, static_cast<std::uint32_t>(host));
    one.add(PMIX_LOCAL_SIZE, static_cast<std::uint32_t>(ranks.size()));
    one.add(PMIX_NODE_SIZE, static_cast<std::uint32_t>(ranks.size()));
    one.add(PMIX_LOCAL_PEERS, joined(ranks));
    one.add_rank(PMIX_LOCALLDR, static_cast<pmix_rank_t>(ranks.front()));
    facts.add_list(PMIX_NODE_INFO_ARRAY, std::move(one));
  }
}

void add_programs(InfoList& facts, const control::ServeJob& job) {
  std::map<int, std::vector<int>> by_app;
  for (std::size_t rank = 0; rank < job.app_of.size(); ++rank)
    by_app[job.app_of[rank]].push_back(static_cast<int>(rank));
  for (const auto& [app, ranks] : by_app) {
    InfoList one;
    one.add(PMIX_APPNUM, static_cast<std::uint32_t>(app));
    one.add(PMIX_APP_SIZE, static_cast<std::uint32_t>(ranks.size()));
    one.add_rank(PMIX_APPLDR, static_cast<pmix_rank_t>(ranks.front()));
    facts.add_list(PMIX_APP_INFO_ARRAY, std::move(one));
  }
}

void add_ranks(InfoList& facts, const control::ServeJob& job,
               const std::vector<std::vector<int>>& by_host) {
  for (std::size_t rank = 0; rank < job.host_of.size(); ++rank) {
    const auto host = static_cast<std::size_t>(job.host_of[rank]);
    const auto& here = by_host[host];
    const auto local = static_cast<std::uint16_t>(
        std::find(here.begin(), here.end(), static_cast<int>(rank)) - here.begin());
    InfoList one;
    one.add_rank(PMIX_RANK, static_cast<pmix_rank_t>(rank));
    one.add_rank(PMIX_GLOBAL_RANK, static_cast<pmix_rank_t>(rank));
    one.add_rank(PMIX_APP_RANK, static_cast<pmix_rank_t>(rank));
    one.add_short(PMIX_LOCAL_RANK, local);
    one.add_short(PMIX_NODE_RANK, local);
    one.add(PMIX_NODEID, static_cast<std::uint32_t>(host));
    one.add(PMIX_APPNUM, static_cast<std::uint32_t>(job.app_of.at(rank)));
    one.add(PMIX_HOSTNAME, job.hosts[host]);
    facts.add_list(PMIX_PROC_INFO_ARRAY, std::move(one));
  }
}

}  // namespace

void InfoList::add_value(const char* key, const void* value, pmix_data_type_t type) {
  pmix_info_t& info = all_.emplace_back();
  PMIX_INFO_LOAD(&info, key, value, type);
}
void InfoList::add(const char* key, const std::string& text) {
  add_value(key, text.c_str(), PMIX_STRING);
}
void InfoList::add(const char* key, std::uint32_t number) {
  add_value(key, &number, PMIX_UINT32);
}
void InfoList::add_rank(const char* key, pmix_rank_t rank) {
  add_value(key, &rank, PMIX_PROC_RANK);
}
void InfoList::add_short(const char* key, std::uint16_t number) {
  add_value(key, &number, PMIX_UINT16);
}
void InfoList::add_list(const char* key, InfoList list) {
  pmix_data_array_t array{};
  array.type = PMIX_INFO;
  array.size = list.size();
  array.array = list.data();
  add_value(key, &array, PMIX_DATA_ARRAY);  // copies
}

std::string name_of_job(const control::ServeJob& job) {
  return "tutti-" + std::to_string(job.job_id);
}

InfoList facts_of(const control::ServeJob& job, const std::string& folder) {
  const auto by_host = ranks_by_host(job);
  const auto size = static_cast<std::uint32_t>(job.host_of.size());
  const auto& here = by_host.at(static_cast<std::size_t>(job.host));
  std::size_t used = 0;
  for (const auto& ranks : by_host) used += ranks.empty() ? 0 : 1;
  InfoList facts;
  facts.add(PMIX_JOBID, name_of_job(job));
  facts.add(PMIX_JOB_SIZE, size);
  facts.add(PMIX_UNIV_SIZE, std::max(size, static_cast<std::uint32_t>(job.universe)));
  facts.add(PMIX_MAX_PROCS, std::max(size, static_cast<std::uint32_t>(job.universe)));
  facts.add(PMIX_JOB_NUM_APPS, static_cast<std::uint32_t>(
                                   1 + *std::max_element(job.app_of.begin(), job.app_of.end())));
  facts.add(PMIX_NUM_NODES, static_cast<std::uint32_t>(used));
  facts.add(PMIX_LOCAL_SIZE, static_cast<std::uint32_t>(here.size()));
  facts.add(PMIX_NODE_SIZE, static_cast<std::uint32_t>(here.size()));
  facts.add(PMIX_LOCAL_PEERS, joined(here));
  if (!here.empty()) facts.add_rank(PMIX_LOCALLDR, static_cast<pmix_rank_t>(here.front()));
  facts.add(PMIX_NODEID, static_cast<std::uint32_t>(job.host));
  facts.add(PMIX_TMPDIR, folder);
  facts.add(PMIX_NSDIR, folder);
  add_maps(facts, job, by_host);
  add_programs(facts, job);
  add_hosts(facts, job, by_host);
  add_ranks(facts, job, by_host);
  return facts;
}

}  // namespace tutti::launch::pmix
