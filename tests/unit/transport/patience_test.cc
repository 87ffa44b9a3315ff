// How long a try to connect goes on when nobody answers: time is what tick() is told.
#include <sys/socket.h>

#include "base/clock.h"
#include "catch.h"
#include "loopback.h"
#include "no_descriptors.h"
#include "transport/tcp/attempt.h"
#include "transport/tcp/no_files.h"
#include "wireup/wireup.h"

using namespace tutti;                  // NOLINT(google-build-using-namespace): a test
using namespace tutti::transport::tcp;  // NOLINT(google-build-using-namespace): a test

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// A port whose queue is full: the kernel drops who comes without a word.
struct Silent {
  UniqueFd door;
  std::vector<UniqueFd> queue;
  SocketAddress at;

  Silent() {
    door.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    at = bind_to_loopback(door.get());
    REQUIRE(::listen(door.get(), 0) == 0);
    sockaddr_storage storage{};
    const socklen_t bytes = at.fill(storage);
    for (int i = 0; i < 4; ++i) {
      queue.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      ::connect(queue.back().get(), reinterpret_cast<sockaddr*>(&storage), bytes);
    }
  }
};

struct Tried {
  Silent silent;
  Identity own;
  Poller poller;
  std::int64_t began = now_ns();
  Attempt attempt;
  int complaints = 0;

  explicit Tried(Attempt::Lives lives)
      : own(identity()), attempt(own, {1}, {silent.at}, poller, std::move(lives)) {}
  static Identity identity() {
    Identity own;
    own.ranks = 2;
    return own;
  }
  // As time passes, a second at a time.
  void until(std::int64_t seconds) {
    for (; at < seconds; ++at) {
      poller.serve();
      attempt.tick(began + at * kSecond);
      if (attempt.take_complaint(began + at * kSecond)) ++complaints;
    }
  }
  std::int64_t at = 0;
};

// A port that was bound and is not listened at, by a loopback address and by 0.0.0.0, which leads
// there, too, and stands for another host's here.
struct Refusing {
  UniqueFd door{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  SocketAddress loopback, elsewhere;

  Refusing() {
    loopback = elsewhere = bind_to_loopback(door.get());
    elsewhere.bytes = {};
  }
};

// Listens, and asks for a proof.
struct Challenging {
  UniqueFd door{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  SocketAddress at = bind_to_loopback(door.get());

  Challenging() { REQUIRE(::listen(door.get(), 1) == 0); }
  UniqueFd accept() const { return UniqueFd(::accept(door.get(), nullptr, nullptr)); }
  UniqueFd challenge(const Attempt& attempt, Poller& poller, const Identity& own) const {
    UniqueFd link = accept();
    REQUIRE(link.is_open());
    for (int i = 0; i < 1000 && !attempt.is_talking(); ++i) poller.serve();
    Acceptor acceptor(own);
    Blob hello(acceptor.wants()), challenge;
    REQUIRE(::recv(link.get(), hello.data(), hello.size(), MSG_WAITALL) ==
            static_cast<ssize_t>(hello.size()));
    REQUIRE(acceptor.feed(hello, challenge) == Outcome::goes_on);
    REQUIRE(::send(link.get(), challenge.data(), challenge.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(challenge.size()));
    Blob proof(acceptor.wants());
    for (int i = 0; i < 1000 && attempt.is_talking(); ++i) {
      poller.serve(1);
      if (::recv(link.get(), proof.data(), proof.size(), MSG_DONTWAIT) > 0) break;
    }
    return link;
  }
};

bool lives() {
  return true;
}
bool unknown() {
  return false;
}

}  // namespace

TEST_CASE("a silent peer is waited for as long as its daemon says that it lives", "[tcp]") {
  Tried tried(lives);
  tried.until(40);
  CHECK(tried.complaints == 1);
  tried.until(24 * 3600);
  CHECK_FALSE(tried.attempt.has_failed());
  CHECK(tried.complaints > 100);
  CHECK(tried.complaints < 200);
}

TEST_CASE("a peer whose kernel alone answers is waited for, and told of", "[tcp]") {
  const Challenging peer;
  const Identity own = Tried::identity();
  Poller poller;
  const std::int64_t began = now_ns();
  Attempt attempt(own, {1}, {peer.at}, poller, lives);
  for (int i = 0; i < 1000 && !attempt.is_talking(); ++i) poller.serve(1);
  REQUIRE(attempt.is_talking());
  CHECK_FALSE(attempt.take_complaint(began + 20 * kSecond));
  CHECK(attempt.take_complaint(began + 40 * kSecond));
  CHECK_FALSE(attempt.take_complaint(began + 41 * kSecond));  // once
  CHECK(attempt.reasons().find("connected, and it says nothing") != std::string::npos);
  // It has a descriptor for us at last; what it computes now may take its time.
  Identity theirs = own;
  theirs.rank = 1;
  const UniqueFd link = peer.challenge(attempt, poller, theirs);
  for (int i = 0; i < 1000 && !attempt.was_answered(); ++i) poller.serve(1);
  CHECK(attempt.was_answered());
  CHECK_FALSE(attempt.take_complaint(began + 24 * 3600 * kSecond));
}

TEST_CASE("a network that is away is no answer of the peer's", "[tcp]") {
  SocketAddress away;  // the broadcast address: no stream leads there, "Network is unreachable"
  away.bytes = {255, 255, 255, 255};
  away.port = 9;
  const Identity own = Tried::identity();
  Poller poller;
  const std::int64_t began = now_ns();
  Attempt patient(own, {1}, {away}, poller, lives);
  Attempt limited(own, {1}, {away}, poller, unknown);
  int complaints = 0;
  for (int second = 0; second < 700; ++second) {
    patient.tick(began + second * kSecond);
    limited.tick(began + second * kSecond);
    if (patient.take_complaint(began + second * kSecond)) ++complaints;
  }
  CHECK_FALSE(patient.has_failed());
  CHECK(complaints > 0);
  CHECK(patient.reasons().find("unreachable") != std::string::npos);
  CHECK(limited.has_failed());
}

TEST_CASE("a rank without descriptors of its own waits for some", "[tcp]") {
  const Silent silent;
  const Identity own = Tried::identity();
  Poller poller;
  const test::NoDescriptors none;
  const std::int64_t began = now_ns();
  Attempt attempt(own, {1}, {silent.at}, poller, lives);
  for (int second = 0; second < 700; ++second) attempt.tick(began + second * kSecond);
  CHECK_FALSE(attempt.has_failed());
  CHECK(attempt.reasons().find("Too many open files") != std::string::npos);
}

TEST_CASE("where nobody says so, ten minutes of silence are the end", "[tcp]") {
  Tried tried(unknown);
  tried.until(590);
  CHECK_FALSE(tried.attempt.has_failed());
  tried.until(700);
  CHECK(tried.attempt.has_failed());
  CHECK(tried.attempt.reasons().find("no answer") != std::string::npos);
}

TEST_CASE("a clear no is an end only where nobody says that the peer lives", "[tcp]") {
  const Refusing refuses;
  const Identity own = Tried::identity();
  Poller poller;
  const std::int64_t began = now_ns();
  bool it_lives = true;
  Attempt attempt(own, {1}, {refuses.elsewhere}, poller, [&it_lives] { return it_lives; });
  int complaints = 0;
  std::int64_t second = 0;
  for (; second < 3600; ++second) {
    attempt.tick(began + second * kSecond);
    if (attempt.take_complaint(began + second * kSecond)) ++complaints;
  }
  CHECK_FALSE(attempt.has_failed());
  CHECK(complaints > 0);
  it_lives = false;  // its process has ended
  for (; second < 3660; ++second) attempt.tick(began + second * kSecond);
  CHECK(attempt.has_failed());
  CHECK(attempt.reasons().find("refused") != std::string::npos);

  Attempt hasty(own, {1}, {refuses.elsewhere}, poller, unknown);
  for (second = 0; second < 60; ++second) hasty.tick(now_ns() + second * kSecond);
  CHECK(hasty.has_failed());
}

TEST_CASE("where only loopback addresses are, a clear no is an end though it lives", "[tcp]") {
  const Refusing refuses;
  const Identity own = Tried::identity();
  Poller poller;
  const std::int64_t began = now_ns();
  Attempt nowhere(own, {1}, {refuses.loopback}, poller, lives);
  Attempt somewhere(own, {1}, {refuses.loopback, refuses.elsewhere}, poller, lives);
  for (std::int64_t second = 0; second < 60; ++second) {
    nowhere.tick(began + second * kSecond);
    somewhere.tick(began + second * kSecond);
  }
  CHECK(nowhere.has_failed());
  CHECK_FALSE(somewhere.has_failed());
}

TEST_CASE("what the peer itself refuses is an end though it lives", "[tcp]") {
  const Challenging peer;
  const Identity own = Tried::identity();
  Identity theirs = own;
  theirs.rank = 1;
  theirs.security = Security::integrity;
  Poller poller;
  Attempt attempt(own, {1}, {peer.at}, poller, lives);
  const UniqueFd link = peer.challenge(attempt, poller, theirs);
  for (int i = 0; i < 1000 && !attempt.has_failed(); ++i) poller.serve();
  CHECK(attempt.has_failed());
  CHECK(attempt.reasons().find("TUTTI_LINK_SECURITY=none") != std::string::npos);
}

TEST_CASE("who is let go of again and again behind its proof has been turned away", "[tcp]") {
  const Challenging peer;
  const Identity own = Tried::identity();
  Identity theirs = own;
  theirs.rank = 1;
  Poller poller;
  std::int64_t now = now_ns();
  Attempt attempt(own, {1}, {peer.at}, poller, lives);
  // One round, which the peer ends behind the proof, or before it said a word.
  const auto is_let_go = [&](bool behind_proof) {
    UniqueFd link = behind_proof ? peer.challenge(attempt, poller, theirs) : peer.accept();
    for (int i = 0; i < 1000 && !attempt.is_talking(); ++i) poller.serve();
    link.reset();
    for (int i = 0; i < 1000 && attempt.is_talking(); ++i) poller.serve(10);
    for (int i = 0; i < 2; ++i)
      attempt.tick(now += 6 * kSecond);  // the round ends, the next begins
    return attempt.is_turned_away();
  };
  CHECK_FALSE(is_let_go(true));
  CHECK_FALSE(is_let_go(true));
  CHECK_FALSE(is_let_go(false));  // a reception that was full for a moment
  CHECK_FALSE(is_let_go(true));
  CHECK_FALSE(is_let_go(true));
  CHECK(is_let_go(true));
  CHECK_FALSE(attempt.has_failed());
}

TEST_CASE("a lack of files that lasts inside of calls is for ever", "[transport][tcp]") {
  NoFiles lack;
  std::int64_t now = kSecond;
  const auto pass = [&](bool lacks, std::int64_t seconds) {
    bool ended = false;
    for (; seconds > 0; --seconds) ended = lack.look(lacks, now += kSecond);
    return ended;
  };
  CHECK_FALSE(pass(true, 30));
  CHECK(pass(true, 1));
  CHECK_FALSE(pass(false, 1));  // given back
  CHECK_FALSE(pass(true, 20));
  now += 1000 * kSecond;  // it computed
  CHECK_FALSE(pass(true, 9));
  CHECK(pass(true, 2));
}
