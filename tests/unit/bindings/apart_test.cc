// What is sent and what is received lie apart (checks=all): right for neighbours, parts and gaps.
#include "catch.h"
#include "mpi/checks.h"

namespace mpi = tutti::mpi;
namespace types = tutti::types;

namespace {

bool apart(const void* a, mpi::Count a_count, const types::Datatype* a_type, const void* b,
           mpi::Count b_count, const types::Datatype* b_type) {
  return mpi::good_apart({a, a_count, a_type}, {b, b_count, b_type}, "a", "b");
}

}  // namespace

TEST_CASE("buffers that share bytes overlap, neighbours do not", "[checks]") {
  const types::Datatype* const type = mpi::type_of(MPI_INT);
  int words[20];
  CHECK(apart(words, 10, type, words + 10, 10, type));
  CHECK(apart(words + 10, 10, type, words, 10, type));
  CHECK_FALSE(apart(words, 10, type, words, 10, type));
  CHECK_FALSE(apart(words, 11, type, words + 10, 10, type));
  CHECK_FALSE(apart(words + 5, 1, type, words, 20, type));
}

TEST_CASE("what is empty, in place or unknown overlaps with nothing", "[checks]") {
  const types::Datatype* const type = mpi::type_of(MPI_INT);
  int words[4];
  CHECK(apart(words, 0, type, words, 4, type));
  CHECK(apart(nullptr, 4, type, nullptr, 4, type));
  CHECK(apart(MPI_IN_PLACE, 4, type, words, 4, type));
  CHECK(apart(words, 4, nullptr, words, 4, type));
}

TEST_CASE("a message may lie in the gaps of another", "[checks]") {
  types::Datatype& type = *mpi::type_of(MPI_INT);
  auto column = types::make_vector(4, 1, 2, type);  // every second
  REQUIRE(column);
  int words[8];
  CHECK(apart(words, 1, column->get(), words + 1, 1, column->get()));
  CHECK_FALSE(apart(words, 1, column->get(), words, 1, column->get()));
}
