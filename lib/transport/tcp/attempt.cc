// Tries: one socket each, from connecting to the verdict.
#include "transport/tcp/attempt.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"

namespace tutti::transport::tcp {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kBesideNs = 1000 * kMs;     // a slow address gets company after this
constexpr std::int64_t kConnectNs = 10'000 * kMs;  // for the connection, not the handshake
constexpr std::int64_t kRoundNs = 300 * kMs;       // pause between the first rounds, then longer
constexpr std::int64_t kLongestPauseNs = 5000 * kMs;
constexpr std::int64_t kComplainNs = 30'000 * kMs;  // without an answer: said
constexpr std::int64_t kSilenceNs = 600'000 * kMs;  // without an answer: the end, or said again
constexpr int kFirstWaitMs = 2;

// A shortage of our own, or a network that is away, is no answer of the peer's.
bool is_answer(const Error& error) {
  return error.code != Code::no_mem && error.code != Code::pending;
}

}  // namespace

struct Attempt::Try final : Watched {
  enum class State : std::uint8_t { connecting, shaking, ended };

  Try(Attempt& all, std::size_t which)
      : attempt(all), candidate(which), handshake(all.own_, all.peer_.rank, all.peer_.rail) {}
  ~Try() override {
    if (fd.is_open()) attempt.poller_.remove(fd.get());
  }
  void on_ready(std::uint32_t) override { attempt.advance(*this); }

  Attempt& attempt;
  std::size_t candidate;
  UniqueFd fd;
  State state = State::connecting;
  std::int64_t began_ns = 0;
  Initiator handshake;
  ArrivingMessage gather;
};

Attempt::Attempt(const Identity& own, Whom peer, std::vector<SocketAddress> candidates,
                 Poller& poller, Lives lives)
    : own_(own),
      peer_(peer),
      candidates_(std::move(candidates)),
      outcomes_(candidates_.size()),
      poller_(poller),
      lives_(std::move(lives)),
      heard_ns_(now_ns()),
      pause_ns_(kRoundNs),
      complain_at_ns_(heard_ns_ + kComplainNs) {
  if (candidates_.empty()) failed_ = true;
  tick(heard_ns_);
}

Attempt::~Attempt() = default;

void Attempt::tick(std::int64_t now) {
  if (has_won() || failed_) return;
  reap(now);
  if (next_ < candidates_.size() && (tries_.empty() || now >= next_at_ns_)) {
    if (next_ == 0 && now < next_at_ns_) return;  // between rounds
    start(next_++, now);
    return;
  }
  if (tries_.empty() && next_ == candidates_.size()) begin_round(now);
}

// After a round in vain.
bool Attempt::count_refusal(std::int64_t now) {
  if (is_worth_more_) return now - heard_ns_ >= kSilenceNs && !lives_();
  if (--refusals_left_ > 0) return false;
  return !lives_() || std::all_of(candidates_.begin(), candidates_.end(),
                                  [](const SocketAddress& each) { return each.is_loopback(); });
}

// Every address was tried in vain.
void Attempt::begin_round(std::int64_t now) {
  rounds_turned_away_ = std::exchange(was_turned_away_, false) ? rounds_turned_away_ + 1 : 0;
  if (count_refusal(now)) {
    failed_ = true;
    return;
  }
  is_worth_more_ = false;
  next_ = 0;
  next_at_ns_ = now + pause_ns_;
  pause_ns_ = std::min(2 * pause_ns_, kLongestPauseNs);
}

bool Attempt::take_complaint(std::int64_t now) {
  if (has_won() || failed_ || is_short_ || now < complain_at_ns_) return false;
  if (was_answered()) return false;
  complain_at_ns_ = now + kSilenceNs;
  return true;
}

bool Attempt::is_talking() const {
  return has_won() || std::any_of(tries_.begin(), tries_.end(), [](const auto& one) {
           return one->state == Try::State::shaking;
         });
}

// The kernel takes connections for a process that stands, or that may open no file for them.
bool Attempt::was_answered() const {
  return has_won() || std::any_of(tries_.begin(), tries_.end(), [](const auto& one) {
           return one->state == Try::State::shaking && one->handshake.is_challenged();
         });
}

void Attempt::reap(std::int64_t now) {
  for (auto& one : tries_)
    if (one->state == Try::State::connecting && now - one->began_ns > kConnectNs)
      end(*one, TryEnd::none, "no answer for 10 s");
  std::erase_if(tries_, [](const auto& one) { return one->state == Try::State::ended; });
}

void Attempt::start(std::size_t candidate, std::int64_t now) {
  next_at_ns_ = now + kBesideNs;
  errno = 0;
  auto fd = start_connecting(candidates_[candidate], own_.congestion);
  lacks_files_ = !fd && errno == EMFILE;
  if (fd && fd->get() >= peer_.below) fd = fail(Code::no_mem, "too few files are left for it");
  is_short_ = !fd && fd.error().code == Code::no_mem;
  if (!fd) {
    outcomes_[candidate] = fd.error().text;
    is_worth_more_ = is_worth_more_ || !is_answer(fd.error());
    return;
  }
  auto one = std::make_unique<Try>(*this, candidate);
  one->fd = std::move(*fd);
  one->began_ns = now;
  poller_.add(one->fd.get(), EPOLLOUT, one.get());
  // On a quiet network the connection stands at once; then the peer hears of us even if this
  // rank goes on to compute.
  pollfd soon{one->fd.get(), POLLOUT, 0};
  if (::poll(&soon, 1, peer_.rail == 0 ? kFirstWaitMs : 0) > 0) advance(*one);
  tries_.push_back(std::move(one));
}

bool Attempt::introduce(Try& one) {
  const auto connected = is_connected(one.fd.get());
  if (!connected)
    return end(one, is_answer(connected.error()) ? TryEnd::no : TryEnd::none,
               connected.error().text),
           false;
  if (!*connected) return false;
  if (!send_whole(one.fd.get(), one.handshake.hello()))
    return end(one, TryEnd::turned_away, "it closed the connection"), false;
  one.state = Try::State::shaking;
  outcomes_[one.candidate] = "connected, and it says nothing";
  introduced_ = true;
  poller_.change(one.fd.get(), EPOLLIN);
  return true;
}

void Attempt::advance(Try& one) {
  if (has_won() || one.state == Try::State::ended) return;
  if (one.state == Try::State::connecting && !introduce(one)) return;
  for (;;) {
    switch (one.gather.read(one.fd.get(), one.handshake.wants())) {
      case ArrivingMessage::State::more:
        return;
      case ArrivingMessage::State::ended:
        return end(one, TryEnd::turned_away, "it closed the connection");
      case ArrivingMessage::State::whole:
        break;
    }
    Blob answer;
    const Outcome outcome = one.handshake.feed(one.gather.bytes(), answer);
    one.gather.clear();
    if (outcome == Outcome::refused)
      return end(one, one.handshake.is_for_good() ? TryEnd::never : TryEnd::no,
                 one.handshake.reason());
    if (!answer.empty() && !send_whole(one.fd.get(), answer))
      return end(one, TryEnd::turned_away, "it closed the connection");
    if (outcome == Outcome::proved) break;
  }
  poller_.remove(one.fd.get());
  winner_ = std::move(one.fd);
  session_ = one.handshake.session();
  one.state = Try::State::ended;
}

void Attempt::end(Try& one, TryEnd answer, const std::string& why) {
  if (answer == TryEnd::turned_away) {
    heard_ns_ = now_ns();
    was_turned_away_ = was_turned_away_ || one.handshake.is_challenged();
  }
  if (answer == TryEnd::never) failed_ = true;
  if (answer != TryEnd::no) is_worth_more_ = true;
  outcomes_[one.candidate] = why;
  poller_.remove(one.fd.get());
  one.fd.reset();
  one.state = Try::State::ended;
}

std::string Attempt::reasons() const {
  if (candidates_.empty()) return "it published no address";
  std::string text;
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    text += (i == 0 ? "" : ", ") + candidates_[i].text() + " (" +
            (outcomes_[i].empty() ? "no answer" : outcomes_[i]) + ")";
  return text;
}

}  // namespace tutti::transport::tcp
