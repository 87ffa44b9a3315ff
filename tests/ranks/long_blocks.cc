// Collectives of long blocks whichever way these come (TUTTI_SINGLE_COPY): every one that moves
// blocks, in place, with gaps on either side, in communicators of their own, between threads; and
// `killed`: a rank is killed while others read from it and it from them.
#include <unistd.h>

#include <cstring>
#include <functional>

#include "check.h"
#include "long_ends.h"

using namespace ranks;

namespace {

constexpr int kSizes[] = {3'000, 20'000, 70'000, 300'000};  // of int
constexpr int kTurns = 14;                                  // both ways have had theirs

// Memory of blocks, with an int between any two of them or not, that is written over at its end, as
// soon as the call is back.
class Blocks {
 public:
  Blocks(int blocks, int n, bool has_gaps)
      : n_(n), step_(has_gaps ? 2 : 1), ints_(static_cast<std::size_t>(blocks * n * step_), -5) {
    if (has_gaps) {
      MPI_Datatype pair;
      MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &pair);
      type_ = pair;
      MPI_Type_commit(&type_);
    }
  }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  ~Blocks() {
    std::fill(ints_.begin(), ints_.end(), -7);
    if (type_ != MPI_INT) MPI_Type_free(&type_);
  }
  void fill(int block, int from, int to, int turn) {
    for (int i = 0; i < n_; ++i) at(block, i) = value_of(from, to + turn, i);
  }
  bool holds(int block, int from, int to, int turn) {
    for (int i = 0; i < n_; ++i)
      if (at(block, i) != value_of(from, to + turn, i)) return false;
    return step_ == 1 || ints_[1] == -5;
  }
  void* data() { return ints_.data(); }
  MPI_Datatype type() const { return type_; }

 private:
  int& at(int block, int i) { return ints_[static_cast<std::size_t>((block * n_ + i) * step_)]; }
  int n_, step_;
  MPI_Datatype type_ = MPI_INT;
  std::vector<int> ints_;
};

struct Turn {
  MPI_Comm comm;
  int me, p, n, number;
  int root() const { return number % p; }
  // Whether this rank's memory has gaps; each rank says otherwise.
  bool gives_gaps() const { return (number + me) % 5 == 1; }
  bool takes_gaps() const { return (number + 2 * me) % 7 == 2; }
};

void bcast(const Turn& t) {
  Blocks all(1, t.n, t.gives_gaps());
  if (t.me == t.root()) all.fill(0, t.root(), 0, t.number);
  MPI_Bcast(all.data(), t.n, all.type(), t.root(), t.comm);
  CHECK(all.holds(0, t.root(), 0, t.number));
}

void gather(const Turn& t, bool to_all) {
  Blocks given(1, t.n, t.gives_gaps()), taken(t.p, t.n, t.takes_gaps());
  const bool takes = to_all || t.me == t.root();
  const bool in_place = takes && t.number % 3 == 0;
  (in_place ? taken : given).fill(in_place ? t.me : 0, t.me, 0, t.number);
  const void* const from = in_place ? MPI_IN_PLACE : given.data();
  if (to_all)
    MPI_Allgather(t.number % 3 == 0 ? MPI_IN_PLACE : from, t.n, given.type(), taken.data(), t.n,
                  taken.type(), t.comm);
  else
    MPI_Gather(from, t.n, given.type(), taken.data(), t.n, taken.type(), t.root(), t.comm);
  for (int giver = 0; giver < t.p && takes; ++giver) CHECK(taken.holds(giver, giver, 0, t.number));
}

void scatter(const Turn& t) {
  Blocks given(t.p, t.n, t.gives_gaps()), taken(1, t.n, t.takes_gaps());
  const bool in_place = t.me == t.root() && t.number % 3 == 0;
  for (int taker = 0; taker < t.p; ++taker) given.fill(taker, t.root(), taker, t.number);
  MPI_Scatter(given.data(), t.n, given.type(), in_place ? MPI_IN_PLACE : taken.data(), t.n,
              taken.type(), t.root(), t.comm);
  if (!in_place) CHECK(taken.holds(0, t.root(), t.me, t.number));
}

void alltoall(const Turn& t) {
  Blocks given(t.p, t.n, t.gives_gaps()), taken(t.p, t.n, t.takes_gaps());
  const bool in_place = t.number % 3 == 0;
  Blocks& from = in_place ? taken : given;
  for (int taker = 0; taker < t.p; ++taker) from.fill(taker, t.me, taker, t.number);
  MPI_Alltoall(in_place ? MPI_IN_PLACE : given.data(), t.n, given.type(), taken.data(), t.n,
               taken.type(), t.comm);
  for (int giver = 0; giver < t.p; ++giver) CHECK(taken.holds(giver, giver, t.me, t.number));
}

void all(MPI_Comm comm, int n) {
  Turn turn{comm, 0, 1, n, 0};
  MPI_Comm_rank(comm, &turn.me);
  MPI_Comm_size(comm, &turn.p);
  for (; turn.number < kTurns; ++turn.number) {
    bcast(turn);
    gather(turn, false);
    scatter(turn);
    gather(turn, true);
    alltoall(turn);
  }
}

// The same kind again and again, as programs do; the root, or the others, come late.
void in_a_row() {
  const std::function<void(const Turn&)> kinds[] = {bcast, [](const Turn& t) { gather(t, false); },
                                                    scatter, [](const Turn& t) { gather(t, true); },
                                                    alltoall};
  for (const auto& kind : kinds)
    for (int number = 0; number < 2 * kTurns; ++number) {
      if (number % 6 == 5 && (rank == number % size) == (number % 4 == 1)) ::usleep(2000);
      kind({MPI_COMM_WORLD, rank, size, 20'000, number});
    }
}

void between_threads() {
  in_two_threads([](MPI_Comm comm) { all(comm, kSizes[2]); },
                 [](MPI_Comm comm) { all(comm, kSizes[1]); });
}

// The last rank dies while all exchange.
int killed() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int n = 1'000'000;
  std::vector<int> given(static_cast<std::size_t>(n * size), rank), taken(given);
  std::thread end;
  if (rank == size - 1) end = killer();
  return until_another_is_dead(rank == 0, "the exchange ended", [&] {
    return MPI_Alltoall(given.data(), n, MPI_INT, taken.data(), n, MPI_INT, MPI_COMM_WORLD);
  });
}

}  // namespace

int main(int count, char** arguments) {
  begin(MPI_THREAD_MULTIPLE);
  if (count > 1 && std::strcmp(arguments[1], "killed") == 0) return killed();
  for (const int n : kSizes) all(MPI_COMM_WORLD, n);
  in_a_row();
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  all(half, kSizes[1]);
  MPI_Comm_free(&half);
  between_threads();
  return done();
}
