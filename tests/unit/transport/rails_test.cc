// tcp's rails: further connections to each peer, beside its ordered one.
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig.h"
#include "transport/tcp/attempt.h"
#include "transport/tcp/interfaces.h"
#include "transport/tcp/reception.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr std::size_t kRails = 2;

Knobs with_rails(const std::string& security = "none") {
  return knobs_with({{"TUTTI_LINK", "tcp"},
                     {"TUTTI_LINK_SECURITY", security},
                     {"TUTTI_TCP_RAILS", std::to_string(kRails)}});
}

// The ordered transport, and behind it its rails.
std::vector<Transport*> lines_of(End& end) {
  std::vector<Transport*> all;
  for (const auto& each : end.opened.transports)
    if (std::string(each->name()) == "tcp") all.push_back(each.get());
  return all;
}

std::vector<std::unique_ptr<Link>> connect_all(End& end, const Peer& peer, const Blob& address) {
  std::vector<std::unique_ptr<Link>> links;
  for (Transport* each : lines_of(end)) {
    auto made = each->connect(peer, address);
    REQUIRE(made.has_value());
    links.push_back(std::move(*made));
  }
  return links;
}

// Says through the socket when every link stands; then sends more than its peer reads meanwhile.
void die_after_frames(End& end, int socket) {
  Blob theirs(1000);
  theirs.resize(static_cast<std::size_t>(::recv(socket, theirs.data(), theirs.size(), 0)));
  const auto links = connect_all(end, {0, 0, 0, false}, theirs);
  const auto data = pattern(20'000, 1);
  for (std::size_t i = 0; i < 3 * links.size(); ++i) {
    const FrameHeader header = header_for(i);
    CountedDone done;
    while (!links[i % links.size()]->try_post({&header, data.data(), data.size(), &done}))
      end.progress();
    while (done.fired == 0) end.progress();
    if (i + 1 == links.size() && ::send(socket, "", 1, 0) != 1) ::_exit(1);
  }
  ::_exit(0);
}

}  // namespace

TEST_CASE("each rail carries frames, with any security, whoever connects first", "[tcp][rails]") {
  for (const char* security : {"none", "integrity", "encrypted"}) {
    INFO(security);
    Rig rig({0, 1}, with_rails(security));
    REQUIRE(lines_of(rig[0]).size() == 1 + kRails);
    std::vector<std::vector<std::unique_ptr<Link>>> links;
    for (int rank : {0, 1})
      links.push_back(connect_all(rig[rank], rig.peer(rank, 1 - rank),
                                  rig[1 - rank].transport("tcp")->address()));
    for (int round = 0; round < 20; ++round)
      for (int rank : {0, 1})
        for (const auto& link : links[static_cast<std::size_t>(rank)])
          post(rig, *link, static_cast<std::uint64_t>(round), pattern(30'000, 3));
    constexpr std::size_t kFrames = 20 * (1 + kRails);
    rig.until([&] {
      return rig[0].sink.frames.size() == kFrames && rig[1].sink.frames.size() == kFrames;
    });
    for (int rank : {0, 1}) {
      for (const Received& each : rig[rank].sink.frames)
        REQUIRE(each.payload == pattern(30'000, 3));
      REQUIRE(rig[rank].sink.gone.empty());
    }
  }
}

TEST_CASE("what rails carry is offered; without them a whole frame is sent without asking",
          "[tcp][rails]") {
  for (const char* security : {"none", "integrity"}) {
    Rig railed({0, 1}, with_rails(security)),
        plain({0, 1}, knobs_with({{"TUTTI_LINK", "tcp"}, {"TUTTI_LINK_SECURITY", security}}));
    const auto traits = [](Rig& rig, std::size_t line) {
      return lines_of(rig[0])[line]->traits(rig.peer(0, 1));
    };
    CHECK(traits(railed, 0).eager_bytes < traits(railed, 1).bulk_from);
    CHECK(traits(plain, 0).eager_bytes == traits(plain, 0).max_frame);
  }
}

TEST_CASE("for want of descriptors what a rail would carry goes by the first connection",
          "[tcp][rails]") {
  for (const bool is_called : {false, true}) {
    Rig rig({0, 1}, with_rails());
    const Peer peer = rig.peer(0, 1);
    const Blob address = rig[1].transport("tcp")->address();
    const auto first = *lines_of(rig[0])[0]->connect(peer, address);
    post(rig, *first, 1, pattern(1000, 1));
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    rlimit few = before;
    const UniqueFd lowest(::dup(0));
    few.rlim_cur = static_cast<rlim_t>(lowest.get()) + 4;
    // The other rank finds that there are few when it is called.
    if (!is_called) REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    std::vector<std::unique_ptr<Link>> links = connect_all(rig[0], peer, address);
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    for (const auto& link : links) post(rig, *link, 1, pattern(1000, 1));
    rig.until([&] { return rig[1].sink.frames.size() == 2 + kRails; });
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(rig[0].sink.gone.empty());
    CHECK(rig[1].sink.gone.empty());
  }
}

TEST_CASE("what a peer sent by any rail before it died comes before its end, which is told once",
          "[tcp][rails]") {
  auto worlds = wireup::in_threads({0, 1});
  int pair[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
  const pid_t child = ::fork();
  End end;
  end.wireup = std::move(worlds[child == 0 ? 1 : 0]);
  end.knobs = with_rails();
  end.opened = open_all(end.around());
  if (child == 0) die_after_frames(end, pair[1]);
  const Blob own = end.transport("tcp")->address();
  REQUIRE(::send(pair[0], own.data(), own.size(), 0) == static_cast<ssize_t>(own.size()));
  char byte = 0;
  while (::recv(pair[0], &byte, 1, MSG_DONTWAIT) != 1) end.progress();
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  const std::int64_t limit = now_ns() + 60'000'000'000;
  while (end.sink.gone.empty()) {
    end.progress();
    REQUIRE(now_ns() < limit);
  }
  CHECK(end.sink.frames.size() == 3 * (1 + kRails));
  for (int i = 0; i < 1000; ++i) end.progress();
  CHECK(end.sink.gone == std::vector<int>{1});
}

TEST_CASE("a peer that is dropped brings nothing more by any rail", "[tcp][rails]") {
  Rig rig({0, 1}, with_rails());
  auto links = connect_all(rig[1], rig.peer(1, 0), rig[0].transport("tcp")->address());
  for (const auto& link : links) post(rig, *link, 1, pattern(1000, 1));
  rig.until([&] { return rig[0].sink.frames.size() == links.size(); });
  for (const auto& link : links) {
    const FrameHeader header = header_for(2);
    REQUIRE(link->try_post({&header, nullptr, 0, nullptr}));
  }
  for (Transport* each : lines_of(rig[0])) each->drop(1);
  rig.until([&] { return !rig[1].sink.gone.empty(); });
  for (int i = 0; i < 100; ++i) rig.progress();
  CHECK(rig[0].sink.frames.size() == links.size());
  CHECK(rig[0].sink.gone.empty());
  CHECK(rig[1].sink.gone == std::vector<int>{0});
}

TEST_CASE("rails lead to the networks that two hosts share in turn, and then to others",
          "[tcp][rails]") {
  const auto at = [](std::uint8_t network, std::uint8_t host) {
    tcp::SocketAddress address;
    address.bytes = {10, 0, network, host};
    return address;
  };
  std::vector<tcp::Interface> ours(2);
  ours[0].address = at(1, 1);
  ours[1].address = at(2, 1);
  ours[0].prefix_bits = ours[1].prefix_bits = 24;
  const std::vector<tcp::SocketAddress> theirs{at(9, 2), at(1, 2), at(2, 2)};
  using List = std::vector<tcp::SocketAddress>;
  CHECK(tcp::order_candidates(theirs, ours) == List{at(1, 2), at(2, 2), at(9, 2)});
  CHECK(tcp::order_candidates(theirs, ours, 1) == List{at(2, 2), at(1, 2), at(9, 2)});
  CHECK(tcp::order_candidates(theirs, ours, 2) == List{at(1, 2), at(2, 2), at(9, 2)});
  CHECK(tcp::order_candidates({at(9, 2)}, ours, 3) == List{at(9, 2)});
}

namespace {

// A rank's reception, and the identity of the peer that calls it.
struct CalledRank {
  tcp::Identity here = identity(0), there = identity(1);
  tcp::Reception reception{here};
  tcp::SocketAddress at;
  tcp::Poller poller;

  CalledRank() {
    at.bytes = {127, 0, 0, 1};
    const auto port = reception.open(at);
    REQUIRE(port.has_value());
    REQUIRE(reception.begin().has_value());
    at.port = *port;
  }
  static tcp::Identity identity(int rank) {
    tcp::Identity own;
    own.rank = rank;
    own.ranks = 2;
    own.rails = kRails;
    return own;
  }
};

}  // namespace

TEST_CASE("rails of one peer that come while a rank computes are all there when it looks",
          "[tcp][rails]") {
  CalledRank called;
  std::vector<std::unique_ptr<tcp::Attempt>> calls;
  for (int rail = 1; rail <= static_cast<int>(kRails); ++rail)
    calls.push_back(std::make_unique<tcp::Attempt>(called.there, tcp::Attempt::Whom{0, rail},
                                                   std::vector{called.at}, called.poller,
                                                   [] { return true; }));
  const std::int64_t limit = now_ns() + 60'000'000'000;
  for (eventfd_t rung = 0, all = 0; all < kRails; rung = 0) {
    called.poller.serve();
    if (::eventfd_read(called.reception.bell(), &rung) == 0) all += rung;
    REQUIRE(now_ns() < limit);
  }
  CHECK(called.reception.take_guests().size() == kRails);
}

TEST_CASE("a rail that a dropped peer calls afterwards brings nothing", "[tcp][rails]") {
  Rig rig({0, 1}, with_rails());
  const Blob address = rig[0].transport("tcp")->address();
  auto first = rig[1].transport("tcp")->connect(rig.peer(1, 0), address);
  REQUIRE(first.has_value());
  post(rig, **first, 1, pattern(1000, 1));
  rig.until([&] { return rig[0].sink.frames.size() == 1; });
  rig[0].transport("tcp")->drop(1);
  auto late = lines_of(rig[1])[1]->connect(rig.peer(1, 0), address);
  REQUIRE(late.has_value());
  const FrameHeader header = header_for(2);
  bool posted = false;
  const std::int64_t limit = now_ns() + 500'000'000;
  while (now_ns() < limit) {
    rig.progress();
    if (!posted) posted = (*late)->try_post({&header, nullptr, 0, nullptr});
  }
  CHECK(rig[0].sink.frames.size() == 1);
}

TEST_CASE("the higher rank's rail stands where the lower one's would take too high a descriptor",
          "[tcp][rails]") {
  Rig rig({0, 1}, with_rails());
  const Blob lower = rig[0].transport("tcp")->address();
  const Blob higher = rig[1].transport("tcp")->address();
  const auto first = rig[0].transport("tcp")->connect(rig.peer(0, 1), higher);
  const auto back = rig[1].transport("tcp")->connect(rig.peer(1, 0), lower);
  post(rig, **first, 1, pattern(1000, 1));
  rig.until([&] { return rig[1].sink.frames.size() == 1; });
  // It calls, and proves itself to the lower one, which does not look.
  const auto theirs = lines_of(rig[1])[1]->connect(rig.peer(1, 0), lower);
  const std::int64_t proved = now_ns() + 500'000'000;
  while (now_ns() < proved) rig[1].progress();
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit few = before;
  const rlim_t lowest = static_cast<rlim_t>(UniqueFd(::dup(0)).get());
  few.rlim_cur = lowest;
  while (few.rlim_cur - rig.size() - few.rlim_cur / tcp::Reception::kOurShare <= lowest)
    ++few.rlim_cur;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  const auto ours = lines_of(rig[0])[1]->connect(rig.peer(0, 1), higher);
  post(rig, **ours, 2, pattern(1000, 2));
  post(rig, **theirs, 3, pattern(1000, 3));
  rig.until([&] { return rig[0].sink.frames.size() == 1 && rig[1].sink.frames.size() == 2; });
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
}

TEST_CASE("a peer that lets go of a caller once has not turned it away", "[tcp][rails]") {
  CalledRank called;
  tcp::Attempt call(called.there, tcp::Attempt::Whom{0, 1}, std::vector{called.at}, called.poller,
                    [] { return true; });
  std::size_t released = 0;
  const std::int64_t limit = now_ns() + 60'000'000'000;
  while (!call.is_turned_away()) {
    called.poller.serve();
    released += called.reception.take_guests().size();
    call.tick(now_ns());
    REQUIRE(now_ns() < limit);
  }
  CHECK(released == 3);
}
