// MPI 5.0, 6.13 and 6.12.7: each persistent collective, started again and again with new words,
// and Ialltoallw give what the definition says; counts differ from rank to rank.
#include "check.h"

using namespace ranks;

namespace {

const int kRounds = 5;

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

// Rank r owns r + 1 words of a row of all ranks' words.
struct Ragged {
  std::vector<int> counts, places;
  int total = 0;
  Ragged() {
    for (int r = 0; r < size; ++r) {
      counts.push_back(r + 1);
      places.push_back(total);
      total += r + 1;
    }
  }
};

// Starts, waits, and lets `check` look, again and again.
template <typename Fill, typename Check>
void rounds(MPI_Request request, Fill fill, Check check) {
  for (int round = 0; round < kRounds; ++round) {
    fill(round);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(round);
  }
  CHECK(request != MPI_REQUEST_NULL);
  MPI_Request_free(&request);
}

void gathers(int root) {
  const Ragged ragged;
  std::vector<int> mine(at(size)), one(1), all(at(ragged.total), -1), each(at(size), -1);
  MPI_Request request;
  MPI_Gather_init(one.data(), 1, MPI_INT, each.data(), 1, MPI_INT, root, MPI_COMM_WORLD,
                  MPI_INFO_NULL, &request);
  rounds(
      request, [&](int round) { one[0] = value_of(rank, root, round); },
      [&](int round) {
        for (int r = 0; r < size && rank == root; ++r)
          CHECK(each[at(r)] == value_of(r, root, round));
      });
  MPI_Gatherv_init(mine.data(), rank + 1, MPI_INT, all.data(), ragged.counts.data(),
                   ragged.places.data(), MPI_INT, root, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  rounds(
      request, [&](int round) { mine.assign(at(size), value_of(rank, root, round)); },
      [&](int round) {
        for (int r = 0; r < size && rank == root; ++r)
          for (int i = 0; i <= r; ++i)
            CHECK(all[at(ragged.places[at(r)] + i)] == value_of(r, root, round));
      });
}

void scatters(int root) {
  const Ragged ragged;
  std::vector<int> mine(at(size), -1), one(1, -1), all(at(ragged.total)), each(at(size));
  MPI_Request request;
  MPI_Scatter_init(each.data(), 1, MPI_INT, one.data(), 1, MPI_INT, root, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &request);
  rounds(
      request,
      [&](int round) {
        for (int r = 0; r < size; ++r) each[at(r)] = value_of(rank, r, round);
      },
      [&](int round) { CHECK(one[0] == value_of(root, rank, round)); });
  MPI_Scatterv_init(all.data(), ragged.counts.data(), ragged.places.data(), MPI_INT, mine.data(),
                    rank + 1, MPI_INT, root, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  rounds(
      request,
      [&](int round) {
        for (int i = 0; i < ragged.total; ++i) all[at(i)] = value_of(rank, i, round);
      },
      [&](int round) {
        for (int i = 0; i <= rank; ++i)
          CHECK(mine[at(i)] == value_of(root, ragged.places[at(rank)] + i, round));
      });
}

// Rank r sends r + s + 1 words to rank s.
struct Crossing {
  std::vector<int> counts, places, bytes, out, in;
  std::vector<MPI_Datatype> types = std::vector<MPI_Datatype>(at(size), MPI_INT);
  Crossing() {
    for (int r = 0; r < size; ++r) {
      places.push_back(static_cast<int>(out.size()));
      bytes.push_back(places.back() * static_cast<int>(sizeof(int)));
      counts.push_back(rank + r + 1);
      out.resize(out.size() + at(rank + r + 1));
    }
    in.resize(out.size(), -1);
  }
  void fill(int round) {
    for (int r = 0; r < size; ++r)
      for (int i = 0; i < counts[at(r)]; ++i)
        out[at(places[at(r)] + i)] = value_of(rank, r, round + i);
  }
  void check(int round) const {
    for (int r = 0; r < size; ++r)
      for (int i = 0; i < counts[at(r)]; ++i)
        CHECK(in[at(places[at(r)] + i)] == value_of(r, rank, round + i));
  }
};

void crossings() {
  std::vector<int> out(at(size)), in(at(size), -1);
  MPI_Request request;
  MPI_Alltoall_init(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &request);
  rounds(
      request,
      [&](int round) {
        for (int r = 0; r < size; ++r) out[at(r)] = value_of(rank, r, round);
      },
      [&](int round) {
        for (int r = 0; r < size; ++r) CHECK(in[at(r)] == value_of(r, rank, round));
      });
  Crossing v, w;
  MPI_Alltoallv_init(v.out.data(), v.counts.data(), v.places.data(), MPI_INT, v.in.data(),
                     v.counts.data(), v.places.data(), MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                     &request);
  rounds(
      request, [&](int round) { v.fill(round); }, [&](int round) { v.check(round); });
  w.fill(9);
  MPI_Ialltoallw(w.out.data(), w.counts.data(), w.bytes.data(), w.types.data(), w.in.data(),
                 w.counts.data(), w.bytes.data(), w.types.data(), MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  w.check(9);
}

// Word i of rank r in a round; summed over ranks from `first` to before `last`.
int word(int r, int i, int round) {
  return r * 10 + i + round;
}
int sum(int first, int last, int i, int round) {
  int total = 0;
  for (int r = first; r < last; ++r) total += word(r, i, round);
  return total;
}

void reductions(int root) {
  const Ragged ragged;
  std::vector<int> mine(at(ragged.total)), got(at(ragged.total), -1);
  const auto fill = [&](int round) {
    for (int i = 0; i < ragged.total; ++i) mine[at(i)] = word(rank, i, round);
    got.assign(got.size(), -1);
  };
  const auto check = [&](int first, int last, int count, int offset) {
    return [&got, first, last, count, offset](int round) {
      for (int i = 0; i < count; ++i) CHECK(got[at(i)] == sum(first, last, offset + i, round));
    };
  };
  MPI_Request request;
  MPI_Reduce_init(mine.data(), got.data(), ragged.total, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD,
                  MPI_INFO_NULL, &request);
  rounds(request, fill, check(0, size, rank == root ? ragged.total : 0, 0));
  MPI_Reduce_scatter_init(mine.data(), got.data(), ragged.counts.data(), MPI_INT, MPI_SUM,
                          MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  rounds(request, fill, check(0, size, rank + 1, ragged.places[at(rank)]));
  MPI_Reduce_scatter_block_init(mine.data(), got.data(), 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                MPI_INFO_NULL, &request);
  rounds(request, fill, check(0, size, 1, rank));
  MPI_Scan_init(mine.data(), got.data(), 3 % ragged.total + 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                MPI_INFO_NULL, &request);
  rounds(request, fill, check(0, rank + 1, 3 % ragged.total + 1, 0));
  MPI_Exscan_init(mine.data(), got.data(), ragged.total, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                  MPI_INFO_NULL, &request);
  rounds(request, fill, check(0, rank, rank == 0 ? 0 : ragged.total, 0));
}

}  // namespace

int main() {
  begin();
  for (const int root : {0, size - 1}) {
    gathers(root);
    scatters(root);
    reductions(root);
  }
  crossings();
  return done();
}
