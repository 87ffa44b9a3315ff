// Collective calls of ranks side by side.
#include "job/comparison.h"

#include "catch.h"
#include "watch/calls.h"

using namespace tutti;
using namespace tutti::launch;
using namespace tutti::launch::job;

namespace {

control::SeenCall bcast(std::uint32_t number, int root, std::vector<int> ranks) {
  control::SeenCall call;
  call.context = 1;
  call.group = 77;
  call.number = number;
  watch::Print print;
  print.collective = 1;
  print.root = static_cast<std::uint32_t>(root);
  call.fingerprint = watch::pack_print(print);
  call.root = root;
  call.bytes = 16;
  call.ranks = std::move(ranks);
  return call;
}

bool says(const Comparison& comparison, const std::string& words) {
  return comparison.difference().find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("calls that match are no difference, however far each rank is", "[comparison]") {
  Comparison all;
  CHECK(all.difference().empty());
  all.take({bcast(7, 0, {0, 1}), bcast(8, 1, {0, 1})});
  all.take({bcast(8, 1, {2}), bcast(9, 2, {2})});
  CHECK(all.difference().empty());
}

TEST_CASE("the first difference is told, with all ranks on both sides", "[comparison]") {
  Comparison all;
  all.take({bcast(7, 0, {0, 1, 2, 3}), bcast(8, 1, {0, 1, 2}), bcast(9, 1, {0, 1, 2})});
  all.take({bcast(8, 3, {4}), bcast(9, 2, {4})});
  CHECK(all.difference() ==
        "ranks call different collectives: ranks 0-2 called MPI_Bcast(root 1, 16 B), rank 4 called "
        "MPI_Bcast(root 3, 16 B) (collective number 8 of MPI_COMM_WORLD)");
}

TEST_CASE("what a rank says later replaces what it said", "[comparison]") {
  Comparison all;
  all.take({bcast(7, 0, {0})});
  all.take({bcast(7, 1, {1})});
  CHECK_FALSE(all.difference().empty());
  all.take({bcast(8, 1, {1})});  // that communicator was over, another has its number
  CHECK(all.difference().empty());
}

TEST_CASE("other groups and other kinds of the same number are other calls", "[comparison]") {
  Comparison all;
  control::SeenCall other = bcast(7, 1, {1});
  other.group = 78;
  control::SeenCall nonblocking = bcast(7 | watch::kNonblocking, 2, {2});
  all.take({bcast(7, 0, {0}), other, nonblocking});
  CHECK(all.difference().empty());
  all.take({bcast(7 | watch::kNonblocking, 0, {3})});
  CHECK(says(all, "nonblocking collective number 7"));
}

TEST_CASE("blocking and nonblocking calls are mixed alike where nothing moves", "[comparison]") {
  Comparison all;
  control::SeenCall nonblocking = bcast(1 | watch::kNonblocking, 0, {2});
  nonblocking.others = 6;  // the seventh call of all
  nonblocking.history = 3;
  control::SeenCall blocking = bcast(7, 0, {0, 1});
  blocking.history = 2;
  all.take({blocking, nonblocking});
  CHECK(all.difference().empty());
  CHECK(all.difference(Comparison::Order::of_all).find("collective number 7") != std::string::npos);
  control::SeenCall later = bcast(8, 0, {3});
  later.others = 1;  // after a nonblocking one and seven more: the ninth
  later.history = 4;
  blocking.ranks = {0, 1, 2};
  all.take({blocking, later});
  CHECK(all.difference(Comparison::Order::of_all).empty());
  blocking.history = nonblocking.history = 0;  // on an intercommunicator
  all.take({blocking, nonblocking});
  CHECK(all.difference(Comparison::Order::of_all).empty());
}

TEST_CASE("a difference that nobody remembers is known by what came after", "[comparison]") {
  Comparison all;
  control::SeenCall late = bcast(50, 0, {0, 1});
  late.history = 5;
  control::SeenCall last = bcast(50, 0, {2});
  last.history = 6;
  all.take({late, last});
  CHECK(says(all,
             "before collective number 50 of MPI_COMM_WORLD, ranks 0-1 did not make the calls "
             "that rank 2 made"));
}
