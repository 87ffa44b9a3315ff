// Worlds without a launcher: one rank alone, or n ranks as threads of one process (tests).
//
// Ranks in threads share one segment per "host", so that shared-memory links join the ranks of
// a host and only those; addresses are handed over directly.
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <set>

#include "base/backoff.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random_bytes.h"
#include "wireup/protocol.h"
#include "wireup/share_server.h"
#include "wireup/wireup.h"

namespace tutti::wireup {
namespace {

std::uint32_t cores_allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<std::uint32_t>(CPU_COUNT(&set));
}

using Segments = std::vector<std::shared_ptr<Segment>>;

class LocalClient final : public Wireup {
 public:
  LocalClient(Segments all, std::shared_ptr<Segment> own, int rank) : all_(std::move(all)) {
    segment_ = std::move(own);
    rank_ = rank;
    local_rank_ = segment_->place(static_cast<std::uint32_t>(rank)).local_rank;
    LocalRecord& record = segment_->local(static_cast<std::uint32_t>(local_rank_));
    record.pid = static_cast<std::int32_t>(::getpid());
    // release: as in the client of prun.
    record.state.store(static_cast<std::uint32_t>(RankState::running), std::memory_order_release);
  }

  Result<void> put(BlobView address) override {
    if (address.size() > kAddressBytes)
      return fail(Code::intern, "addresses of " + std::to_string(address.size()) + " bytes");
    for (const auto& segment : all_) {
      RankRecord& record = segment->rank(static_cast<std::uint32_t>(rank_));
      std::memcpy(record.address, address.data(), address.size());
      record.address_bytes = static_cast<std::uint32_t>(address.size());
      record.ready.store(1, std::memory_order_release);  // pairs with get()'s acquire
    }
    return {};
  }

  Result<BlobView> get(int rank) override {
    RankRecord& record = segment_->rank(static_cast<std::uint32_t>(rank));
    const std::int64_t deadline = now_ns() + 60'000'000'000;
    const auto is_ready = [&record] { return record.ready.load(std::memory_order_acquire) != 0; };
    wait_until([&] {
      return is_ready() || record.gone.load(std::memory_order_acquire) != 0 || now_ns() > deadline;
    });
    if (!is_ready())
      return fail(Code::proc_aborted, "rank " + std::to_string(rank) + " gave no address");
    return BlobView(record.address, record.address_bytes);
  }

  void abort(int status, std::string_view reason, Blame) override {
    if (!reason.empty()) log::warn(reason);
    std::_Exit(status);
  }

  Result<void> finalized() override {
    segment_->local(static_cast<std::uint32_t>(local_rank_))
        .state.store(static_cast<std::uint32_t>(RankState::finalized), std::memory_order_release);
    return {};
  }

  void report_links(std::string_view lines) override { log::warn(lines); }

 private:
  Result<Shared> hand_to_host(int fd, const Takers& to) override {
    return ShareServer::share(shares_, segment_, local_rank_, fd, to);
  }
  Result<UniqueFd> fetch_shared(const ShareKey& key) override {
    return ShareServer::take(*segment_, local_rank_, key);
  }
  Segments all_;                         // one per host; addresses are written to each
  std::shared_ptr<ShareServer> shares_;  // null: nothing was shared yet
};

Result<Segments> make_segments(const std::vector<int>& host_of, int hosts,
                               const model::Costs& costs) {
  std::array<std::uint8_t, 32> key{};
  std::uint64_t job = 0;
  if (!random_bytes(key.data(), key.size()) || !random_bytes(&job, sizeof job))
    return fail(Code::other, "the kernel gives no random numbers");
  JobFacts facts;
  for (int h = 0; h < hosts; ++h) facts.hosts.push_back("host" + std::to_string(h));
  if (hosts == 1) {
    std::array<char, kHostNameBytes> name{};
    ::gethostname(name.data(), name.size() - 1);
    facts.hosts[0] = name.data();
  }
  facts.host_of = host_of;
  facts.cores = cores_allowed();
  facts.costs = costs;
  facts.job_id = job;
  facts.key = key;
  Segments all;
  for (int h = 0; h < hosts; ++h) {
    facts.this_host = h;
    TUTTI_TRY(segment, make_segment(facts));
    all.push_back(std::make_shared<Segment>(std::move(segment)));
  }
  return all;
}

}  // namespace

Result<std::unique_ptr<Wireup>> join_alone(const Lookup& getenv) {
  const char* const text = getenv(kCostsVariable);
  auto costs = model::parse_costs(text == nullptr ? "" : text);
  if (!costs) return fail(Code::arg, std::string(kCostsVariable) + ": " + costs.error().text);
  TUTTI_TRY(all, make_segments({0}, 1, *costs));
  auto own = all[0];
  return std::unique_ptr<Wireup>(std::make_unique<LocalClient>(std::move(all), own, 0));
}

std::vector<std::unique_ptr<Wireup>> in_threads(const std::vector<int>& hosts) {
  const std::set<int> distinct(hosts.begin(), hosts.end());
  auto all = make_segments(hosts, static_cast<int>(distinct.size()), {});
  TUTTI_CHECK(all.has_value(), all.error().text);
  std::vector<std::unique_ptr<Wireup>> worlds;
  for (std::size_t r = 0; r < hosts.size(); ++r) {
    const auto own = (*all)[static_cast<std::size_t>(hosts[r])];
    worlds.push_back(std::make_unique<LocalClient>(*all, own, static_cast<int>(r)));
  }
  return worlds;
}

}  // namespace tutti::wireup
