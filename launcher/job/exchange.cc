// Addresses and ends are collected for a moment, so that a large job needs few messages for them.
#include "job/exchange.h"

#include <algorithm>
#include <utility>

namespace tutti::launch::job {
namespace {

constexpr std::chrono::milliseconds kAddressDelay{10};
constexpr std::chrono::milliseconds kGoneDelay{100};

}  // namespace

Result<void> AddressExchange::take(const control::Addresses& addresses) {
  if (addresses.ranks.size() != addresses.addresses.size())
    return tutti::fail(Code::other, "its daemon said more ranks than addresses, or less");
  auto& all = addresses_;
  if (all.generation != addresses.generation) send_addresses();
  all.generation = addresses.generation;
  all.ranks.insert(all.ranks.end(), addresses.ranks.begin(), addresses.ranks.end());
  all.addresses.insert(all.addresses.end(), addresses.addresses.begin(), addresses.addresses.end());
  loop_.cancel(address_timer_);
  const std::size_t expected = plan_.ranks.size() * (addresses.generation + std::size_t{1});
  if (addresses_sent_ + all.ranks.size() >= expected)
    send_addresses();
  else
    address_timer_ = loop_.after(kAddressDelay, [this] { send_addresses(); });
  return {};
}

void AddressExchange::send_addresses() {
  if (addresses_.ranks.empty()) return;
  addresses_sent_ += addresses_.ranks.size();
  hosts_.send_all(addresses_);
  addresses_ = {};
}

// Who lives may wait for it: at once where it did not finalize, else together with others.
void AddressExchange::take(const control::RankEnded& report) {
  if (course_.ranks_left == 0 || hosts_.count() == 1) return;
  gone_.ranks.push_back(report.rank);
  gone_.finalized.push_back(report.programs);
  loop_.cancel(gone_timer_);
  const auto tell = [this] {
    if (course_.ranks_left > 0) hosts_.send_all(std::exchange(gone_, {}));
  };
  if (!report.finalized) return tell();
  gone_timer_ = loop_.after(kGoneDelay, tell);
}

void AddressExchange::take(int host, const control::Gather& part) {
  auto& parts = gathers_[part.name];
  parts[host] = part.part;
  std::vector<int> members = part.hosts;
  for (int one = 0; part.hosts.empty() && exists(one); ++one) members.push_back(one);
  control::Gathered all{part.name, {}};
  for (const int one : members) {
    const auto said = parts.find(one);
    if (said == parts.end()) return;
    all.parts.push_back(said->second);
  }
  gathers_.erase(part.name);
  for (const int one : members)
    if (exists(one)) hosts_.send(one, all);
}

void AddressExchange::pass(const control::Fetch& fetch) {
  if (fetch.rank >= 0 && at(fetch.rank) < plan_.ranks.size())
    hosts_.send(plan_.ranks[at(fetch.rank)].host, fetch);
}

void AddressExchange::pass(const control::Fetched& fetched) {
  if (exists(fetched.asker)) hosts_.send(fetched.asker, fetched);
}

}  // namespace tutti::launch::job
