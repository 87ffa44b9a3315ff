// The board for torchrun's variables (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), set by torchrun
// or by hand: rank 0 gathers and hands out everything at each fence.
//
// MASTER_PORT itself belongs to the framework's own store. On one host the ranks meet at a Unix
// socket, as processes of one user; between hosts at one of a few ports that all derive from the
// run's name and a key (TUTTI_JOIN_KEY, or the file join.key): rank 0's card carries the secret of
// the whole job.
#include <ifaddrs.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <map>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "wireup/board.h"
#include "wireup/protocol.h"
#include "wireup/reception.h"

namespace tutti::wireup {
namespace {

constexpr std::size_t kMostText = 1U << 30;

class SocketBoard final : public Board {
 public:
  SocketBoard(JobRun run, std::string node) : run_(std::move(run)) {
    rank_ = run_.rank;
    size_ = run_.size;
    node_ = std::move(node);
  }

  Result<void> start(const std::string& master) {
    if (rank_ == 0) {
      TUTTI_TRY(members, receive_ranks(run_));
      members_ = std::move(members);
    } else {
      TUTTI_TRY(connection, go_to_rank_0(run_, master));
      members_.push_back(std::move(connection));
    }
    run_.secret.reset();
    return {};
  }
  Result<void> put(const std::string& key, const std::string& value) override {
    fresh_ += std::to_string(rank_) + ' ' + key + ' ' + value + '\n';
    return {};
  }
  Result<void> fence() override;
  Result<std::string> get(int rank, const std::string& key) override {
    const auto found = all_.find(std::to_string(rank) + ' ' + key);
    if (found == all_.end())
      return fail(Code::other, "rank " + std::to_string(rank) + " has put up no " + key);
    return found->second;
  }
  void abort(int, const std::string&) override {}  // torchrun ends the others when one fails
  Result<void> finalized() override { return {}; }

 private:
  Result<void> gather_parts(std::string* whole);
  Result<void> hand_out(const std::string& whole);
  tl::unexpected<Error> lost(std::size_t rank) const {
    return fail(Code::proc_aborted, "rank " + std::to_string(rank) +
                                        " left while the job was being set up; see its output");
  }

  // Stopped, or stuck: its connection is there, and nothing comes.
  tl::unexpected<Error> late(const std::vector<bool>& awaited, std::int64_t limit_ns) const {
    return fail(Code::other, "nothing comes from " + ranks_of(awaited) +
                                 " while the job is set up, within " + seconds_of(limit_ns) +
                                 "; see what became of it");
  }

  JobRun run_;
  std::vector<BoardConnection> members_;  // of rank 0: by rank; of others: [0] is rank 0
  std::string fresh_;
  std::map<std::string, std::string> all_;  // "rank key" -> value
};

// Waits for any of the lines that `wanted` names. False: the moment has come.
bool wait_for_any(const std::vector<BoardConnection>& lines, const std::vector<bool>& wanted,
                  std::int64_t until_ns) {
  const std::int64_t left_ms = (until_ns - now_ns()) / 1'000'000;
  if (left_ms <= 0) return false;
  std::vector<pollfd> all;
  for (std::size_t i = 1; i < lines.size(); ++i)
    if (wanted[i])
      all.push_back({lines[i].fd(),
                     static_cast<short>(lines[i].has_queued() ? POLLIN | POLLOUT : POLLIN), 0});
  ::poll(all.data(), all.size(), static_cast<int>(std::min<std::int64_t>(left_ms, INT_MAX)));
  return true;
}

Result<void> SocketBoard::gather_parts(std::string* whole) {
  std::vector<bool> awaited(members_.size(), true);
  awaited[0] = false;
  const std::int64_t until = now_ns() + run_.limit_ns;
  for (std::size_t missing = members_.size() - 1; missing > 0;) {
    bool any = false;
    for (std::size_t rank = 1; rank < members_.size(); ++rank) {
      if (!awaited[rank]) continue;
      const bool alive = members_[rank].move();
      if (const auto part = members_[rank].take(kMostText)) {
        *whole += *part;
        awaited[rank] = false;
        any = true;
        --missing;
      } else if (!alive || !members_[rank].is_open()) {
        return lost(rank);
      }
    }
    if (!any && missing > 0 && !wait_for_any(members_, awaited, until))
      return late(awaited, run_.limit_ns);
  }
  return {};
}

Result<void> SocketBoard::hand_out(const std::string& whole) {
  for (std::size_t rank = 1; rank < members_.size(); ++rank) members_[rank].put(whole);
  std::vector<bool> awaited(members_.size());
  const std::int64_t until = now_ns() + run_.limit_ns;
  for (bool any = true; any;) {
    any = false;
    for (std::size_t rank = 1; rank < members_.size(); ++rank) {
      if (members_[rank].has_queued() && !members_[rank].move()) return lost(rank);
      awaited[rank] = members_[rank].has_queued();
      any = any || awaited[rank];
    }
    if (any && !wait_for_any(members_, awaited, until)) return late(awaited, run_.limit_ns);
  }
  return {};
}

Result<void> SocketBoard::fence() {
  std::string whole = std::exchange(fresh_, {});
  if (rank_ == 0) {
    TUTTI_DO(gather_parts(&whole));
    TUTTI_DO(hand_out(whole));
  } else {
    members_[0].put(whole);
    // Longer than rank 0 waits for the others to come and for their parts: it says who is missing.
    const std::int64_t limit_ns = 3 * run_.limit_ns;
    const auto all = members_[0].wait_for_text(kMostText, now_ns() + limit_ns);
    if (!all) return members_[0].is_open() ? late({true}, limit_ns) : lost(0);
    whole = *all;
  }
  for (const std::string& line : text::split(whole, '\n')) {
    const auto cut = line.find(' ', line.find(' ') + 1);
    if (cut != std::string::npos) all_[line.substr(0, cut)] = line.substr(cut + 1);
  }
  return {};
}

std::string text_of(const Lookup& getenv, const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

bool is_own(const sockaddr* address, const ifaddrs* all) {
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != address->sa_family) continue;
    if (address->sa_family == AF_INET &&
        reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr ==
            reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr.s_addr)
      return true;
    if (address->sa_family == AF_INET6 &&
        std::memcmp(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr,
                    &reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr,
                    sizeof(in6_addr)) == 0)
      return true;
  }
  return false;
}

// A name that does not resolve says nothing.
bool is_elsewhere(const std::string& master) {
  std::array<char, 256> own{};
  ::gethostname(own.data(), own.size() - 1);
  if (master == "localhost" || master == own.data()) return false;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(master.c_str(), nullptr, &hints, &found) != 0) return false;
  ifaddrs* interfaces = nullptr;
  ::getifaddrs(&interfaces);
  bool here = false;
  for (const addrinfo* one = found; one != nullptr && !here; one = one->ai_next) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(one->ai_addr);
    here = is_own(one->ai_addr, interfaces) ||
           (one->ai_family == AF_INET && ntohl(v4->sin_addr.s_addr) >> 24U == 127);
  }
  ::freeifaddrs(interfaces);
  ::freeaddrinfo(found);
  return !here;
}

// Nobody on another host was told this.
bool is_loopback(const std::string& master) {
  return master == "localhost" || master == "::1" || master.starts_with("127.");
}

// TUTTI_JOIN_KEY, else the user's key file.
Result<std::optional<secure::Key>> own_secret(const Lookup& getenv) {
  std::optional<std::string> key;
  if (const std::string given = text_of(getenv, kJoinKeyVariable); !given.empty()) {
    key = given;
  } else {
    const std::string config = text_of(getenv, "XDG_CONFIG_HOME");
    TUTTI_TRY(kept, secure::read_key_file(
                        (config.empty() ? text_of(getenv, "HOME") + "/.config" : config) +
                        "/tutti/join.key"));
    key = kept;
  }
  if (!key) return std::optional<secure::Key>();
  TUTTI_TRY(secret, secure::secret_from(*key, "tutti board"));
  return std::optional<secure::Key>(secret);
}

// The secret of a run over several hosts; nothing for a run of one. Errors: several and no key.
Result<std::optional<secure::Key>> secret_of_run(const Lookup& getenv, std::int64_t size,
                                                 const std::string& master) {
  const auto local = text::parse_int(text_of(getenv, "LOCAL_WORLD_SIZE"));
  const bool elsewhere = is_elsewhere(master);
  const bool all_here = local ? *local == size : is_loopback(master);
  if (!elsewhere && all_here) return std::optional<secure::Key>();
  TUTTI_TRY(secret, own_secret(getenv));
  if (!secret && (elsewhere || (local && *local < size)))
    return fail(Code::access,
                "the ranks of this job are on several hosts (LOCAL_WORLD_SIZE=" +
                    text_of(getenv, "LOCAL_WORLD_SIZE") + ", WORLD_SIZE=" + std::to_string(size) +
                    ", MASTER_ADDR=" + master +
                    ") and have no key to know each other by: set TUTTI_JOIN_KEY to the same 16 "
                    "bytes or more on every node, or copy one ~/.config/tutti/join.key to all");
  return secret;
}

}  // namespace

Result<BoardPtr> open_socket_board(const Lookup& getenv) {
  const auto rank = text::parse_int(text_of(getenv, "RANK"));
  const auto size = text::parse_int(text_of(getenv, "WORLD_SIZE"));
  const std::string master = text_of(getenv, "MASTER_ADDR");
  const std::string said = "RANK=" + text_of(getenv, "RANK") +
                           ", WORLD_SIZE=" + text_of(getenv, "WORLD_SIZE") +
                           ", MASTER_ADDR=" + master;
  TUTTI_DO(check_rank(master.empty() ? std::nullopt : rank, size, said));
  JobRun run;
  run.name = "tutti " + text_of(getenv, "TORCHELASTIC_RUN_ID") + " " +
             text_of(getenv, "MASTER_PORT") + " " + text_of(getenv, "TORCHELASTIC_RESTART_COUNT") +
             " " + std::to_string(*size);
  run.rank = static_cast<int>(*rank);
  run.size = static_cast<int>(*size);
  TUTTI_TRY(secret, secret_of_run(getenv, *size, master));
  run.secret = secret;
  return open_board(std::move(run), text_of(getenv, "GROUP_RANK"), master);
}

Result<BoardPtr> open_board(JobRun run, const std::string& node, const std::string& master) {
  auto board = std::make_unique<SocketBoard>(std::move(run), node);
  TUTTI_DO(board->start(master));
  return BoardPtr(std::move(board));
}

}  // namespace tutti::wireup
