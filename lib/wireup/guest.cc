// A world under another launcher, made out of a board.
//
//   each rank:            card (host, where it may run, a name) -> board      fence
//   lowest rank a host:   reads all cards, makes the segment, hands it to its neighbours
//   each rank:            addresses -> board, fence; others' are read at first use
//
// Ranks are on one host when the launcher says so and they can really share memory: the same
// kernel, network and process namespaces. The job's secret is rank 0's and travels by the board:
// it is as private as the launcher's own. So do the costs that all ranks go by, whatever each host
// says of them.
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/file.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/random_bytes.h"
#include "base/text.h"
#include "wireup/board.h"
#include "wireup/handover.h"
#include "wireup/presence.h"
#include "wireup/protocol.h"
#include "wireup/share_server.h"

namespace tutti::wireup {
namespace {

constexpr std::size_t kKeyBytes = sizeof(SegmentFacts::job_key);
constexpr std::size_t kNameBytes = 16;

Result<std::string> random_text(std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  if (!random_bytes(bytes.data(), bytes.size()))
    return fail(Code::other, "the kernel gives no random numbers");
  return text::hex(bytes.data(), bytes.size());
}

std::string own_mask() {
  cpu_set_t set;
  CPU_ZERO(&set);
  ::sched_getaffinity(0, sizeof set, &set);
  std::string mask;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) mask += (mask.empty() ? "" : ",") + std::to_string(cpu);
  return mask.size() > 400 ? "" : mask;  // boards take short texts; all of a big machine: none
}

std::string namespace_of(const char* kind) {
  struct stat status {};
  ::stat((std::string("/proc/self/ns/") + kind).c_str(), &status);
  return std::to_string(status.st_ino);
}

// Who can share memory with me: "node|boot|net|pid".
std::string own_place(const std::string& node) {
  std::string boot = file_text("/proc/sys/kernel/random/boot_id").value_or("");
  boot.erase(boot.find_last_not_of('\n') + 1);
  return node + "|" + boot + "|" + namespace_of("net") + "|" + namespace_of("pid");
}

struct Cards {
  std::vector<std::string> places;  // of each host
  JobFacts facts;
  std::vector<std::uint8_t> key;
  std::map<int, int> local_ranks;  // by host
  std::string name;                // under which this host's segment is offered
};

class GuestClient final : public Wireup {
 public:
  GuestClient(BoardPtr board, std::string costs)
      : board_(std::move(board)), costs_(std::move(costs)) {}

  Result<void> start();
  Result<void> put(BlobView address) override;
  Result<BlobView> get(int rank) override;
  void abort(int status, std::string_view reason, Blame blame) override {
    if (!reason.empty()) log::warn(reason);
    // A launcher that ends the job by itself (Slurm's PMIx, mpirun, Hydra) knows how the rank to
    // blame ended, and is given the time to tell.
    if (blame == Blame::another) ::sleep(kTurnOfReasonS);
    if (own().state.load(std::memory_order_relaxed) !=
        static_cast<std::uint32_t>(RankState::finalized))  // then the launcher hears us no more
      board_->abort(status, std::string(reason));
    std::_Exit(status);
  }
  Result<void> finalized() override {
    own().state.store(static_cast<std::uint32_t>(RankState::finalized), std::memory_order_release);
    return board_->finalized();
  }
  void report_links(std::string_view lines) override { log::warn(lines); }
  void look_for_ends() const override { presence_.look(*segment_); }

 private:
  Result<Shared> hand_to_host(int fd, const Takers& to) override {
    return ShareServer::share(shares_, segment_, local_rank_, fd, to);
  }
  Result<UniqueFd> fetch_shared(const ShareKey& key) override {
    return ShareServer::take(*segment_, local_rank_, key);
  }
  LocalRecord& own() { return segment_->local(static_cast<std::uint32_t>(local_rank_)); }
  Result<void> put_card();
  Result<Cards> read_cards();
  Result<void> share_segment(const Cards& cards);

  BoardPtr board_;
  std::shared_ptr<ShareServer> shares_;  // null: nothing was shared yet
  std::string costs_;                    // as this rank was told
  std::map<int, std::vector<std::uint8_t>> addresses_;
  mutable Presence presence_;
};

Result<void> GuestClient::put_card() {
  std::array<char, kHostNameBytes> name{};
  ::gethostname(name.data(), name.size() - 1);
  TUTTI_TRY(own_name, random_text(kNameBytes));
  std::string secret, costs;
  if (board_->rank() == 0) {
    TUTTI_TRY(bytes, random_text(kKeyBytes + 8));
    secret = bytes;
    auto table = model::parse_costs(costs_);
    if (!table) return fail(Code::arg, std::string(kCostsVariable) + ": " + table.error().text);
    costs = model::text_of(*table);
  }
  TUTTI_DO(board_->put("card", std::string(name.data()) + "/" + own_place(board_->node()) + "/" +
                                   own_mask() + "/" + secret + "/" + costs + "/" + own_name));
  return board_->fence();
}

Result<Cards> GuestClient::read_cards() {
  Cards cards;
  std::map<std::string, int> host_of_place;
  std::map<int, std::vector<bool>> cpus;
  std::vector<std::string> names;  // of each host's lowest rank
  for (int rank = 0; rank < board_->size(); ++rank) {
    TUTTI_TRY(text, board_->get(rank, "card"));
    const auto parts = text::split(text, '/');
    if (parts.size() != 6)
      return fail(Code::other, "rank " + std::to_string(rank) + " put up an unreadable card, of " +
                                   std::to_string(parts.size()) +
                                   " parts; all ranks must use the same Tutti");
    const auto [at, fresh] = host_of_place.try_emplace(parts[1], host_of_place.size());
    if (fresh) cards.facts.hosts.push_back(parts[0]);
    cards.facts.host_of.push_back(at->second);
    if (rank == board_->rank()) cards.facts.this_host = at->second;
    if (fresh) names.push_back(parts[5]);
    ++cards.local_ranks[at->second];
    auto& mask = cpus[at->second];
    mask.resize(CPU_SETSIZE);
    for (const std::string& cpu : text::split(parts[2], ','))
      if (const auto number = text::parse_int(cpu); number && *number >= 0 && *number < CPU_SETSIZE)
        mask[static_cast<std::size_t>(*number)] = true;
    if (rank != 0) continue;
    cards.key.resize(kKeyBytes + 8);
    if (!text::unhex(parts[3], cards.key)) cards.key.clear();
    TUTTI_TRY(costs, model::parse_costs(parts[4]));
    cards.facts.costs = costs;
  }
  if (cards.key.size() != kKeyBytes + 8) return fail(Code::other, "rank 0 put up no job key");
  std::memcpy(&cards.facts.job_id, cards.key.data() + kKeyBytes, 8);
  cards.key.resize(kKeyBytes);
  // Nobody who is not told it can take it first, whatever other hosts' names show him.
  cards.name = "tutti-" + names[static_cast<std::size_t>(cards.facts.this_host)];
  const auto& mine = cpus[cards.facts.this_host];
  const auto cores = std::count(mine.begin(), mine.end(), true);
  cards.facts.cores =
      static_cast<std::uint32_t>(cores > 0 ? cores : ::sysconf(_SC_NPROCESSORS_ONLN));
  return cards;
}

Result<void> GuestClient::share_segment(const Cards& cards) {
  const int here = cards.facts.this_host;
  const auto& host_of = cards.facts.host_of;
  const auto lowest = std::find(host_of.begin(), host_of.end(), here) - host_of.begin();
  if (lowest == board_->rank()) {
    JobFacts facts = cards.facts;
    facts.key = cards.key;
    TUTTI_TRY(made, make_segment(facts));
    segment_ = std::make_shared<Segment>(std::move(made));
    return hand_out(cards.name, segment_->fd(), cards.local_ranks.at(here) - 1);
  }
  TUTTI_TRY(fd, take_from(cards.name));
  TUTTI_TRY(attached, Segment::attach(fd.get()));
  fd.release();
  segment_ = std::make_shared<Segment>(std::move(attached));
  return {};
}

Result<void> GuestClient::start() {
  TUTTI_DO(put_card());
  TUTTI_TRY(cards, read_cards());
  TUTTI_DO(share_segment(cards));
  rank_ = board_->rank();
  local_rank_ = segment_->place(static_cast<std::uint32_t>(rank_)).local_rank;
  LocalRecord& record = own();
  record.pid = static_cast<std::int32_t>(::getpid());
  TUTTI_DO(Presence::hold(*segment_, static_cast<std::uint32_t>(local_rank_)));
  // release: as in the client of prun.
  record.state.store(static_cast<std::uint32_t>(RankState::running), std::memory_order_release);
  return {};
}

Result<void> GuestClient::put(BlobView address) {
  TUTTI_DO(board_->put("address", text::hex(address.data(), address.size())));
  return board_->fence();
}

Result<BlobView> GuestClient::get(int rank) {
  auto& known = addresses_[rank];
  if (known.empty()) {
    TUTTI_TRY(said, board_->get(rank, "address"));
    const std::string_view text = text::trim(said);
    std::vector<std::uint8_t> bytes(text.size() / 2);
    if (!text::unhex(text, bytes))
      return fail(Code::other, "rank " + std::to_string(rank) + " put up an unreadable address");
    known = std::move(bytes);
  }
  return BlobView(reinterpret_cast<const std::byte*>(known.data()), known.size());
}

}  // namespace

Result<std::unique_ptr<Wireup>> join_board(BoardPtr board, std::string costs) {
  auto client = std::make_unique<GuestClient>(std::move(board), std::move(costs));
  TUTTI_DO(client->start());
  return std::unique_ptr<Wireup>(std::move(client));
}

}  // namespace tutti::wireup
