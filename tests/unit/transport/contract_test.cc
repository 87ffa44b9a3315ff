// The contract of transport.h, asked of every transport that can be opened here.
#include <algorithm>
#include <numeric>

#include "every_link.h"

using namespace tutti;
using namespace tutti::test;

namespace {

// Rank 0 asks its segment, as whoever waits does.
void until_a_peer_is_gone(Rig& rig) {
  rig.until([&rig] {
    for (auto& transport : rig[0].opened.transports) transport->look_around();
    return !rig[0].sink.gone.empty();
  });
}

}  // namespace

TEST_CASE("frames of one pair arrive whole and in the order they were posted", "[contract]") {
  for_every_link([](const std::string& name) {
    Rig rig = Rig::over(name, 2);
    const int to = target(name);
    Link& link = rig.link(name, 0, to);
    const Traits traits = rig[0].transport(name)->traits(rig.peer(0, to));
    std::vector<std::size_t> sizes{0,  1,  2,  3,  4,  7,   8,   9,   16,   23,   24,  25,
                                   31, 32, 63, 64, 65, 100, 127, 128, 1000, 4096, 8191};
    sizes.push_back(traits.max_frame / 2 + 3);
    sizes.push_back(traits.max_frame);
    constexpr std::size_t kFrames = 3000;
    for (std::size_t i = 0; i < kFrames; ++i)
      post(rig, link, i, pattern(sizes[i % 200 < 180 ? i % 12 : i % sizes.size()], i));
    auto& frames = rig[to].sink.frames;
    rig.until([&] { return frames.size() == kFrames; });
    for (std::size_t i = 0; i < kFrames; ++i) {
      REQUIRE(frames[i].from == 0);
      REQUIRE(frames[i].header.length == i);
      REQUIRE(frames[i].header.cookie == ~std::uint64_t{i});
      const std::size_t size = sizes[i % 200 < 180 ? i % 12 : i % sizes.size()];
      REQUIRE(frames[i].payload == pattern(size, i));
    }
  });
}

TEST_CASE("a link whose peer does not read fills up, says so, and loses nothing", "[contract]") {
  for_every_link([](const std::string& name) {
    Rig rig = Rig::over(name, 2);
    const int to = target(name);
    Link& link = rig.link(name, 0, to);
    post(rig, link, 0, pattern(10, 0));
    rig.until([&] { return rig[to].sink.frames.size() == 1; });
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{3000}}) {
      rig[to].sink.frames.clear();
      std::size_t posted = 0;
      const auto data = pattern(bytes, 5);
      for (;; ++posted) {
        const FrameHeader header = header_for(posted);
        if (!link.try_post({&header, data.data(), data.size(), nullptr})) break;
        REQUIRE(posted < 50'000'000);
      }
      REQUIRE(posted > 0);
      rig.until([&] { return rig[to].sink.frames.size() == posted; });
      post(rig, link, posted, data);
      rig.until([&] { return rig[to].sink.frames.size() == posted + 1; });
      for (std::size_t i = 0; i <= posted; ++i) REQUIRE(rig[to].sink.frames[i].header.length == i);
    }
  });
}

TEST_CASE("pinned payloads are given back once each", "[contract]") {
  for_every_link([](const std::string& name) {
    Rig rig = Rig::over(name, 2);
    const int to = target(name);
    Link& link = rig.link(name, 0, to);
    const std::size_t bytes = rig[0].transport(name)->traits(rig.peer(0, to)).max_frame;
    const auto data = pattern(bytes, 3);
    std::vector<CountedDone> dones(100);
    for (std::size_t i = 0; i < dones.size(); ++i) post(rig, link, i, data, &dones[i]);
    rig.until([&] {
      return rig[to].sink.frames.size() == dones.size() &&
             std::all_of(dones.begin(), dones.end(),
                         [](const CountedDone& done) { return done.fired > 0; });
    });
    for (const CountedDone& done : dones) REQUIRE((done.fired == 1 && done.ok));
    for (const Received& frame : rig[to].sink.frames) REQUIRE(frame.payload == data);
  });
}

TEST_CASE("long frames go where the sink wants them, or to the transport's own memory",
          "[contract]") {
  for_every_link([](const std::string& name) {
    for (const bool places : {false, true}) {
      Rig rig = Rig::over(name, 2);
      const int to = target(name);
      rig[to].sink.places = places;
      Link& link = rig.link(name, 0, to);
      const std::size_t largest = rig[0].transport(name)->traits(rig.peer(0, to)).max_frame;
      std::size_t count = 0;
      for (std::size_t bytes = 1; bytes <= largest; bytes = bytes * 3 + 1)
        post(rig, link, count++, pattern(bytes, bytes));
      rig.until([&] { return rig[to].sink.frames.size() == count; });
      std::size_t at = 0;
      for (std::size_t bytes = 1; bytes <= largest; bytes = bytes * 3 + 1)
        REQUIRE(rig[to].sink.frames[at++].payload == pattern(bytes, bytes));
    }
  });
}

TEST_CASE("callbacks may post: an answer to every frame, both ways at once", "[contract]") {
  for_every_link([](const std::string& name) {
    if (name == "self") return;
    Rig rig = Rig::over(name, 2);
    Link* links[2] = {&rig.link(name, 0, 1), &rig.link(name, 1, 0)};
    std::vector<FrameHeader> owed[2];
    constexpr std::size_t kRounds = 2000;
    for (int me = 0; me < 2; ++me)
      rig[me].sink.also = [&, me](const Received& frame) {
        if (frame.header.length < kRounds) owed[me].push_back(header_for(frame.header.length + 1));
      };
    post(rig, *links[0], 0, {});
    post(rig, *links[1], 0, {});
    rig.until([&] {
      for (int me = 0; me < 2; ++me)
        while (!owed[me].empty() && links[me]->try_post({&owed[me].front(), nullptr, 0, nullptr}))
          owed[me].erase(owed[me].begin());
      return rig[0].sink.frames.size() == kRounds + 1 && rig[1].sink.frames.size() == kRounds + 1;
    });
    for (int me = 0; me < 2; ++me)
      for (std::size_t i = 0; i <= kRounds; ++i) REQUIRE(rig[me].sink.frames[i].header.length == i);
  });
}

TEST_CASE("two ranks that flood each other from threads of their own lose nothing", "[contract]") {
  for_every_link([](const std::string& name) {
    if (name == "self") return;
    Rig rig = Rig::over(name, 2);
    rig.link(name, 0, 1);
    rig.link(name, 1, 0);
    constexpr std::size_t kFrames = 20000;
    const auto run = [&](int me) {
      Link& link = *rig[me].links[1 - me];
      auto& frames = rig[me].sink.frames;
      std::size_t sent = 0;
      const auto data = pattern(600, 1);
      while (sent < kFrames || frames.size() < kFrames) {
        const FrameHeader header = header_for(sent);
        const std::size_t bytes = sent % 7 == 0 ? 600 : sent % 25;
        if (sent < kFrames && link.try_post({&header, data.data(), bytes, nullptr}))
          ++sent;
        else if (rig[me].progress() == 0)
          std::this_thread::yield();
      }
    };
    std::thread other(run, 1);
    run(0);
    other.join();
    for (int me = 0; me < 2; ++me)
      for (std::size_t i = 0; i < kFrames; ++i) {
        REQUIRE(rig[me].sink.frames[i].header.length == i);
        REQUIRE(rig[me].sink.frames[i].payload.size() == (i % 7 == 0 ? 600 : i % 25));
      }
  });
}

TEST_CASE("long frames that are read while they are written come whole", "[contract]") {
  for_every_link([](const std::string& name) {
    if (name == "self") return;
    for (const bool places : {false, true}) {
      Rig rig = Rig::over(name, 2);
      rig[1].sink.places = places;
      Link& link = rig.link(name, 0, 1);
      rig.link(name, 1, 0);
      constexpr std::size_t kFrames = 100;  // ten times round the longest ring
      const std::size_t longest = rig[0].transport(name)->traits(rig.peer(0, 1)).max_frame;
      const auto size = [&](std::size_t number) { return longest - number * 100 % (longest / 2); };
      std::thread reader([&] {
        while (rig[1].sink.frames.size() < kFrames)
          if (rig[1].progress() == 0) std::this_thread::yield();
      });
      for (std::size_t sent = 0; sent < kFrames;) {
        const FrameHeader header = header_for(sent);
        const auto data = pattern(size(sent), sent);
        while (!link.try_post({&header, data.data(), data.size(), nullptr}))
          if (rig[0].progress() == 0) std::this_thread::yield();
        ++sent;
        // The payload is gone when try_post returns.
      }
      while (link.has_unsent()) rig[0].progress();
      reader.join();
      for (std::size_t i = 0; i < kFrames; ++i)
        REQUIRE(rig[1].sink.frames[i].payload == pattern(size(i), i));
    }
  });
}

TEST_CASE("a peer that the daemon declares gone is reported once, after its last frame",
          "[contract]") {
  for_every_link([](const std::string& name) {
    if (name == "self") return;
    Rig rig = Rig::over(name, 3);
    post(rig, rig.link(name, 1, 0), 1, pattern(100, 1));
    rig.until([&] { return rig[0].sink.frames.size() == 1; });
    const FrameHeader last = header_for(2);
    REQUIRE(rig.link(name, 1, 0).try_post({&last, nullptr, 0, nullptr}));
    // What daemons do when a process ends: every host's segment says so.
    for (int rank = 0; rank < 3; ++rank)
      rig[rank].wireup->segment().rank(1).gone.store(1, std::memory_order_release);
    until_a_peer_is_gone(rig);
    for (int i = 0; i < 100; ++i) {
      for (auto& transport : rig[0].opened.transports) transport->look_around();
      rig[0].progress();
    }
    REQUIRE(rig[0].sink.gone == std::vector<int>{1});
    REQUIRE(rig[0].sink.frames.size() == 2);
    REQUIRE(rig[0].sink.reasons[0].find("rank 1") != std::string::npos);
  });
}

// Its links end in order, its process does not: its MPI_Finalize had failed.
TEST_CASE("a peer that closed its links and then ended without finalizing is reported",
          "[contract]") {
  for_every_link([](const std::string& name) {
    if (name == "self") return;
    Rig rig = Rig::over(name, 3);
    post(rig, rig.link(name, 1, 0), 1, pattern(100, 1));
    rig.until([&] { return rig[0].sink.frames.size() == 1; });
    rig.drop(1);
    for (int i = 0; i < 1000; ++i) rig.progress();
    REQUIRE(rig[0].sink.gone.empty());
    for (const int rank : {0, 2})
      rig[rank].wireup->segment().rank(1).gone.store(1, std::memory_order_release);
    until_a_peer_is_gone(rig);
    REQUIRE(rig[0].sink.gone == std::vector<int>{1});
  });
}

TEST_CASE("a peer that announced itself, sent and ended since the last look loses nothing",
          "[contract]") {
  for_every_link([](const std::string& name) {
    if (name == "self") return;
    Rig rig = Rig::over(name, 3);
    Link& dying = rig.link(name, 1, 0);
    std::size_t before = 1;
    if (name != "shm") {  // a connection takes two
      post(rig, dying, 0, {});
      rig.until([&] { return rig[0].sink.frames.size() == 1; });
      ++before;
    }
    // All of it while rank 0 delivers a frame of rank 2, in a round that looks for the dead, too.
    const FrameHeader only = header_for(1);
    rig[0].sink.also = [&](const Received& frame) {
      if (frame.from != 2) return;
      REQUIRE(dying.try_post({&only, nullptr, 0, nullptr}));
      rig[0].wireup->segment().rank(1).gone.store(1, std::memory_order_release);
    };
    post(rig, rig.link(name, 2, 0), 7, {});
    until_a_peer_is_gone(rig);
    REQUIRE(rig[0].sink.frames.size() == before + 1);
    REQUIRE(rig[0].sink.frames.back().header.length == 1);
  });
}

TEST_CASE("a peer that the sink does not believe is lost, and nothing of it comes any more",
          "[contract]") {
  for_every_link([](const std::string& name) {
    if (name == "self") return;
    Rig rig = Rig::over(name, 3);
    rig[0].sink.believes = 2;
    Link& link = rig.link(name, 1, 0);
    post(rig, link, 0, pattern(10, 0));
    post(rig, link, 1, pattern(10, 0));
    rig.until([&] { return rig[0].sink.frames.size() == 2; });
    std::size_t posted = 2;
    rig.until([&] {
      const FrameHeader header = header_for(posted);
      const auto data = pattern(3000, 0);
      if (posted < 20 && link.try_post({&header, data.data(), data.size(), nullptr})) ++posted;
      return !rig[0].sink.gone.empty();
    });
    for (int i = 0; i < 100; ++i) rig[0].progress();
    REQUIRE(rig[0].sink.gone == std::vector<int>{1});
    REQUIRE(rig[0].sink.reasons[0].find("rank 1") != std::string::npos);
    REQUIRE(rig[0].sink.reasons[0].find("no frame") != std::string::npos);
    REQUIRE(rig[0].sink.frames.size() == 2);
    // The others go on.
    rig[0].sink.believes = 3;
    post(rig, rig.link(name, 2, 0), 7, pattern(10, 0));
    rig.until([&] { return rig[0].sink.frames.size() == 3; });
    REQUIRE(rig[0].sink.frames[2].from == 2);
  });
}

TEST_CASE("long frames among any number of short ones keep their places", "[contract]") {
  for_every_link([](const std::string& name) {
    if (name == "self") return;
    Rig rig = Rig::over(name, 2);
    Link& link = rig.link(name, 0, 1);
    const std::size_t longest = rig[0].transport(name)->traits(rig.peer(0, 1)).max_frame;
    const auto data = pattern(longest, 1);
    CountedDone done;
    std::size_t posted = 0;
    // Only the sender moves as long as its link takes more: it is bounded, and drops nothing.
    const auto try_one = [&] {
      const FrameHeader header = header_for(posted);
      const bool is_long = posted % 5000 == 1;
      const FrameView frame{&header, data.data(), is_long ? longest : posted % 100, nullptr};
      if (!link.try_post(frame)) return false;
      ++posted;
      return true;
    };
    while (posted < 20'000) {
      while (posted < 20'000 && try_one()) rig[0].progress();
      rig[0].progress();
      rig[1].progress();
    }
    auto& frames = rig[1].sink.frames;
    rig.until([&] { return frames.size() == posted; });
    for (std::size_t i = 0; i < posted; ++i) {
      REQUIRE(frames[i].header.length == i);
      REQUIRE(frames[i].payload.size() == (i % 5000 == 1 ? longest : i % 100));
    }
  });
}

TEST_CASE("a job may be opened and closed again many times", "[contract]") {
  for_every_link([](const std::string& name) {
    if (name == "ucx") return;  // milliseconds each; its own test opens it often enough
    for (int round = 0; round < 200; ++round) {
      Rig rig = Rig::over(name, 2);
      const int to = target(name);
      post(rig, rig.link(name, 0, to), 1, pattern(40, 1));
      rig.until([&] { return rig[to].sink.frames.size() == 1; });
    }
  });
}
