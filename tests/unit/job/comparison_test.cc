// Collective calls of ranks side by side.
#include "job/comparison.h"

#include "catch.h"
#include "watch/calls.h"

using namespace tutti;
using namespace tutti::launch;
using namespace tutti::launch::job;

namespace {

control::SeenCall bcast(std::uint64_t number, int root, std::vector<int> ranks) {
  control::SeenCall call;
  call.context = 1;
  call.number = number;
  watch::Fingerprint print;
  print.collective = 1;
  print.root = static_cast<std::uint32_t>(root);
  call.fingerprint = watch::pack_fingerprint(print);
  call.root = root;
  call.bytes = 16;
  call.ranks = std::move(ranks);
  return call;
}

bool says(const CallComparison& comparison, const std::string& words) {
  return comparison.difference().line.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("calls that match are no difference, however far each rank is", "[comparison]") {
  CallComparison all;
  CHECK(all.difference().line.empty());
  all.take({bcast(7, 0, {0, 1}), bcast(8, 1, {0, 1})});
  all.take({bcast(8, 1, {2}), bcast(9, 2, {2})});
  CHECK(all.difference().line.empty());
}

TEST_CASE("the first difference is told, with all ranks on both sides", "[comparison]") {
  CallComparison all;
  all.take({bcast(7, 0, {0, 1, 2, 3}), bcast(8, 1, {0, 1, 2}), bcast(9, 1, {0, 1, 2})});
  all.take({bcast(8, 3, {4}), bcast(9, 2, {4})});
  CHECK(all.difference().line ==
        "ranks give a collective different arguments: ranks 0-2 called MPI_Bcast(root 1, 16 B), "
        "rank 4 called "
        "MPI_Bcast(root 3, 16 B) (collective number 8 of MPI_COMM_WORLD)");
}

TEST_CASE("what a rank says later replaces what it said", "[comparison]") {
  CallComparison all;
  all.take({bcast(7, 0, {0})});
  all.take({bcast(7, 1, {1})});
  CHECK_FALSE(all.difference().line.empty());
  all.take({bcast(8, 1, {1})});
  CHECK(all.difference().line.empty());
}

TEST_CASE("other communicators and other kinds of the same number are other calls",
          "[comparison]") {
  CallComparison all;
  // The same context: it serves another group at once, or served it before, or will.
  control::SeenCall beside = bcast(7, 1, {1}), later = bcast(7, 3, {0});
  beside.first = 1;
  later.birth = 5;
  control::SeenCall nonblocking = bcast(7, 2, {2});
  nonblocking.flags = watch::kNonblocking;
  all.take({bcast(7, 0, {0}), beside, nonblocking, later});
  CHECK(all.difference().line.empty());
  control::SeenCall differs = bcast(7, 0, {3});
  differs.flags = watch::kNonblocking;
  all.take({differs});
  CHECK(says(all, "nonblocking collective number 7"));
}

TEST_CASE("each side of an intercommunicator is compared with itself, and in what both say alike",
          "[comparison]") {
  const auto said = [](std::uint32_t terms, bool second, int rank) {
    control::SeenCall call = bcast(3, 0, {rank});
    call.context = 9;
    call.birth = 4;
    call.flags = watch::kInter | (second ? watch::kSecondSide : 0);
    call.terms = terms;
    return call;
  };
  CallComparison all;
  all.take({said(1U << 23, false, 0), said(3U << 23, true, 1), said(1U << 23, false, 2),
            said(3U << 23, true, 3)});
  CHECK(all.difference().line.empty());
  CHECK(all.difference(CallComparison::Order::of_all).line.empty());
  all.take({said(2U << 23, true, 3)});
  CHECK(says(all,
             "rank 1 called MPI_Bcast(root 0, 16 B, MPI_MAX), rank 3 called "
             "MPI_Bcast(root 0, 16 B, MPI_MIN)"));
  control::SeenCall longer = said(3U << 23, true, 3);
  longer.bytes = 17;
  all.take({longer});
  CHECK(says(all, "ranks 0-2 called"));
}

TEST_CASE("what looks alike in words is told apart", "[comparison]") {
  CallComparison all;
  control::SeenCall split = bcast(7, 0, {0}), other = bcast(7, 0, {1});
  split.function = other.function = 1;  // of none that is called like the collective inside it
  other.bytes = 24;
  all.take({split, other});
  CHECK(says(all, "; they differ: sizes 16 B and 24 B"));
}

TEST_CASE("a communicator whose difference was told is left alone", "[comparison]") {
  CallComparison all;
  control::SeenCall first = bcast(7, 0, {0}), second = bcast(7, 1, {1});
  first.flags = second.flags = watch::kOnlyWarns;
  all.take({first, second});
  const CallComparison::Difference found = all.difference();
  REQUIRE_FALSE(found.line.empty());
  CHECK(found.only_warns);
  all.overlook(found);
  CHECK(all.difference().line.empty());
}

TEST_CASE("calls that are followed are compared one by one", "[comparison]") {
  CallComparison all;
  wireup::CallRecord call{};
  for (std::uint64_t number = 1; number <= 5; ++number)
    for (const int rank : {0, 1, 2}) {
      call.number = number;
      call.root = number == 4 && rank == 2 ? 1 : 0;
      const std::string line = all.follow(rank, call).line;
      CHECK(line.empty() == (number != 4 || rank != 2));
      if (!line.empty()) {
        CHECK(line.find("ranks 0-1 called") != std::string::npos);
        CHECK(line.find("rank 2 called") != std::string::npos);
      }
    }
}

TEST_CASE("blocking and nonblocking calls are mixed alike where nothing moves", "[comparison]") {
  CallComparison all;
  control::SeenCall nonblocking = bcast(1, 0, {2});
  nonblocking.flags = watch::kNonblocking;
  nonblocking.others = 6;  // the seventh call of all
  nonblocking.history = 3;
  control::SeenCall blocking = bcast(7, 0, {0, 1});
  blocking.history = 2;
  all.take({blocking, nonblocking});
  CHECK(all.difference().line.empty());
  CHECK(all.difference(CallComparison::Order::of_all).line.find("collective number 7") !=
        std::string::npos);
  control::SeenCall later = bcast(8, 0, {3});
  later.others = 1;  // after a nonblocking one and seven more: the ninth
  later.history = 4;
  blocking.ranks = {0, 1, 2};
  all.take({blocking, later});
  CHECK(all.difference(CallComparison::Order::of_all).line.empty());
  for (control::SeenCall* call : {&blocking, &nonblocking}) call->flags |= watch::kInter;
  all.take({blocking, nonblocking});
  CHECK(all.difference(CallComparison::Order::of_all).line.empty());
}

TEST_CASE("a difference that nobody remembers is known by what came after", "[comparison]") {
  CallComparison all;
  control::SeenCall late = bcast(50, 0, {0, 1});
  late.history = 5;
  control::SeenCall last = bcast(50, 0, {2});
  last.history = 6;
  all.take({late, last});
  CHECK(says(all,
             "before collective number 50 of MPI_COMM_WORLD, ranks 0-1 did not make the calls "
             "that rank 2 made"));
}
