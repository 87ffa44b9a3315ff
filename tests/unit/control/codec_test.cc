// Messages and frames: what is written is read back, and no bytes can do harm.
#include <random>

#include "catch.h"
#include "control/control.h"

namespace tutti::launch::control {
namespace {

Launch some_launch() {
  Launch launch;
  launch.job_id = 0xfedcba9876543210ULL;
  launch.job_key = std::string("\0\1\xff", 3);
  launch.hosts = {"a", "b"};
  launch.host_of = {0, 0, 1, -1};
  launch.apps.push_back({{"./app", "-n", ""}, "/tmp", true, 4, 0, {{"A", "b\nc", false}}});
  launch.ranks.push_back({3, 0, true, {0, 5}});
  launch.output.tag = 1;
  return launch;
}

TEST_CASE("a message comes back as it was sent", "[control]") {
  const Launch sent = some_launch();
  const auto got = decode(encode(sent));
  REQUIRE(got);
  const auto& launch = std::get<Launch>(*got);
  CHECK(launch.job_id == sent.job_id);
  CHECK(launch.job_key == sent.job_key);
  CHECK(launch.host_of == sent.host_of);
  REQUIRE(launch.apps.size() == 1);
  CHECK(launch.apps[0].argv == sent.apps[0].argv);
  CHECK(launch.apps[0].environment[0].value == "b\nc");
  CHECK(launch.ranks[0].cpus == std::vector<int>{0, 5});
  CHECK(launch.output.tag == 1);
  CHECK_FALSE(launch.output.color);
}

TEST_CASE("every prefix of a message is an error, not a crash", "[control]") {
  const std::string whole = encode(some_launch());
  for (std::size_t length = 0; length < whole.size(); ++length)
    CHECK_FALSE(decode(std::string_view(whole).substr(0, length)));
}

TEST_CASE("damaged and made-up bytes never harm", "[control][fuzz]") {
  std::mt19937 random(20260101);
  const std::string whole = encode(some_launch());
  int errors = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = whole;
    const int changes = 1 + static_cast<int>(random() % 6);
    for (int i = 0; i < changes; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    errors += decode(bytes) ? 0 : 1;
  }
  CHECK(errors > 1000);
}

TEST_CASE("a forged length of four billion elements allocates nothing", "[control]") {
  CHECK_FALSE(decode(std::string("\x92\x00\xdd\xff\xff\xff\xff", 7)));
  CHECK_FALSE(decode(std::string("\x92\x00\xdf\xff\xff\xff\xff", 7)));
}

TEST_CASE("a list of empty records is refused, which would take hundreds of times its bytes",
          "[control]") {
  const auto list_of = [](std::size_t count) {
    std::string bytes = {'\x92', static_cast<char>(Message(Launch{}).index()), '\x81', '\xa4'};
    bytes += std::string("apps\xdc") + static_cast<char>(count >> 8) + static_cast<char>(count);
    return bytes + std::string(count, '\x80');
  };
  REQUIRE(decode(list_of(10)));
  CHECK(std::get<Launch>(*decode(list_of(10))).apps.size() == 10);
  const auto refused = decode(list_of(60'000));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text.find("more than its bytes can say in apps") != std::string::npos);
}

TEST_CASE("what takes most for its bytes among what is written comes back", "[control]") {
  const Addresses texts{0, {}, std::vector<std::string>(60'000)};
  const auto read = decode(encode(texts));
  REQUIRE(read);
  CHECK(std::get<Addresses>(*read).addresses.size() == 60'000);
  Launch launch;
  launch.apps.resize(20'000);
  launch.ranks.resize(20'000);
  CHECK(decode(encode(launch)));
}

TEST_CASE("a peer of whom nothing is known may send shorter frames only", "[control]") {
  const std::string long_one = frame(0, std::string(kMaxStrangersBytes + 1, 'x'));
  FrameReader reader(kMaxStrangersBytes), trusting;
  Frame out;
  for (FrameReader* each : {&reader, &trusting})
    each->feed(std::string_view(long_one).substr(0, 8));
  CHECK_FALSE(reader.next(&out));
  CHECK(trusting.next(&out));
}

TEST_CASE("frames are cut right wherever the stream is split", "[control]") {
  const std::string stream = frame(3, "hello") + frame(kEveryHost, "") + frame(0, "x");
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    FrameReader reader;
    std::vector<Frame> got;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      reader.feed(std::string_view(stream).substr(at, piece));
      Frame one;
      for (auto more = reader.next(&one); more && *more; more = reader.next(&one))
        got.push_back(one);
    }
    REQUIRE(got.size() == 3);
    CHECK((got[0].host == 3 && got[0].body == "hello"));
    CHECK((got[1].host == kEveryHost && got[1].body.empty()));
    CHECK_FALSE(reader.in_the_middle());
  }
}

TEST_CASE("a frame longer than the limit is refused before its body is read", "[control]") {
  FrameReader reader;
  reader.feed(std::string("\xff\xff\xff\x7f\0\0\0\0", 8));
  Frame one;
  CHECK_FALSE(reader.next(&one));
}

}  // namespace
}  // namespace tutti::launch::control
