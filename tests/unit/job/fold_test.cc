// Equal lines of several ranks.
#include "job/fold.h"

#include <random>

#include "base/text.h"
#include "catch.h"

namespace tutti::launch::job {
namespace {

std::string all_of(LineFolder& fold) {
  std::string text;
  for (const auto& line : fold.take(true)) text += line.text;
  return text;
}

// "0-2,5" -> 0,1,2,5
std::vector<int> ranks_in(const std::string& ranges) {
  std::vector<int> ranks;
  for (const std::string& one : text::split(ranges, ',')) {
    const auto dash = one.find('-');
    const int from = std::stoi(one);
    const int to = dash == std::string::npos ? from : std::stoi(one.substr(dash + 1));
    for (int r = from; r <= to; ++r) ranks.push_back(r);
  }
  return ranks;
}

TEST_CASE("what every rank says is shown at once, the rest waits", "[job][fold]") {
  LineFolder fold(3);
  fold.add(0, 1, "hello\nown\n");
  fold.add(1, 1, "hello\n");
  CHECK(fold.take(false).empty());
  fold.add(2, 1, "hello\n");
  const auto lines = fold.take(false);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].text == "[0-2] hello\n");
  CHECK(all_of(fold) == "[0] own\n");
  CHECK(fold.empty());
}

TEST_CASE("streams are not mixed, repeated lines stay two", "[job][fold]") {
  LineFolder fold(2);
  fold.add(0, 1, "x\nx\n");
  fold.add(1, 2, "x\n");
  CHECK(all_of(fold) == "[0] x\n[0] x\n[1] x\n");
}

TEST_CASE("each rank's lines keep their order", "[job][fold]") {
  LineFolder fold(2);
  fold.add(0, 1, "a\nb\n");
  fold.add(1, 1, "b\na\n");
  CHECK(all_of(fold) == "[0] a\n[0-1] b\n[1] a\n");
}

TEST_CASE("random lines come out whole and in order, whoever folds them", "[job][fold]") {
  std::mt19937 random(7);
  LineFolder fold(4);
  std::vector<std::string> said(4), shown(4);
  for (int i = 0; i < 4000; ++i) {
    const int rank = static_cast<int>(random() % 4);
    const std::string line = std::string(1, static_cast<char>('a' + random() % 3)) + "\n";
    said[static_cast<std::size_t>(rank)] += line;
    fold.add(rank, 1, line);
    for (const auto& out : fold.take(random() % 50 == 0 || i == 3999)) {
      const auto close = out.text.find("] ");
      for (const int r : ranks_in(out.text.substr(1, close - 1)))
        shown[static_cast<std::size_t>(r)] += out.text.substr(close + 2);
    }
  }
  CHECK(shown == said);
}

TEST_CASE("ranks are told in ranges", "[job][fold]") {
  CHECK(rank_ranges({3, 0, 1, 7, 2}) == "0-3,7");
  CHECK(rank_ranges({}).empty());
  CHECK(ranks_text({3}) == "rank 3");
  CHECK(ranks_text({5, 1, 0}) == "ranks 0-1,5");
}

}  // namespace
}  // namespace tutti::launch::job
