// A sink that finds no memory for a frame: it is given the frame again.
#include "every_link.h"

using namespace tutti;        // NOLINT(google-build-using-namespace): a test
using namespace tutti::test;  // NOLINT(google-build-using-namespace)

namespace {

// One round; what memory is too short for is left to a later one. Loans are not kept.
void progress(Rig& rig) {
  for (int rank = 0; rank < rig.size(); ++rank) try {
      rig[rank].progress();
      rig[rank].sink.kept.clear();
    } catch (const std::bad_alloc&) {
    }
}

}  // namespace

TEST_CASE("a frame for which there is no memory is given again, before what comes behind it",
          "[contract]") {
  for_every_link([](const std::string& name) {
    if (name == "ucx") return;  // nothing is thrown through its C
    for (const bool places : {false, true})
      for (const bool borrows : {false, true}) {
        Rig rig = Rig::over(name, 2);
        const int to = target(name);
        Recorder& sink = rig[to].sink;
        sink.places = places;
        sink.borrows = borrows;
        sink.lacks = 2;
        Link& link = rig.link(name, 0, to);
        const std::size_t longest = rig[0].transport(name)->traits(rig.peer(0, to)).max_frame;
        const std::vector<std::size_t> sizes{8, 0, 100, 3000, 24, 20'000, 1, longest};
        constexpr std::size_t kFrames = 400;
        for (std::size_t i = 0; i < kFrames; ++i) {
          const auto data = pattern(sizes[i % sizes.size()], i);
          const FrameHeader header = header_for(i);
          while (!link.try_post({&header, data.data(), data.size(), nullptr})) progress(rig);
        }
        const std::int64_t limit = now_ns() + 60'000'000'000;
        while (sink.frames.size() < kFrames && now_ns() < limit) progress(rig);
        REQUIRE(sink.frames.size() == kFrames);
        for (std::size_t i = 0; i < kFrames; ++i) {
          REQUIRE(sink.frames[i].header.length == i);
          REQUIRE(sink.frames[i].payload == pattern(sizes[i % sizes.size()], i));
        }
      }
  });
}

TEST_CASE("two peers whose frames find no memory in turn lose none of them", "[contract]") {
  for (const char* name : {"shm", "tcp"}) {
    INFO(name);
    Rig rig = Rig::over(name, 3);
    rig[0].sink.lacks = 1;
    constexpr std::size_t kFrames = 200;
    for (std::size_t i = 0; i < kFrames; ++i)
      for (const int from : {1, 2}) {
        const auto data = pattern(i * 10, i);
        const FrameHeader header = header_for(i);
        Link& link = rig.link(name, from, 0);
        while (!link.try_post({&header, data.data(), data.size(), nullptr})) progress(rig);
      }
    const std::int64_t limit = now_ns() + 60'000'000'000;
    while (rig[0].sink.frames.size() < 2 * kFrames && now_ns() < limit) progress(rig);
    REQUIRE(rig[0].sink.frames.size() == 2 * kFrames);
    std::size_t next[3] = {};
    for (const Received& frame : rig[0].sink.frames) {
      const std::size_t number = next[frame.from]++;
      REQUIRE(frame.header.length == number);
      REQUIRE(frame.payload == pattern(number * 10, number));
    }
  }
}
