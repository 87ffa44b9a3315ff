// Whole lines and their tags.
#include "daemon/output.h"

#include "catch.h"

namespace tutti::launch {
namespace {

LineCutter tagged(int stream = 1) {
  OutputPart how;
  how.tag = true;
  return LineCutter(how, 3, stream);
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
  OutputPart how;
  how.label = true;
  CHECK(LineCutter(how, 7, 1).feed("a\n\nb\n") == "[7] a\n[7] \n[7] b\n");
}

TEST_CASE("without tags bytes pass unchanged, whole lines at a time", "[daemon][output]") {
  LineCutter cutter(OutputPart{}, 0, 1);
  CHECK(cutter.feed("a\nb") == "a\n");
  CHECK(cutter.feed("c\r50%") == "bc\r");
  CHECK(cutter.holds_a_piece());
  CHECK(cutter.flush() == "50%");
  CHECK(cutter.feed(std::string("\0\n", 2)) == std::string("\0\n", 2));
}

TEST_CASE("a line without end is passed on before it fills the memory", "[daemon][output]") {
  LineCutter cutter(OutputPart{}, 0, 1);
  std::size_t shown = 0;
  for (int i = 0; i < 40; ++i) shown += cutter.feed(std::string(65536, 'x')).size();
  CHECK(shown >= 2U << 20);
}

TEST_CASE("a time stamp stands before the tag", "[daemon][output]") {
  OutputPart how;
  how.tag = how.timestamps = true;
  const std::string line = LineCutter(how, 0, 1).feed("x\n");
  CHECK(line.size() > 24);
  CHECK(line[10] == 'T');
  CHECK(line.ends_with(" [1,0]<stdout>: x\n"));
}

}  // namespace
}  // namespace tutti::launch
