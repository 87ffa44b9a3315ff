// tcp: who is let in, who connects to whom, and how ends are told apart.
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "loopback.h"
#include "no_descriptors.h"
#include "rig.h"
#include "transport/tcp/interfaces.h"
#include "transport/tcp/wire.h"

using namespace tutti;
using namespace tutti::test;

namespace {

const std::map<std::string, std::string> kForced{{"TUTTI_LINK", "tcp"}};

// A plain socket connected to the first address a rank published.
UniqueFd stranger_to(Rig& rig, int rank) {
  const auto addresses = tcp::decode(rig[rank].transport("tcp")->address());
  REQUIRE(addresses.has_value());
  sockaddr_storage storage{};
  const socklen_t bytes = addresses->front().fill(storage);
  UniqueFd fd(::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&storage), bytes) == 0);
  return fd;
}

void exchange(Rig& rig, int from, int to) {
  const std::size_t before = rig[to].sink.frames.size();
  post(rig, rig.link("tcp", from, to), 1, pattern(5000, 2));
  rig.until([&] { return rig[to].sink.frames.size() > before; });
  REQUIRE(rig[to].sink.frames.back().payload == pattern(5000, 2));
}

}  // namespace

TEST_CASE("ranks that connect to each other at the same time end up with one link", "[tcp]") {
  for (int round = 0; round < 30; ++round) {
    constexpr int kRanks = 4;
    Rig rig = Rig::over("tcp", kRanks);
    for (int from = 0; from < kRanks; ++from)
      for (int to = 0; to < kRanks; ++to)
        if (from != to) rig.link("tcp", from, to);
    std::vector<std::uint64_t> sent(kRanks * kRanks);
    constexpr std::uint64_t kFrames = 20;
    rig.until([&] {
      bool all = true;
      for (int from = 0; from < kRanks; ++from)
        for (int to = 0; to < kRanks; ++to) {
          auto& count = sent[static_cast<std::size_t>(from * kRanks + to)];
          const FrameHeader header = header_for(count);
          if (from != to && count < kFrames &&
              rig[from].links[to]->try_post({&header, nullptr, 0, nullptr}))
            ++count;
          all = all && (from == to || count == kFrames);
        }
      for (int rank = 0; rank < kRanks; ++rank)
        all = all && rig[rank].sink.frames.size() == kFrames * (kRanks - 1);
      return all;
    });
    for (int rank = 0; rank < kRanks; ++rank) {
      std::map<int, std::uint64_t> next;
      for (const Received& frame : rig[rank].sink.frames)
        REQUIRE(frame.header.length == next[frame.from]++);
      REQUIRE(rig[rank].sink.gone.empty());
    }
  }
}

TEST_CASE("ranks in threads that connect to each other lose nothing", "[tcp]") {
  for (int round = 0; round < 30; ++round) {
    Rig rig = Rig::over("tcp", 2);
    const auto run = [&](int me) {
      const auto link = rig.connect("tcp", me, 1 - me);
      bool sent = false;
      const FrameHeader header = header_for(1);
      while (link && (!sent || rig[me].sink.frames.empty())) {
        if (!sent) sent = (*link)->try_post({&header, nullptr, 0, nullptr});
        if (rig[me].progress() == 0) std::this_thread::yield();
      }
    };
    std::thread other(run, 1);
    run(0);
    other.join();
    for (int me = 0; me < 2; ++me) {
      REQUIRE(rig[me].sink.frames.size() == 1);
      REQUIRE(rig[me].sink.gone.empty());
    }
  }
}

TEST_CASE("both address families carry frames", "[tcp]") {
  for (const char* family : {"ipv4", "ipv6"}) {
    if (tcp::usable_interfaces(*tcp::family_named(family)).empty()) continue;
    INFO(family);
    Rig rig({0, 1}, knobs_with({{"TUTTI_LINK", "tcp"}, {"TUTTI_TCP_FAMILY", family}}));
    exchange(rig, 0, 1);
    exchange(rig, 1, 0);
  }
}

TEST_CASE("only interfaces of the list are used", "[tcp]") {
  const auto is_loopback = [](const tcp::Interface& one) { return one.is_loopback; };
  const auto only = tcp::usable_interfaces(tcp::Family::ipv4, *InterfaceList::parse("127.0.0.0/8"));
  REQUIRE_FALSE(only.empty());
  CHECK(std::all_of(only.begin(), only.end(), is_loopback));
  CHECK(tcp::usable_interfaces(tcp::Family::both, *InterfaceList::parse("nosuch")).empty());
  Rig rig({0, 1}, knobs_with({{"TUTTI_LINK", "tcp"}, {"TUTTI_INTERFACES", "lo"}}));
  exchange(rig, 0, 1);
}

TEST_CASE("a rank with another secret is turned away, and says why it got nowhere", "[tcp]") {
  auto worlds = wireup::in_threads({0, 1});
  worlds[1]->segment().header().job_key[5] ^= 1;
  Rig rig(knobs_with(kForced), std::move(worlds));
  rig.link("tcp", 0, 1);
  rig.until([&] { return !rig[0].sink.gone.empty(); });
  REQUIRE(rig[0].sink.reasons[0].find("secret") != std::string::npos);
  REQUIRE(rig[0].sink.reasons[0].find("rank 1") != std::string::npos);
  REQUIRE(rig[1].sink.frames.empty());
}

TEST_CASE("a peer nobody listens for is named with its host and every address", "[tcp]") {
  Rig rig({0, 1}, knobs_with(kForced));
  // The port of a listener that is gone.
  auto addresses = *tcp::decode(rig[1].transport("tcp")->address());
  rig[1].opened.transports.clear();
  auto link = rig[0].transport("tcp")->connect(rig.peer(0, 1), tcp::encode(addresses));
  REQUIRE(link.has_value());
  rig[0].links[1] = std::move(*link);
  rig.until([&] { return !rig[0].sink.gone.empty(); });
  const std::string& text = rig[0].sink.reasons[0];
  INFO(text);
  REQUIRE(text.find("rank 1 on host host1") != std::string::npos);
  REQUIRE(text.find(addresses[0].text() + " (Connection refused)") != std::string::npos);
  REQUIRE(rig[0].sink.gone == std::vector<int>{1});
}

TEST_CASE("an address that does not answer is passed over for one that does", "[tcp]") {
  Rig rig({0, 1}, knobs_with(kForced));
  auto addresses = *tcp::decode(rig[1].transport("tcp")->address());
  // A listener that accepts and stays silent comes first.
  UniqueFd silent(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  addresses.insert(addresses.begin(), bind_to_loopback(silent.get()));
  REQUIRE(::listen(silent.get(), 5) == 0);
  rig[0].links[1] =
      std::move(*rig[0].transport("tcp")->connect(rig.peer(0, 1), tcp::encode(addresses)));
  post(rig, *rig[0].links[1], 7, pattern(100, 7));
  rig.until([&] { return rig[1].sink.frames.size() == 1; });
}

TEST_CASE("garbage, silence and crowds of strangers on the port do not disturb the job", "[tcp]") {
  Rig rig({0, 1}, knobs_with(kForced));
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 300; ++i) {
    strangers.push_back(stranger_to(rig, 1));
    const auto noise = pattern(static_cast<std::size_t>(i) * 7, static_cast<std::size_t>(i));
    if (i % 2 == 0) ::send(strangers.back().get(), noise.data(), noise.size(), MSG_NOSIGNAL);
    if (i % 50 == 0) exchange(rig, 0, 1);
    rig.progress();
  }
  exchange(rig, 0, 1);
  exchange(rig, 1, 0);
  REQUIRE(rig[1].sink.gone.empty());
  // Those who sent garbage are turned away at once.
  char byte = 0;
  rig.until([&] {
    const auto got = ::recv(strangers[100].get(), &byte, 1, MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno == ECONNRESET);
  });
}

TEST_CASE("a rank that computes lets its peers in although a thousand strangers stand at its port",
          "[tcp]") {
  Rig rig({0, 1}, knobs_with(kForced));
  std::vector<UniqueFd> strangers;
  // More than the kernel's queue holds, all of them silent; rank 1 makes no call meanwhile.
  for (int i = 0; i < 1200; ++i) {
    strangers.push_back(stranger_to(rig, 1));
    if (i >= 600) strangers[static_cast<std::size_t>(i) - 600].reset();
  }
  Link& link = rig.link("tcp", 0, 1);
  const FrameHeader header = header_for(1);
  for (int i = 0; i < 200; ++i) {
    rig[0].progress();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  rig.until([&] { return link.try_post({&header, nullptr, 0, nullptr}); });
  rig.until([&] { return rig[1].sink.frames.size() == 1; });
  REQUIRE(rig[0].sink.gone.empty());
}

TEST_CASE("a rank without descriptors rests until it has some, then lets its peers in", "[tcp]") {
  Rig rig({0, 1}, knobs_with(kForced));
  const auto addresses = tcp::decode(rig[1].transport("tcp")->address());
  std::vector<UniqueFd> visitors;
  for (int i = 0; i < 10; ++i)
    visitors.emplace_back(
        ::socket(addresses->front().is_ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  std::optional<NoDescriptors> none(std::in_place);
  sockaddr_storage storage{};
  const socklen_t bytes = addresses->front().fill(storage);
  for (const UniqueFd& each : visitors)
    ::connect(each.get(), reinterpret_cast<const sockaddr*>(&storage), bytes);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const long spent_us = none->spent_us();
  none.reset();
  CHECK(spent_us < 100'000);  // processor time, not time: a watch that spins takes all there is
  exchange(rig, 0, 1);
  REQUIRE(rig[0].sink.gone.empty());
}

TEST_CASE("a rank listens at the addresses that it publishes, not at every one", "[tcp]") {
  Rig rig({0, 1}, knobs_with(kForced));
  const auto addresses = *tcp::decode(rig[1].transport("tcp")->address());
  for (tcp::SocketAddress each : addresses) {
    if (each.is_ipv6 || each.bytes[0] == 127) continue;
    each.bytes = {127, 0, 0, 1};
    sockaddr_storage storage{};
    const socklen_t bytes = each.fill(storage);
    const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&storage), bytes) != 0);
  }
}

TEST_CASE("a captured handshake is worth nothing when it is played back", "[tcp]") {
  Rig rig({0, 1}, knobs_with(kForced));
  // What rank 0 would say first, with the right job and ranks, but without the key.
  tcp::TcpHello hello{};
  hello.magic = tcp::kMagic;
  hello.version = tcp::kVersion;
  hello.to = 1;
  hello.job = rig[0].wireup->segment().header().job_id;
  const UniqueFd fd = stranger_to(rig, 1);
  REQUIRE(::send(fd.get(), &hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello);
  tcp::Challenge challenge{};
  rig.until([&] {
    return ::recv(fd.get(), &challenge, sizeof challenge, MSG_DONTWAIT) == sizeof challenge;
  });
  // Its own mac, reflected as our proof.
  const tcp::Proof proof{challenge.mac};
  REQUIRE(::send(fd.get(), &proof, sizeof proof, MSG_NOSIGNAL) == sizeof proof);
  char byte = 0;
  rig.until([&] { return ::recv(fd.get(), &byte, 1, MSG_DONTWAIT) == 0; });
  exchange(rig, 0, 1);
}

TEST_CASE("a peer that leaves in order is not reported, and all it sent arrives", "[tcp]") {
  Rig rig = Rig::over("tcp", 2);
  exchange(rig, 1, 0);
  Link& link = rig.link("tcp", 1, 0);
  std::size_t posted = 0;
  const auto data = pattern(100'000, 4);
  std::vector<CountedDone> dones(8);
  for (; posted < dones.size(); ++posted) {
    const FrameHeader header = header_for(posted);
    if (!link.try_post({&header, data.data(), data.size(), &dones[posted]})) break;
  }
  std::thread leaving([end = rig.take(1)]() mutable { end.reset(); });
  rig.until([&] { return rig[0].sink.frames.size() == 1 + posted; });
  leaving.join();
  for (int i = 0; i < 1000; ++i) rig.progress();
  REQUIRE(rig[0].sink.gone.empty());
  REQUIRE(rig[0].sink.frames.back().payload == data);
}

TEST_CASE("a peer whose process dies is reported once, with what it was", "[tcp]") {
  auto worlds = wireup::in_threads({0, 1});
  int pipe[2];
  REQUIRE(::pipe2(pipe, O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  End end;
  end.wireup = std::move(worlds[child == 0 ? 1 : 0]);
  end.knobs = knobs_with(kForced);
  end.opened = open_all(end.around());
  if (child == 0) {
    const Blob own = end.transport("tcp")->address();
    if (::write(pipe[1], own.data(), own.size()) < 0) ::_exit(1);
    while (end.sink.frames.empty()) end.progress();
    ::_exit(0);
  }
  Blob theirs(1000);
  theirs.resize(static_cast<std::size_t>(::read(pipe[0], theirs.data(), theirs.size())));
  end.links[1] = std::move(*end.transport("tcp")->connect({1, 1, 0, false}, theirs));
  const FrameHeader header = header_for(1);
  while (!end.links[1]->try_post({&header, nullptr, 0, nullptr})) end.progress();
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  const std::int64_t limit = now_ns() + 60'000'000'000;
  while (end.sink.gone.empty()) {
    end.progress();
    REQUIRE(now_ns() < limit);
  }
  for (int i = 0; i < 1000; ++i) end.progress();
  REQUIRE(end.sink.gone == std::vector<int>{1});
  REQUIRE(end.sink.reasons[0].find("lost its tcp connection") != std::string::npos);
  REQUIRE_FALSE(end.links[1]->try_post({&header, nullptr, 0, nullptr}));
}

TEST_CASE("a link may be dropped and taken up again a thousand times", "[tcp]") {
  Rig rig = Rig::over("tcp", 2);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    rig[0].links.clear();
    post(rig, rig.link("tcp", 0, 1), i, pattern(30, i));
  }
  rig.until([&] { return rig[1].sink.frames.size() == 1000; });
  for (std::uint64_t i = 0; i < 1000; ++i) REQUIRE(rig[1].sink.frames[i].header.length == i);
}

TEST_CASE("addresses survive being published, and cut ones are refused", "[tcp]") {
  std::vector<tcp::SocketAddress> addresses(3);
  addresses[0].bytes = {10, 0, 0, 1};
  addresses[0].port = 1;
  addresses[1].is_ipv6 = true;
  addresses[1].bytes = {0xfd, 0, 1};
  addresses[1].port = 65535;
  addresses[2].bytes = {192, 168, 7, 200};
  addresses[2].port = 4711;
  const Blob blob = tcp::encode(addresses);
  REQUIRE(*tcp::decode(blob) == addresses);
  for (std::size_t cut = 0; cut < blob.size(); ++cut)
    REQUIRE_FALSE(tcp::decode(BlobView(blob).first(cut)).has_value());
  REQUIRE(addresses[1].text() == "[fd00:100::]:65535");
}

TEST_CASE("addresses of a common subnet are tried first", "[tcp]") {
  tcp::Interface own;
  own.address.bytes = {192, 168, 7, 1};
  own.prefix_bits = 22;
  std::vector<tcp::SocketAddress> theirs(3);
  theirs[0].bytes = {10, 0, 0, 1};
  theirs[1].bytes = {192, 168, 8, 9};
  theirs[2].bytes = {192, 168, 5, 9};
  const auto ordered = tcp::order_candidates(theirs, {own});
  REQUIRE(ordered[0] == theirs[2]);
  REQUIRE(ordered[1] == theirs[0]);
  REQUIRE(ordered[2] == theirs[1]);
}
