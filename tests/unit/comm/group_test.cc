// Set operations on groups.
#include "catch.h"
#include "comm/comm.h"

namespace {

using namespace tutti;
using comm::Comparison;
using comm::GroupRef;
using Members = std::vector<int>;

GroupRef group(Members members) {
  return GroupRef::adopt(new comm::Group(std::move(members)));
}

}  // namespace

TEST_CASE("a group knows the rank of its members and of no others", "[comm][group]") {
  const GroupRef g = group({7, 3, 9});
  CHECK(g->rank_of(7) == 0);
  CHECK(g->rank_of(3) == 1);
  CHECK(g->rank_of(9) == 2);
  CHECK(g->rank_of(4) == comm::kUndefined);
  const GroupRef all = group({0, 1, 2});
  CHECK(all->rank_of(2) == 2);
  CHECK(all->rank_of(3) == comm::kUndefined);
  CHECK(all->rank_of(-1) == comm::kUndefined);
}

TEST_CASE("groups compare by members and order", "[comm][group]") {
  CHECK(comm::compare(*group({1, 2}), *group({1, 2})) == Comparison::identical);
  CHECK(comm::compare(*group({1, 2}), *group({2, 1})) == Comparison::similar);
  CHECK(comm::compare(*group({1, 2}), *group({1, 3})) == Comparison::unequal);
  CHECK(comm::compare(*group({}), *group({})) == Comparison::identical);
}

TEST_CASE("union, intersection and difference keep the order of the first group", "[comm][group]") {
  const GroupRef a = group({5, 1, 3}), b = group({3, 4, 5, 0});
  CHECK(comm::union_of(*a, *b)->members() == Members{5, 1, 3, 4, 0});
  CHECK(comm::intersection_of(*a, *b)->members() == Members{5, 3});
  CHECK(comm::difference_of(*a, *b)->members() == Members{1});
  CHECK(comm::difference_of(*a, *a)->size() == 0);
}

TEST_CASE("members are included in the order named, excluded in their own", "[comm][group]") {
  const GroupRef g = group({10, 11, 12, 13});
  const int some[] = {3, 0};
  CHECK((*comm::include(*g, some))->members() == Members{13, 10});
  CHECK((*comm::exclude(*g, some))->members() == Members{11, 12});
  const int twice[] = {1, 1};
  const int outside[] = {4};
  CHECK(comm::include(*g, twice).error().code == Code::rank);
  CHECK(comm::include(*g, outside).error().code == Code::rank);
}

TEST_CASE("ranges run up and down and stop within the group", "[comm][group]") {
  const GroupRef g = group({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  const comm::RankRange up[] = {{1, 8, 3}};
  const comm::RankRange down[] = {{9, 5, -2}, {0, 0, 1}};
  CHECK((*comm::include_ranges(*g, up))->members() == Members{1, 4, 7});
  CHECK((*comm::include_ranges(*g, down))->members() == Members{9, 7, 5, 0});
  CHECK((*comm::exclude_ranges(*g, up))->members() == Members{0, 2, 3, 5, 6, 8, 9});
  const comm::RankRange still[] = {{1, 2, 0}};
  const comm::RankRange beyond[] = {{0, 2000000000, 1}};
  CHECK(!comm::include_ranges(*g, still));
  CHECK(!comm::include_ranges(*g, beyond));
  const comm::RankRange away[][1] = {{{2, 1, 1}}, {{1, 3, -1}}};
  for (const auto& range : away) {
    CHECK(comm::include_ranges(*g, range).error().code == Code::arg);
    CHECK(comm::exclude_ranges(*g, range).error().code == Code::arg);
  }
}
