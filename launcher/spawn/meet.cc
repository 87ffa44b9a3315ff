// The meeting's side: a listening socket, visitors who have not proved themselves, newcomers.
#include "spawn/meet.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "spawn/meet_words.h"

namespace tutti::launch::spawn {
namespace {

constexpr std::size_t kLongestLine = 4096;
constexpr std::size_t kMostVisitors = 4096;
constexpr std::chrono::seconds kPatience{10};  // with a visitor who says nothing
constexpr std::chrono::seconds kBeat{5};

}  // namespace

struct Meeting::Visitor {
  UniqueFd fd;
  std::string number;
  std::string heard;
  control::Loop::TimerId limit = 0;
};

Result<std::unique_ptr<Meeting>> Meeting::open(const Endpoint& at, const std::string& key) {
  if (::sodium_init() < 0) return fail(Code::other, "libsodium does not start");
  std::unique_ptr<Meeting> meeting(new Meeting);
  meeting->at_ = at;
  meeting->key_ = key;
  TUTTI_DO(meeting->open_door());
  return meeting;
}

Meeting::~Meeting() {
  detach();
}

Result<void> Meeting::open_door() {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(port_ > 0 ? port_ : at_.port);
  const char* address = at_.address.empty() ? nullptr : at_.address.c_str();
  if (const int error = ::getaddrinfo(address, port.c_str(), &hints, &found); error != 0)
    return fail(Code::arg, "cannot listen at " + at_.address + ": " + ::gai_strerror(error));
  int problem = 0;
  for (const addrinfo* one = found; one != nullptr && !door_.is_open(); one = one->ai_next) {
    UniqueFd fd(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(fd.get(), one->ai_addr, one->ai_addrlen) == 0 && ::listen(fd.get(), 512) == 0)
      door_ = std::move(fd);
    else
      problem = errno;
  }
  ::freeaddrinfo(found);
  if (!door_.is_open())
    return fail(problem == EADDRINUSE ? Code::pending : Code::arg,
                "cannot listen at " + at_.address + ":" + port + ": " + std::strerror(problem));
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  ::getsockname(door_.get(), reinterpret_cast<sockaddr*>(&bound), &length);
  port_ = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                            : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
  let_in();
  return {};
}

void Meeting::close_door() {
  guard_.reset();
  door_.reset();
}

void Meeting::attach(control::Loop& loop, std::function<void()> changed) {
  loop_ = &loop;
  changed_ = std::move(changed);
  let_in();
  for (auto& one : waiting_) watch(*one);
  beat();
}

void Meeting::detach() {
  if (loop_ == nullptr) return;
  guard_.reset();
  for (auto& visitor : visitors_) {
    loop_->cancel(visitor->limit);
    loop_->forget(visitor->fd.get());
  }
  visitors_.clear();
  for (auto& one : waiting_) loop_->forget(one->channel.get());
  loop_->cancel(beat_);
  loop_ = nullptr;
}

void Meeting::let_in() {
  if (loop_ == nullptr || !door_.is_open()) return;
  guard_ = std::make_unique<control::Door>(*loop_);
  guard_->open(
      door_.get(), [this](UniqueFd fd) { enter(std::move(fd)); },
      [this] {
        if (visitors_.empty()) return false;
        drop(*visitors_.front());
        return true;
      });
}

void Meeting::drop(Visitor& visitor) {
  loop_->cancel(visitor.limit);
  if (visitor.fd.is_open()) loop_->forget(visitor.fd.get());
  std::erase_if(visitors_, [&visitor](const auto& one) { return one.get() == &visitor; });
}

// Where it is full the one who has waited longest without a proof leaves; a host that is turned
// away so comes again.
void Meeting::enter(UniqueFd fd) {
  if (visitors_.size() >= kMostVisitors) drop(*visitors_.front());
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  auto visitor = std::make_unique<Visitor>();
  visitor->number = fresh_id();
  const std::string line = std::string(kMeetWord) + " " + visitor->number + "\n";
  if (::write(fd.get(), line.data(), line.size()) < 0) return;
  visitor->fd = std::move(fd);
  Visitor* raw = visitor.get();
  raw->limit = loop_->after(kPatience, [this, raw] { drop(*raw); });
  loop_->on_readable(raw->fd.get(), [this, raw] {
    hear(*raw);
    if (!raw->fd.is_open() || raw->heard.size() > kLongestLine) drop(*raw);
  });
  visitors_.push_back(std::move(visitor));
}

// A closed descriptor means: done with this visitor.
void Meeting::hear(Visitor& visitor) {
  std::array<char, 1024> buffer;
  const ssize_t got = ::read(visitor.fd.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0) visitor.heard.append(buffer.data(), static_cast<std::size_t>(got));
  const auto end = visitor.heard.find('\n');
  if (got > 0 && end == std::string::npos) return;
  loop_->forget(visitor.fd.get());
  if (got > 0 && welcome(visitor, visitor.heard.substr(0, end))) {
    waiting_.back()->already = visitor.heard.substr(end + 1);
    watch(*waiting_.back());
    changed_();
  }
  visitor.fd.reset();
}

// "TUTTI join NUMBER PROOF VERSION ID SLOTS NODE NAME"; false: a stranger.
bool Meeting::welcome(Visitor& visitor, const std::string& line) {
  const auto words = text::split(line, ' ');
  if (words.size() != 9 || words[0] + " " + words[1] != kJoinWord) return false;
  std::string facts;
  for (std::size_t i = 4; i < words.size(); ++i) facts += " " + words[i];
  const auto slots = text::parse_int(words[6]), node = text::parse_int(words[7]);
  const std::string proof = proof_of(key_, visitor.number + " " + words[2] + facts);
  std::string answer = std::string(kRefusedWord) + " the keys (or --rdzv-id) differ\n";
  const bool known = is_same(proof, words[3]);
  const bool good = known && words[4] == control::version() && slots && *slots > 0 &&
                    *slots < (1 << 20) && node && *node >= -1 && *node < (1 << 20);
  if (known && !good)
    answer = std::string(kRefusedWord) + " version " + control::version() + " runs there\n";
  if (good)
    answer =
        std::string(kWelcomeWord) + " " + proof_of(key_, words[2] + " " + visitor.number) + "\n";
  const bool told = ::write(visitor.fd.get(), answer.data(), answer.size()) > 0;
  if (!good || !told) return false;
  auto fresh = std::make_unique<Newcomer>();
  fresh->id = words[5];
  fresh->slots = static_cast<int>(*slots);
  fresh->node_rank = static_cast<int>(*node);
  fresh->name = words[8];
  fresh->channel = std::move(visitor.fd);
  // Who comes again has lost the connection it waited on.
  std::erase_if(waiting_, [&](const auto& one) {
    if (one->id != fresh->id) return false;
    loop_->forget(one->channel.get());
    return true;
  });
  waiting_.push_back(std::move(fresh));
  return true;
}

// Its heartbeats are kept for whoever takes the channel; its end takes it off the list.
void Meeting::watch(Newcomer& one) {
  Newcomer* raw = &one;
  loop_->on_readable(one.channel.get(), [this, raw] {
    std::array<char, 4096> buffer;
    const ssize_t got = ::read(raw->channel.get(), buffer.data(), buffer.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got > 0) {
      raw->already.append(buffer.data(), static_cast<std::size_t>(got));
      return;
    }
    loop_->forget(raw->channel.get());
    std::erase_if(waiting_, [raw](const auto& other) { return other.get() == raw; });
    changed_();
  });
}

void Meeting::beat() {
  const std::string alive =
      control::frame(control::kEveryHost, control::encode(control::Heartbeat{}));
  for (auto& one : waiting_) (void)!::write(one->channel.get(), alive.data(), alive.size());
  beat_ = loop_->after(kBeat, [this] { beat(); });
}

namespace {

class Joined final : public daemon::Spawner {
 public:
  Joined(control::Loop& loop, daemon::SpawnReports reports,
         std::vector<std::unique_ptr<Newcomer>> hosts)
      : loop_(loop), reports_(std::move(reports)), newcomers_(std::move(hosts)) {}

  // hosts[i] is the one that came as newcomer i.
  void start(const std::vector<control::HostPart>& hosts) override {
    for (std::size_t i = 0; i < hosts.size() && i < newcomers_.size(); ++i) {
      const int host = hosts[i].host;
      loop_.post([this, i, host] {
        Newcomer& one = *newcomers_[i];
        UniqueFd out(::fcntl(one.channel.get(), F_DUPFD_CLOEXEC, 3));
        reports_.ready(host, std::move(one.channel), std::move(out), std::move(one.already));
      });
    }
  }
  std::string last_words(int) override { return "it joined by itself"; }

 private:
  control::Loop& loop_;
  daemon::SpawnReports reports_;
  std::vector<std::unique_ptr<Newcomer>> newcomers_;
};

}  // namespace

std::unique_ptr<daemon::Spawner> spawn_joined(control::Loop& loop, daemon::SpawnReports reports,
                                              std::vector<std::unique_ptr<Newcomer>> hosts) {
  return std::make_unique<Joined>(loop, std::move(reports), std::move(hosts));
}

}  // namespace tutti::launch::spawn
