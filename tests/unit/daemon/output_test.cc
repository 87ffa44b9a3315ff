// Whole lines and their tags.
#include "daemon/output.h"

#include "catch.h"

namespace tutti::launch::daemon {
namespace {

Writer writer(int rank) {
  return {rank, rank, 0, "a", 7};
}

LineCutter tagged(int stream = 1) {
  control::OutputPart how;
  how.tag = static_cast<int>(control::OutputPart::Tag::tag);
  return LineCutter(how, writer(3), stream);
}

TEST_CASE("a line in two pieces gets one tag", "[daemon][output]") {
  LineCutter cutter = tagged();
  CHECK(cutter.feed("ABCD").empty());
  CHECK(cutter.feed("EFGH\nnext") == "[1,3]<stdout>: ABCDEFGH\n");
  CHECK(cutter.flush() == "[1,3]<stdout>: next\n");
  CHECK(cutter.flush().empty());
}

TEST_CASE("standard error says so, Hydra's label is shorter", "[daemon][output]") {
  CHECK(tagged(2).feed("x\n") == "[1,3]<stderr>: x\n");
  control::OutputPart how;
  how.tag = static_cast<int>(control::OutputPart::Tag::label);
  CHECK(LineCutter(how, writer(7), 1).feed("a\n\nb\n") == "[7] a\n[7] \n[7] b\n");
}

TEST_CASE("without tags bytes pass unchanged, whole lines at a time", "[daemon][output]") {
  LineCutter cutter(control::OutputPart{}, writer(0), 1);
  CHECK(cutter.feed("a\nb") == "a\n");
  CHECK(cutter.feed("c\r50%") == "bc\r");
  CHECK(cutter.holds_a_piece());
  CHECK(cutter.flush() == "50%");
  CHECK(cutter.feed(std::string("\0\n", 2)) == std::string("\0\n", 2));
}

TEST_CASE("a line without end is passed on before it fills the memory", "[daemon][output]") {
  LineCutter cutter(control::OutputPart{}, writer(0), 1);
  std::size_t shown = 0;
  for (int i = 0; i < 40; ++i) shown += cutter.feed(std::string(65536, 'x')).size();
  CHECK(shown >= 2U << 20);
}

TEST_CASE("a time stamp stands before the tag", "[daemon][output]") {
  control::OutputPart how;
  how.tag = static_cast<int>(control::OutputPart::Tag::tag);
  how.timestamps = true;
  const std::string line = LineCutter(how, writer(0), 1).feed("x\n");
  CHECK(line.size() > 24);
  CHECK(line[10] == 'T');
  CHECK(line.ends_with(" [1,0]<stdout>: x\n"));
}

TEST_CASE("JSON lines hold whatever a program writes", "[daemon][output]") {
  control::OutputPart how;
  how.tag = static_cast<int>(control::OutputPart::Tag::json);
  LineCutter cutter(how, writer(2), 2);
  const std::string line = cutter.feed("say \"\\\t\xff\xc3\xa9\"\n");
  CHECK(line.starts_with("{\"rank\":2,\"host\":\"a\",\"stream\":\"stderr\",\"time\":\""));
  CHECK(line.ends_with("\"line\":\"say \\\"\\\\\\u0009\xef\xbf\xbd\xc3\xa9\\\"\"}\n"));
  CHECK(cutter.feed("rest").empty());
  CHECK(cutter.flush().ends_with("\"line\":\"rest\"}\n"));
}

TEST_CASE("XML lines, patterns and colours", "[daemon][output]") {
  control::OutputPart how;
  how.tag = static_cast<int>(control::OutputPart::Tag::xml);
  CHECK(LineCutter(how, writer(1), 1).feed("a<b&c\n") ==
        "<stdout rank=\"1\">a&lt;b&amp;c</stdout>\n");
  how.tag = static_cast<int>(control::OutputPart::Tag::pattern);
  how.tag_pattern = "%h-%3r> ";
  CHECK(LineCutter(how, writer(1), 1).feed("x\n") == "a-001> x\n");
  how.color = true;
  CHECK(LineCutter(how, writer(1), 2).feed("x\n") == "\033[31ma-001> \033[0mx\n");
  CHECK(fill_pattern("o.%r.%l.%n.%j.%%.%q", writer(4)) == "o.4.4.0.7.%.%q");
}

}  // namespace
}  // namespace tutti::launch::daemon
