// Balanced dimensions: against all there are, and for the numbers with the most divisors.
#include "comm/topology.h"

#include <algorithm>

#include "catch.h"

using namespace tutti;

namespace {

using Factors = std::vector<int>;

// Every way to write `product` as falling factors.
void list_all(int product, std::size_t count, int most, Factors& now, std::vector<Factors>& all) {
  if (count == 0) {
    if (product == 1) all.push_back(now);
    return;
  }
  for (int each = 1; each <= std::min(product, most); ++each) {
    if (product % each != 0) continue;
    now.push_back(each);
    list_all(product / each, count - 1, each, now, all);
    now.pop_back();
  }
}

bool is_closer(const Factors& a, const Factors& b) {
  const int spread_a = a.front() - a.back(), spread_b = b.front() - b.back();
  if (spread_a != spread_b) return spread_a < spread_b;
  return Factors(a.rbegin(), a.rend()) > Factors(b.rbegin(), b.rend());
}

Factors balanced(int nodes, std::size_t count) {
  Factors sizes(count);
  REQUIRE(comm::balance_dimensions(nodes, sizes));
  return sizes;
}

}  // namespace

TEST_CASE("balanced dimensions are the closest of all", "[comm][topology]") {
  for (const int nodes : {1, 2, 7, 36, 60, 128, 210, 360, 720, 1260, 2310, 4096, 5040})
    for (std::size_t count = 1; count <= 5; ++count) {
      INFO(nodes << " in " << count << " dimensions");
      std::vector<Factors> all;
      Factors now;
      list_all(nodes, count, nodes, now, all);
      CHECK(balanced(nodes, count) == *std::min_element(all.begin(), all.end(), is_closer));
    }
}

TEST_CASE("dimensions where the smallest largest factor is not the closest", "[comm][topology]") {
  CHECK(balanced(5040, 3) == Factors{21, 16, 15});  // 20 x 18 x 14 lies as far apart
  CHECK(balanced(19152, 3) == Factors{38, 24, 21});
  CHECK(balanced(25920, 5) == Factors{10, 9, 8, 6, 6});
  CHECK(balanced(1000000000, 3) == Factors{1000, 1000, 1000});
}

TEST_CASE("numbers with many divisors are balanced in any dimensions", "[comm][topology]") {
  for (const int nodes : {735134400, 2095133040, 1 << 30, 2147483647, 1836311903})
    for (std::size_t count = 1; count <= 40; ++count) {
      const Factors sizes = balanced(nodes, count);
      std::int64_t product = 1;
      for (const int each : sizes) product *= each;
      CHECK(product == nodes);
      CHECK(std::is_sorted(sizes.rbegin(), sizes.rend()));
    }
}
