// Whole lines and their tags.
#include "daemon/output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "catch.h"
#include "daemon/output_file.h"

namespace tutti::launch::daemon {
namespace {

OutputOwner writer(int rank) {
  return {rank, rank, 0, "a", 7};
}

std::string joined(const Parts& parts) {
  std::string all;
  for (const std::string& part : parts) all += part;
  return all;
}

// Its parts as one text.
struct Cutter {
  Cutter(const control::OutputPart& how, const OutputOwner& whose, int stream)
      : lines(how, whose, stream) {}
  std::string feed(std::string_view bytes) { return joined(lines.feed(bytes)); }
  std::string flush() { return joined(lines.flush()); }
  bool holds_a_piece() const { return lines.holds_a_piece(); }
  LineCutter lines;
};

Cutter tagged(int stream = 1) {
  control::OutputPart how;
  how.tag = static_cast<int>(spec::OutputTag::tag);
  return Cutter(how, writer(3), stream);
}

TEST_CASE("a line in two pieces gets one tag", "[daemon][output]") {
  Cutter cutter = tagged();
  CHECK(cutter.feed("ABCD").empty());
  CHECK(cutter.feed("EFGH\nnext") == "[1,3]<stdout>: ABCDEFGH\n");
  CHECK(cutter.flush() == "[1,3]<stdout>: next\n");
  CHECK(cutter.flush().empty());
}

TEST_CASE("standard error says so, Hydra's label is shorter", "[daemon][output]") {
  CHECK(tagged(2).feed("x\n") == "[1,3]<stderr>: x\n");
  control::OutputPart how;
  how.tag = static_cast<int>(spec::OutputTag::label);
  CHECK(Cutter(how, writer(7), 1).feed("a\n\nb\n") == "[7] a\n[7] \n[7] b\n");
}

TEST_CASE("without tags bytes pass unchanged, whole lines at a time", "[daemon][output]") {
  Cutter cutter(control::OutputPart{}, writer(0), 1);
  CHECK(cutter.feed("a\nb") == "a\n");
  CHECK(cutter.feed("c\r50%") == "bc\r");
  CHECK(cutter.holds_a_piece());
  CHECK(cutter.flush() == "50%");
  CHECK(cutter.feed(std::string("\0\n", 2)) == std::string("\0\n", 2));
}

TEST_CASE("a line without end is passed on before it fills the memory", "[daemon][output]") {
  Cutter cutter(control::OutputPart{}, writer(0), 1);
  std::size_t shown = 0;
  for (int i = 0; i < 40; ++i) shown += cutter.feed(std::string(65536, 'x')).size();
  CHECK(shown >= 2U << 20);
}

TEST_CASE("a line of a MiB is shown whole, in parts that are not long", "[daemon][output]") {
  LineCutter lines(control::OutputPart{}, writer(0), 1);
  for (int i = 0; i < 1023; ++i) CHECK(lines.feed(std::string(1024, 'x')).empty());
  const Parts parts = lines.feed("end\nnext");
  CHECK(joined(parts).size() == 1023 * 1024 + 4);
  CHECK(joined(parts).ends_with("xend\n"));
  for (const std::string& part : parts) CHECK(part.size() <= 64U << 10);
  CHECK(joined(lines.flush()) == "next");
}

// Every byte value, with and without line ends, in pieces of every size.
std::string random_bytes(std::mt19937& dice, std::size_t bytes) {
  const std::string mean{"\0\n\r<>&\"\\\t \xff\xc3", 12};
  const auto below = [&dice](std::size_t n) { return dice() % n; };
  const std::size_t rare = below(3) == 0 ? 1U << 30 : 1 + below(300);
  std::string text;
  while (text.size() < bytes) {
    char c = static_cast<char>(below(256));
    if (below(rare) == 0) c = mean[below(mean.size())];
    if (rare > 300 && (c == '\n' || c == '\r')) c = '\0';  // no line end at all
    text += c;
  }
  return text;
}

std::string through(Cutter& cutter, std::string_view text, std::mt19937& dice, bool with_pauses) {
  std::string out;
  while (!text.empty()) {
    const std::size_t some = std::min<std::size_t>(text.size(), 1 + dice() % 70'000);
    out += cutter.feed(text.substr(0, some));
    if (with_pauses && dice() % 4 == 0) out += cutter.flush();
    text.remove_prefix(some);
  }
  return out + cutter.flush();
}

TEST_CASE("untagged, random bytes come out as they went in", "[daemon][output]") {
  std::mt19937 dice(7);  // NOLINT: the same every time
  for (int round = 0; round < 60; ++round) {
    const std::string text = random_bytes(dice, 1 + dice() % 900'000);
    Cutter cutter(control::OutputPart{}, writer(0), 1 + round % 2);
    CHECK(through(cutter, text, dice, round % 3 == 0) == text);
  }
}

TEST_CASE("under tags the text of each line comes out as it went in", "[daemon][output]") {
  std::mt19937 dice(8);  // NOLINT: the same every time
  for (int round = 0; round < 40; ++round) {
    const std::string text = random_bytes(dice, 1 + dice() % 900'000);
    Cutter cutter = tagged();
    std::string back;
    std::string_view out;
    const std::string whole = through(cutter, text, dice, false);
    for (out = whole; !out.empty();) {
      constexpr std::string_view tag = "[1,3]<stdout>: ";
      REQUIRE(out.starts_with(tag));
      const std::size_t end = out.find('\n');
      REQUIRE(end != std::string_view::npos);
      const std::string_view line = out.substr(tag.size(), end - tag.size());
      back += line;
      if (line.size() < (256U << 10) - 4) back += '\n';  // else one of several pieces
      out.remove_prefix(end + 1);
    }
    CHECK((back == text || back == text + "\n"));
  }
}

TEST_CASE("a time stamp stands before the tag", "[daemon][output]") {
  control::OutputPart how;
  how.tag = static_cast<int>(spec::OutputTag::tag);
  how.timestamps = true;
  const std::string line = Cutter(how, writer(0), 1).feed("x\n");
  CHECK(line.size() > 24);
  CHECK(line[10] == 'T');
  CHECK(line.ends_with(" [1,0]<stdout>: x\n"));
}

TEST_CASE("JSON lines hold whatever a program writes", "[daemon][output]") {
  control::OutputPart how;
  how.tag = static_cast<int>(spec::OutputTag::json);
  Cutter cutter(how, writer(2), 2);
  const std::string line = cutter.feed("say \"\\\t\xff\xc3\xa9\"\n");
  CHECK(line.starts_with("{\"rank\":2,\"host\":\"a\",\"stream\":\"stderr\",\"time\":\""));
  CHECK(line.ends_with("\"line\":\"say \\\"\\\\\\u0009\xef\xbf\xbd\xc3\xa9\\\"\"}\n"));
  CHECK(cutter.feed("rest").empty());
  CHECK(cutter.flush().ends_with("\"line\":\"rest\"}\n"));
}

TEST_CASE("XML lines, patterns and colours", "[daemon][output]") {
  control::OutputPart how;
  how.tag = static_cast<int>(spec::OutputTag::xml);
  CHECK(Cutter(how, writer(1), 1).feed("a<b&c\n") == "<stdout rank=\"1\">a&lt;b&amp;c</stdout>\n");
  how.tag = static_cast<int>(spec::OutputTag::pattern);
  how.tag_pattern = "%h-%3r> ";
  CHECK(Cutter(how, writer(1), 1).feed("x\n") == "a-001> x\n");
  how.color = true;
  CHECK(Cutter(how, writer(1), 2).feed("x\n") == "\033[31ma-001> \033[0mx\n");
  control::OutputPart xml;
  xml.tag = static_cast<int>(spec::OutputTag::xml);
  Cutter rest(xml, writer(1), 1);
  CHECK(rest.feed(std::string("\0\x1b\r\xff\xc3\xa9\xe0\x80\x80", 9)).empty());
  CHECK(rest.flush() ==
        "<stdout rank=\"1\">\xef\xbf\xbd\xef\xbf\xbd&#13;\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd"
        "\xef\xbf\xbd\xef\xbf\xbd</stdout>\n");
  CHECK(fill_pattern("o.%r.%l.%n.%j.%%.%q", writer(4)) == "o.4.4.0.7.%.%q");
}

TEST_CASE("logs beside those of other users go into no folder that others made", "[daemon]") {
  char place[] = "/tmp/tutti-logs-XXXXXX";
  REQUIRE(::mkdtemp(place) != nullptr);
  const std::string shared = std::string(kSharedLogs) + (place + sizeof "/tmp/tutti-logs");
  FileOpener opener(false);
  REQUIRE(::symlink(place, shared.c_str()) == 0);
  CHECK(opener.open(shared + "/0/out").problem.find("another user") != std::string::npos);
  ::unlink(shared.c_str());
  CHECK(::access((std::string(place) + "/0").c_str(), F_OK) != 0);  // nothing was made there
  const mode_t before = ::umask(0);
  CHECK(opener.open(shared + "/0/out").fd.is_open());
  ::umask(before);
  struct stat status {};
  REQUIRE(::stat(shared.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  REQUIRE(::chmod(shared.c_str(), 0777) == 0);
  CHECK(opener.open(shared + "/0/out").problem.find("others may write") != std::string::npos);
  REQUIRE(::chmod(shared.c_str(), 0700) == 0);
  if (::geteuid() == 0) {
    REQUIRE(::chown(shared.c_str(), 65534, 65534) == 0);
    CHECK_FALSE(opener.open(shared + "/0/out").fd.is_open());
  }
  CHECK(std::system(("rm -r " + shared + " " + place).c_str()) == 0);
}

}  // namespace
}  // namespace tutti::launch::daemon
