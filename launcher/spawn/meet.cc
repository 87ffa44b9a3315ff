// The meeting's side: a listening socket, visitors who have not proved themselves, hosts that join.
#include "spawn/meet.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/text.h"
#include "control/whose.h"
#include "hosts/hosts.h"
#include "spawn/meet_words.h"

namespace tutti::launch::spawn {
namespace {

constexpr std::size_t kLongestLine = 4096;
constexpr std::size_t kMostVisitors = 256;
constexpr std::size_t kMostAhead = 1U << 20;  // that a host may say before its job begins
// Where no key is asked for anybody may join: so many, and so much each.
constexpr std::size_t kMostStrangers = 256, kMostOfStranger = 64U << 10;
constexpr std::chrono::seconds kPatience{10};  // with a visitor who says nothing
constexpr std::chrono::seconds kPenalty{1};    // after a wrong guess
constexpr std::ptrdiff_t kMostPenalties = 64;  // at a time: who guesses does not fill the door
constexpr std::chrono::seconds kBeat{5};

bool send_line(int fd, std::string line) {
  line += "\n";
  return ::send(fd, line.data(), line.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(line.size());
}

// Of who comes by itself a name may be no hidden file's either, and no longer than a file's.
bool may_be_called(const std::string& name) {
  return hosts::is_host_name(name) && name.front() != '.' && name.size() < 256;
}

}  // namespace

struct HostMeeting::Visitor {
  UniqueFd fd;
  std::string heard;
  std::optional<secure::Exchange> exchange;  // once it has said who it is
  std::unique_ptr<JoiningHost> who;
  bool waits_for_no = false;  // guessed wrongly
  control::Loop::TimerId limit = 0;
};

Result<std::unique_ptr<HostMeeting>> HostMeeting::open(const HostAndPort& at,
                                                       const MeetingKey& key) {
  std::unique_ptr<HostMeeting> meeting(new HostMeeting);
  meeting->at_ = at;
  meeting->key_ = key;
  TUTTI_DO(meeting->open_door());
  return meeting;
}

HostMeeting::~HostMeeting() {
  detach();
}

Result<void> HostMeeting::open_door() {
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

void HostMeeting::close_door() {
  guard_.reset();
  door_.reset();
}

void HostMeeting::attach(control::Loop& loop, std::function<void()> changed) {
  loop_ = &loop;
  changed_ = std::move(changed);
  let_in();
  for (auto& one : waiting_) watch(*one);
  beat();
}

void HostMeeting::detach() {
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

void HostMeeting::let_in() {
  if (loop_ == nullptr || !door_.is_open()) return;
  guard_ = std::make_unique<control::Listener>(*loop_);
  guard_->open(
      door_.get(), [this](UniqueFd fd) { enter(std::move(fd)); }, [this] { return make_room(); });
}

// Where it is full the one who has waited longest without a proof leaves; a host that is turned
// away so comes again. Who guessed wrongly sits out its time.
bool HostMeeting::make_room() {
  const auto oldest = std::find_if(visitors_.begin(), visitors_.end(),
                                   [](const auto& one) { return !one->waits_for_no; });
  if (oldest == visitors_.end()) return false;
  drop(oldest->get());
  return true;
}

void HostMeeting::enter(UniqueFd fd) {
  if (visitors_.size() >= kMostVisitors && !make_room()) return;
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  Visitor* fresh = visitors_.emplace_back(std::make_unique<Visitor>()).get();
  fresh->fd = std::move(fd);
  fresh->limit = loop_->after(kPatience, [this, fresh] { drop(fresh); });
  loop_->on_readable(fresh->fd.get(), [this, fresh] { hear(fresh); });
}

void HostMeeting::drop(Visitor* visitor) {
  loop_->cancel(visitor->limit);
  if (visitor->fd.is_open()) loop_->forget(visitor->fd.get());
  std::erase_if(visitors_, [visitor](const auto& one) { return one.get() == visitor; });
}

void HostMeeting::refuse(Visitor* visitor, const std::string& why) {
  send_line(visitor->fd.get(), std::string(kRefusedWord) + " " + why);
  drop(visitor);
}

void HostMeeting::hear(Visitor* visitor) {
  std::array<char, 1024> buffer;
  const ssize_t got = ::read(visitor->fd.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return drop(visitor);
  visitor->heard.append(buffer.data(), static_cast<std::size_t>(got));
  const auto end = visitor->heard.find('\n');
  if (end == std::string::npos) {
    if (visitor->heard.size() > kLongestLine) drop(visitor);
    return;
  }
  const std::string line = visitor->heard.substr(0, end);
  visitor->heard.erase(0, end + 1);
  if (visitor->exchange) return prove(visitor, line);
  // It has to wait for our answer: more than a line is not our language.
  return visitor->heard.empty() ? greet(visitor, line) : drop(visitor);
}

// "TUTTI join PUBLIC MODE VERSION ID SLOTS NODE NAME"
void HostMeeting::greet(Visitor* visitor, const std::string& line) {
  const auto words = text::split(line, ' ');
  if (words.size() != 9 || words[0] + " " + words[1] != kJoinWord) return drop(visitor);
  if (words[4] != control::version())
    return refuse(visitor, "version " + control::version() + " runs there");
  if (words[3] != mode_of(key_))
    return refuse(visitor, key_.is_open ? "this node has a key and the job there has none; "
                                          "give both the same, or neither"
                                        : "the job there has a key and this node has none; put it "
                                          "into TUTTI_JOIN_KEY or a file (--key-file)");
  const auto theirs = secure::key_of(words[2]);
  const auto slots = text::parse_int(words[6]), node = text::parse_int(words[7]);
  if (!theirs || !slots || *slots <= 0 || *slots >= (1 << 20) || !node || *node < -1 ||
      *node >= (1 << 20) || words[5].empty() || words[5].size() > 64 || !may_be_called(words[8]))
    return refuse(visitor, "what this node says of itself makes no sense there");
  const auto whose = key_.is_open ? control::whose_end(visitor->fd.get()) : control::Whose::far;
  if (whose == control::Whose::others)
    return refuse(visitor, "it is another user's, on the same machine");
  if (whose == control::Whose::gone) return drop(visitor);
  auto who = std::make_unique<JoiningHost>();
  who->id = words[5];
  who->slots = static_cast<int>(*slots);
  who->node_rank = static_cast<int>(*node);
  who->name = words[8];
  visitor->who = std::move(who);
  secure::Exchange& exchange = visitor->exchange.emplace(secure::Side::answerer, key_.secret);
  const std::string answer =
      std::string(kMeetWord) + " " + secure::text_of(exchange.own_public()) + " " + mode_of(key_);
  if (!exchange.agree(*theirs, bytes_of(said_by_both(key_, line, answer))) ||
      !send_line(visitor->fd.get(), answer))
    drop(visitor);
}

// "TUTTI proof PROOF". A wrong one is told late, as long as few wait: what keeps guesses out is the
// length of the key.
void HostMeeting::prove(Visitor* visitor, const std::string& line) {
  const auto words = text::split(line, ' ');
  const auto proof = words.size() == 3 && words[0] + " " + words[1] == kProofWord
                         ? secure::key_of(words[2])
                         : std::nullopt;
  const secure::Exchange& exchange = *visitor->exchange;
  if (!proof || !exchange.is_proof(*proof)) return make_wait(visitor);
  auto fresh = std::move(visitor->who);
  fresh->stream = std::make_unique<secure::RecordStream>(exchange.keys());
  const bool good = send_line(visitor->fd.get(), std::string(kWelcomeWord) + " " +
                                                     secure::text_of(exchange.proof())) &&
                    fresh->stream->open(visitor->heard, fresh->already);
  if (!good) return drop(visitor);
  loop_->forget(visitor->fd.get());
  fresh->channel = std::move(visitor->fd);
  drop(visitor);
  seat(std::move(fresh));
}

void HostMeeting::make_wait(Visitor* visitor) {
  constexpr const char* kWhy =
      "the keys (or --rdzv-id) differ, or somebody on the way is in between";
  const auto waits = [](const auto& one) { return one->waits_for_no; };
  if (std::count_if(visitors_.begin(), visitors_.end(), waits) >= kMostPenalties)
    refuse(std::find_if(visitors_.begin(), visitors_.end(), waits)->get(), kWhy);
  visitor->waits_for_no = true;
  loop_->forget(visitor->fd.get());
  loop_->cancel(visitor->limit);
  visitor->limit = loop_->after(kPenalty, [this, visitor] { refuse(visitor, kWhy); });
}

void HostMeeting::seat(std::unique_ptr<JoiningHost> fresh) {
  // Who comes again has lost the connection it waited on.
  std::erase_if(waiting_, [&](const auto& one) {
    if (one->id != fresh->id) return false;
    loop_->forget(one->channel.get());
    return true;
  });
  if (key_.is_open && waiting_.size() >= kMostStrangers) return;
  waiting_.push_back(std::move(fresh));
  watch(*waiting_.back());
  changed_();
}

// Its heartbeats are kept for whoever takes the channel; its end takes it off the list.
void HostMeeting::watch(JoiningHost& one) {
  JoiningHost* raw = &one;
  const std::size_t most = key_.is_open ? kMostOfStranger : kMostAhead;
  loop_->on_readable(one.channel.get(), [this, raw, most] {
    std::array<char, 4096> buffer;
    const ssize_t got = ::read(raw->channel.get(), buffer.data(), buffer.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got > 0 && raw->already.size() < most &&
        raw->stream->open({buffer.data(), static_cast<std::size_t>(got)}, raw->already))
      return;
    leave(raw);
  });
}

void HostMeeting::leave(JoiningHost* one) {
  loop_->forget(one->channel.get());
  std::erase_if(waiting_, [one](const auto& other) { return other.get() == one; });
  changed_();
}

// One to whom not even that much can be written has stopped reading: it would get half a record.
void HostMeeting::beat() {
  const std::string alive =
      control::frame(control::kEveryHost, control::encode(control::Heartbeat{}));
  std::vector<JoiningHost*> deaf;
  for (auto& one : waiting_) {
    std::string sealed;
    one->stream->seal(alive, sealed);
    if (::send(one->channel.get(), sealed.data(), sealed.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(sealed.size()))
      deaf.push_back(one.get());
  }
  for (JoiningHost* one : deaf) leave(one);
  beat_ = loop_->after(kBeat, [this] { beat(); });
}

namespace {

class Joined final : public control::Spawner {
 public:
  Joined(control::Loop& loop, control::SpawnReports reports,
         std::vector<std::unique_ptr<JoiningHost>> hosts)
      : loop_(loop), reports_(std::move(reports)), joining_(std::move(hosts)) {}

  // hosts[i] is the one that came as number i.
  void start(const std::vector<control::HostPart>& hosts) override {
    for (std::size_t i = 0; i < hosts.size() && i < joining_.size(); ++i) {
      const int host = hosts[i].host;
      loop_.post([this, i, host] {
        JoiningHost& one = *joining_[i];
        UniqueFd out(::fcntl(one.channel.get(), F_DUPFD_CLOEXEC, 3));
        reports_.ready(host, {std::move(one.channel), std::move(out), std::move(one.already),
                              std::move(one.stream)});
      });
    }
  }
  std::string last_words(int) override { return "it joined by itself"; }

 private:
  control::Loop& loop_;
  control::SpawnReports reports_;
  std::vector<std::unique_ptr<JoiningHost>> joining_;
};

}  // namespace

std::unique_ptr<control::Spawner> spawn_joined(control::Loop& loop, control::SpawnReports reports,
                                               std::vector<std::unique_ptr<JoiningHost>> hosts) {
  return std::make_unique<Joined>(loop, std::move(reports), std::move(hosts));
}

}  // namespace tutti::launch::spawn
