// The board for torchrun's variables (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), set by torchrun
// or by hand: rank 0 gathers and hands out everything at each fence over plain sockets.
//
// MASTER_PORT itself belongs to the framework's own store. Rank 0 takes the first free one of a
// few ports that all ranks derive from it, from the run's name and from the restart; the others try
// them in turn until one answers as rank 0 of this very run.
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "wireup/board.h"

namespace tutti::wireup {
namespace {

constexpr int kPorts = 16;
constexpr int kAnswerMs = 3000;
constexpr std::int64_t kLimitNs = 180'000'000'000;

std::uint64_t hash(const std::string& text) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return value;
}

// Length and bytes. False: the connection is gone.
bool write_text(int fd, const std::string& text) {
  const auto bytes = static_cast<std::uint32_t>(text.size());
  std::string whole(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  whole += text;
  for (std::size_t at = 0; at < whole.size();) {
    const ssize_t put = ::send(fd, whole.data() + at, whole.size() - at, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += static_cast<std::size_t>(put);
  }
  return true;
}

bool read_bytes(int fd, void* into, std::size_t bytes, int limit_ms) {
  auto* at = static_cast<char*>(into);
  while (bytes > 0) {
    pollfd look{fd, POLLIN, 0};
    if (::poll(&look, 1, limit_ms) == 0) return false;
    const ssize_t got = ::recv(fd, at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool read_text(int fd, std::string* text, std::size_t most, int limit_ms) {
  std::uint32_t bytes = 0;
  if (!read_bytes(fd, &bytes, sizeof bytes, limit_ms) || bytes > most) return false;
  text->resize(bytes);
  return read_bytes(fd, text->data(), bytes, limit_ms);
}

class SocketBoard final : public Board {
 public:
  SocketBoard(int rank, int size, std::string node, std::string greeting)
      : greeting_(std::move(greeting)) {
    rank_ = rank;
    size_ = size;
    node_ = std::move(node);
  }

  Result<void> start(const std::string& master) {
    return rank_ == 0 ? gather_members() : find_master(master);
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
  int port(int index) const {
    return 10000 + static_cast<int>(hash(greeting_ + std::to_string(index)) % 50000);
  }
  Result<void> gather_members();
  Result<void> admit(UniqueFd socket, int* missing);
  Result<void> find_master(const std::string& master);
  bool try_master(const addrinfo& at, int index);
  tl::unexpected<Error> lost(int rank) const {
    return fail(Code::proc_aborted, "rank " + std::to_string(rank) +
                                        " left while the job was being set up; see its output");
  }

  std::string greeting_;
  std::vector<UniqueFd> members_;  // of rank 0: by rank; of others: [0] is rank 0
  std::string fresh_;
  std::map<std::string, std::string> all_;  // "rank key" -> value
};

Result<void> SocketBoard::admit(UniqueFd socket, int* missing) {
  std::string said;
  if (!socket.is_open() || !read_text(socket.get(), &said, 4096, kAnswerMs)) return {};
  const auto cut = said.rfind(' ');
  const auto rank = text::parse_int(cut == std::string::npos ? "" : said.substr(cut + 1));
  if (said.substr(0, cut) != greeting_ || !rank || *rank < 1 || *rank >= size_) return {};
  UniqueFd& seat = members_[static_cast<std::size_t>(*rank)];
  if (seat.is_open())
    return fail(Code::other, "two processes say that they are rank " + std::to_string(*rank) +
                                 "; give each its own RANK");
  if (!write_text(socket.get(), greeting_)) return {};
  seat = std::move(socket);
  --*missing;
  return {};
}

Result<void> SocketBoard::gather_members() {
  const UniqueFd listener(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int off = 0;
  ::setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  bool bound = false;
  for (int index = 0; index < kPorts && !bound; ++index) {
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(static_cast<std::uint16_t>(port(index)));
    bound = ::bind(listener.get(), reinterpret_cast<sockaddr*>(&any), sizeof any) == 0;
  }
  if (!bound || ::listen(listener.get(), 1024) != 0)
    return fail(Code::other,
                std::string("rank 0 cannot listen for the other ranks: ") + std::strerror(errno));
  members_.resize(static_cast<std::size_t>(size_));
  const std::int64_t deadline = now_ns() + kLimitNs;
  for (int missing = size_ - 1; missing > 0;) {
    pollfd look{listener.get(), POLLIN, 0};
    if (::poll(&look, 1, 1000) > 0) {
      TUTTI_DO(
          admit(UniqueFd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)), &missing));
    } else if (now_ns() > deadline) {
      return fail(Code::other, std::to_string(missing) + " of " + std::to_string(size_) +
                                   " ranks (WORLD_SIZE) did not come to rank 0 within 180 s");
    }
  }
  return {};
}

bool SocketBoard::try_master(const addrinfo& at, int index) {
  UniqueFd socket(::socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_storage to{};
  std::memcpy(&to, at.ai_addr, at.ai_addrlen);
  const auto number = htons(static_cast<std::uint16_t>(port(index)));
  if (at.ai_family == AF_INET6)
    reinterpret_cast<sockaddr_in6*>(&to)->sin6_port = number;
  else
    reinterpret_cast<sockaddr_in*>(&to)->sin_port = number;
  const timeval limit{kAnswerMs / 1000, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  std::string answer;
  if (!socket.is_open() ||
      ::connect(socket.get(), reinterpret_cast<sockaddr*>(&to), at.ai_addrlen) != 0 ||
      !write_text(socket.get(), greeting_ + ' ' + std::to_string(rank_)) ||
      !read_text(socket.get(), &answer, 4096, kAnswerMs) || answer != greeting_)
    return false;
  members_.push_back(std::move(socket));
  return true;
}

Result<void> SocketBoard::find_master(const std::string& master) {
  const std::int64_t deadline = now_ns() + kLimitNs;
  std::string why;
  do {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (const int error = ::getaddrinfo(master.c_str(), nullptr, &hints, &found); error != 0) {
      why = ::gai_strerror(error);
    } else {
      why = "nobody answered there as rank 0 of this run";
      bool good = false;
      for (const addrinfo* one = found; one != nullptr && !good; one = one->ai_next)
        for (int index = 0; index < kPorts && !good; ++index) good = try_master(*one, index);
      ::freeaddrinfo(found);
      if (good) return {};
    }
    ::usleep(50'000);
  } while (now_ns() < deadline);
  return fail(Code::other, "rank " + std::to_string(rank_) +
                               " did not find rank 0 at MASTER_ADDR=" + master +
                               " within 180 s: " + why +
                               "; its ports 10000 to 59999 must "
                               "be reachable from here");
}

Result<void> SocketBoard::fence() {
  constexpr std::size_t most = 1U << 30;
  std::string whole = std::move(fresh_);
  fresh_.clear();
  if (rank_ == 0) {
    for (int rank = 1; rank < size_; ++rank) {
      std::string part;
      if (!read_text(members_[static_cast<std::size_t>(rank)].get(), &part, most, -1))
        return lost(rank);
      whole += part;
    }
    for (int rank = 1; rank < size_; ++rank)
      if (!write_text(members_[static_cast<std::size_t>(rank)].get(), whole)) return lost(rank);
  } else if (!write_text(members_[0].get(), whole) ||
             !read_text(members_[0].get(), &whole, most, -1)) {
    return lost(0);
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

}  // namespace

Result<BoardPtr> open_socket_board(const Lookup& getenv) {
  const auto rank = text::parse_int(text_of(getenv, "RANK"));
  const auto size = text::parse_int(text_of(getenv, "WORLD_SIZE"));
  const std::string master = text_of(getenv, "MASTER_ADDR");
  if (!rank || !size || *rank < 0 || *rank >= *size || master.empty())
    return fail(Code::other,
                "RANK, WORLD_SIZE and MASTER_ADDR do not say where this process "
                "belongs (RANK=" +
                    text_of(getenv, "RANK") + ", WORLD_SIZE=" + text_of(getenv, "WORLD_SIZE") +
                    ", MASTER_ADDR=" + master + "); start it with torchrun or prun");
  const std::string greeting =
      "tutti " + text_of(getenv, "TORCHELASTIC_RUN_ID") + " " + text_of(getenv, "MASTER_PORT") +
      " " + text_of(getenv, "TORCHELASTIC_RESTART_COUNT") + " " + std::to_string(*size);
  auto board = std::make_unique<SocketBoard>(static_cast<int>(*rank), static_cast<int>(*size),
                                             text_of(getenv, "GROUP_RANK"), greeting);
  TUTTI_DO(board->start(master));
  return BoardPtr(std::move(board));
}

}  // namespace tutti::wireup
