// What daemons say to each other by way of the head: addresses of ranks, and what the servers for
// programs of other MPIs exchange.
#include <algorithm>

#include "job/head.h"
#include "status/status.h"

namespace tutti::launch::job {
namespace {

constexpr std::chrono::milliseconds kAddressDelay{10};
constexpr std::chrono::milliseconds kGoneDelay{100};

}  // namespace

void Head::handle(int index, const control::Addresses& addresses) {
  const auto is_its_own = [this, index](int rank) {
    return rank >= 0 && at(rank) < request_.plan.ranks.size() &&
           request_.plan.ranks[at(rank)].host == index;
  };
  if (addresses.ranks.size() != addresses.addresses.size() ||
      !std::all_of(addresses.ranks.begin(), addresses.ranks.end(), is_its_own))
    return host_failed(index, status::of(status::ExitStatus::host_lost),
                       "its daemon said addresses of ranks that it does not run");
  auto& all = addresses_;
  if (all.generation != addresses.generation) send_addresses();
  all.generation = addresses.generation;
  all.ranks.insert(all.ranks.end(), addresses.ranks.begin(), addresses.ranks.end());
  all.addresses.insert(all.addresses.end(), addresses.addresses.begin(), addresses.addresses.end());
  const std::size_t expected = request_.plan.ranks.size() * (addresses.generation + std::size_t{1});
  if (addresses_sent_ + all.ranks.size() >= expected) return send_addresses();
  loop_.cancel(address_timer_);
  address_timer_ = loop_.after(kAddressDelay, [this] { send_addresses(); });
}

void Head::send_addresses() {
  if (addresses_.ranks.empty()) return;
  addresses_sent_ += addresses_.ranks.size();
  send_all(addresses_);
  addresses_ = {};
}

// Who lives may wait for it: at once where it did not finalize, else together with others.
void Head::tell_hosts_of(const control::RankEnded& report) {
  if (course_.ranks_left == 0 || hosts_.size() == 1) return;
  gone_.ranks.push_back(report.rank);
  gone_.finalized.push_back(report.programs);
  loop_.cancel(gone_timer_);
  const auto tell = [this] {
    if (course_.ranks_left > 0) send_all(std::exchange(gone_, {}));
  };
  if (!report.finalized) return tell();
  gone_timer_ = loop_.after(kGoneDelay, tell);
}

void Head::handle(int index, const control::Gather& part) {
  auto& parts = gathers_[part.name];
  parts[index] = part.part;
  std::vector<int> hosts = part.hosts;
  for (int one = 0; part.hosts.empty() && at(one) < hosts_.size(); ++one) hosts.push_back(one);
  control::Gathered all{part.name, {}};
  for (const int one : hosts) {
    const auto said = parts.find(one);
    if (said == parts.end()) return;
    all.parts.push_back(said->second);
  }
  gathers_.erase(part.name);
  for (const int one : hosts)
    if (one >= 0 && at(one) < hosts_.size()) send(one, all);
}

void Head::handle(int, const control::Fetch& fetch) {
  if (fetch.rank >= 0 && at(fetch.rank) < request_.plan.ranks.size())
    send(request_.plan.ranks[at(fetch.rank)].host, fetch);
}

void Head::handle(int, const control::Fetched& fetched) {
  if (fetched.asker >= 0 && at(fetched.asker) < hosts_.size()) send(fetched.asker, fetched);
}

}  // namespace tutti::launch::job
