// What is sent and what is received lie apart (checks=all): right for neighbours, parts and gaps.
#include "mpi/overlap.h"

#include "catch.h"

namespace mpi = tutti::mpi;
namespace types = tutti::types;

namespace {

bool apart(const void* a, mpi::Count a_count, const types::Datatype* a_type, const void* b,
           mpi::Count b_count, const types::Datatype* b_type) {
  return mpi::good_disjoint(mpi::memory_of(a, a_count, a_type), mpi::memory_of(b, b_count, b_type),
                            "a", "b");
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
  CHECK(apart(MPI_IN_PLACE, 4, type, words, 4, type));
  CHECK(apart(words, 4, nullptr, words, 4, type));
}

TEST_CASE("a message may lie in the gaps of another", "[checks]") {
  types::Datatype& type = *mpi::type_of(MPI_INT);
  auto column = types::make_vector(4, 1, 2, type);  // every second
  REQUIRE(column);
  int words[8] = {};
  CHECK(apart(words, 1, column->get(), words + 1, 1, column->get()));
  CHECK_FALSE(apart(words, 1, column->get(), words, 1, column->get()));
}

TEST_CASE("a block for each rank, of which neighbours may be nobody", "[checks]") {
  const types::Datatype* const type = mpi::type_of(MPI_INT);
  int words[8] = {};
  const auto blocks = [&](const mpi::Owners& owners) {
    return mpi::blocks_of(words, owners, 2, type);
  };
  const auto last = mpi::memory_of(words + 7, 1, type);
  CHECK_FALSE(mpi::good_disjoint(blocks(mpi::Owners(4)), last, "a", "b"));
  CHECK(mpi::good_disjoint(blocks(mpi::Owners(3)), last, "a", "b"));
  const mpi::Owners nobody_last(std::vector<int>{1, 0, 2, MPI_PROC_NULL});
  CHECK(mpi::good_disjoint(blocks(nobody_last), last, "a", "b"));
}

TEST_CASE("blocks have counts, places and types of their own, from any address", "[checks]") {
  const types::Datatype* const type = mpi::type_of(MPI_INT);
  int words[8] = {};
  const int counts[] = {1, 0, 2}, places[] = {4, 0, 0}, bytes[] = {16, 0, 0};
  const MPI_Datatype kinds[] = {MPI_INT, MPI_DATATYPE_NULL, MPI_SHORT};
  const auto at = [&](int word) { return mpi::memory_of(words + word, 1, type); };
  const mpi::Owners three(3);
  const auto by_extents = mpi::blocks_at(words, three, counts, places, type);
  const auto by_bytes = mpi::blocks_at(words, three, counts, bytes, kinds);
  for (int word = 0; word < 8; ++word) {
    CHECK(mpi::good_disjoint(by_extents, at(word), "a", "b") == (word > 1 && word != 4));
    CHECK(mpi::good_disjoint(by_bytes, at(word), "a", "b") == (word > 0 && word != 4));
  }
  CHECK(mpi::blocks_at(MPI_IN_PLACE, three, counts, bytes, kinds).empty());
  auto absolute = types::make_hindexed(std::vector<mpi::Count>{1},
                                       std::vector<mpi::Count>{reinterpret_cast<mpi::Count>(words)},
                                       *mpi::type_of(MPI_INT));
  REQUIRE(absolute);
  CHECK_FALSE(mpi::good_disjoint(mpi::memory_of(MPI_BOTTOM, 1, absolute->get()), at(0), "a", "b"));
  CHECK(mpi::good_disjoint(mpi::memory_of(MPI_BOTTOM, 1, absolute->get()), at(1), "a", "b"));
}
