// Collectives whose blocks have sizes of their own, with kinds of memory drawn anew in each call:
// NCCL serves where all of it is GPUs', elsewhere our own algorithms do, and the results are the
// same. The first word says what is expected: "forced" (NCCL serves whenever it can), "weighed"
// (whichever is quicker), "not" (there is no NCCL),
// "nowhere" (never, since one rank has no GPU).
#include <mpi-ext.h>

#include <functional>
#include <numeric>

#include "area.h"
#include "served.h"

using namespace ranks;
using gpu::Kind;

namespace {

bool is_forced = false;
bool is_there = true;

int* in_place() {
  return static_cast<int*>(MPI_IN_PLACE);
}

// A GPU's, all of them, or at random of any kind with each rank.
Kind kind_of(bool all_on_gpus) {
  constexpr Kind kOnGpu[] = {Kind::device, Kind::pool, Kind::managed, Kind::mapped};
  return all_on_gpus ? kOnGpu[gpu::luck()() % 4] : gpu::any_kind();
}

std::vector<int> filled(std::size_t count, int seed) {
  std::vector<int> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = value_of(rank, seed, static_cast<int>(i)) % 1000;
  return all;
}

using Call = std::function<void(int* send, int* recv)>;

// The same call on host memory says what has to come out.
void compare(const char* name, std::size_t sent, std::size_t received, const Call& call,
             bool moves = true) {
  for (const bool all_on_gpus : {true, false}) {
    const std::vector<int> given = filled(sent, 1), before = filled(received, 2);
    std::vector<int> send = given, expected = before;
    call(send.data(), expected.data());
    gpu::Vector<int> from(given, kind_of(all_on_gpus)), into(before, kind_of(all_on_gpus));
    const unsigned long long calls = gpu::served();
    call(from.data(), into.data());
    const bool is_right = into.get() == expected;
    CHECK(is_right);
    if (!is_right) std::fprintf(stderr, "rank %d: %s, %zu elements\n", rank, name, received);
    if (is_forced && is_there && all_on_gpus && moves && size > 1 && gpu::is_counted()) {
      CHECK(gpu::served() > calls);
      if (gpu::served() == calls) std::fprintf(stderr, "rank %d: %s, not by NCCL\n", rank, name);
    }
    if (!is_there) CHECK(gpu::served() == 0);
  }
}

// Block i has sizes[i] elements; a gap of one before each.
struct Blocks {
  explicit Blocks(std::vector<int> sizes) : counts(std::move(sizes)) {
    for (const int count : counts) {
      displs.push_back(room + 1);
      bytes.push_back(displs.back() * static_cast<int>(sizeof(int)));
      room = displs.back() + count;
    }
  }
  int count(int member) const { return counts[static_cast<std::size_t>(member)]; }
  std::size_t total() const { return static_cast<std::size_t>(room); }
  std::vector<int> counts, displs, bytes;
  int room = 0;
};

void vectors(const std::vector<int>& sizes, int root) {
  const Blocks blocks(sizes);
  const int* const c = blocks.counts.data();
  const int* const d = blocks.displs.data();
  const int mine = blocks.count(rank);
  const auto own = static_cast<std::size_t>(mine);
  const bool is_root = rank == root;
  const bool moves = std::accumulate(sizes.begin(), sizes.end(), 0) > 0;
  const bool has_part = moves && (mine > 0 || is_root);  // else this rank has no call of NCCL's
  compare(
      "gatherv", own, blocks.total(),
      [&](int* send, int* recv) {
        MPI_Gatherv(send, mine, MPI_INT, recv, c, d, MPI_INT, root, MPI_COMM_WORLD);
      },
      has_part);
  compare(
      "gatherv in place", own, blocks.total(),
      [&](int* send, int* recv) {
        MPI_Gatherv(is_root ? in_place() : send, mine, MPI_INT, recv, c, d, MPI_INT, root,
                    MPI_COMM_WORLD);
      },
      false);
  compare(
      "scatterv", blocks.total(), own,
      [&](int* send, int* recv) {
        MPI_Scatterv(send, c, d, MPI_INT, recv, mine, MPI_INT, root, MPI_COMM_WORLD);
      },
      has_part);
  compare(
      "scatterv in place", blocks.total(), own,
      [&](int* send, int* recv) {
        MPI_Scatterv(send, c, d, MPI_INT, is_root ? in_place() : recv, mine, MPI_INT, root,
                     MPI_COMM_WORLD);
      },
      false);
  compare(
      "allgatherv", own, blocks.total(),
      [&](int* send, int* recv) {
        MPI_Allgatherv(send, mine, MPI_INT, recv, c, d, MPI_INT, MPI_COMM_WORLD);
      },
      moves);
  compare(
      "allgatherv in place", 1, blocks.total(),
      [&](int*, int* recv) {
        MPI_Allgatherv(in_place(), 0, MPI_INT, recv, c, d, MPI_INT, MPI_COMM_WORLD);
      },
      moves);
}

// To member i go counts[i] + my own.
void each_to_each(const std::vector<int>& sizes) {
  std::vector<int> out, in;
  for (int peer = 0; peer < size; ++peer) {
    const auto at = static_cast<std::size_t>(peer);
    const int own = sizes[static_cast<std::size_t>(rank)];
    // Nothing at all between some.
    out.push_back((rank + peer) % 3 == 2 ? 0 : sizes[at] + 2 * own);
    in.push_back((rank + peer) % 3 == 2 ? 0 : own + 2 * sizes[at]);
  }
  const Blocks from(out), into(in);
  const bool moves = std::accumulate(sizes.begin(), sizes.end(), 0) > 0;
  std::vector<MPI_Datatype> types(static_cast<std::size_t>(size), MPI_INT);
  compare(
      "alltoallv", from.total(), into.total(),
      [&](int* send, int* recv) {
        MPI_Alltoallv(send, from.counts.data(), from.displs.data(), MPI_INT, recv,
                      into.counts.data(), into.displs.data(), MPI_INT, MPI_COMM_WORLD);
      },
      moves);
  compare(
      "alltoallw", from.total(), into.total(),
      [&](int* send, int* recv) {
        MPI_Alltoallw(send, from.counts.data(), from.bytes.data(), types.data(), recv,
                      into.counts.data(), into.bytes.data(), types.data(), MPI_COMM_WORLD);
      },
      moves);
  std::vector<MPI_Count> big_out(out.begin(), out.end()), big_in(in.begin(), in.end());
  std::vector<MPI_Aint> far_out(from.displs.begin(), from.displs.end()),
      far_in(into.displs.begin(), into.displs.end());
  compare(
      "alltoallv of large counts", from.total(), into.total(),
      [&](int* send, int* recv) {
        MPI_Alltoallv_c(send, big_out.data(), far_out.data(), MPI_INT, recv, big_in.data(),
                        far_in.data(), MPI_INT, MPI_COMM_WORLD);
      },
      moves);
}

void scattered_sums(const std::vector<int>& sizes) {
  const int all = std::accumulate(sizes.begin(), sizes.end(), 0);
  const auto own = static_cast<std::size_t>(sizes[static_cast<std::size_t>(rank)]);
  const auto total = static_cast<std::size_t>(all);
  compare(
      "reduce_scatter", total, own,
      [&](int* send, int* recv) {
        MPI_Reduce_scatter(send, recv, sizes.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      },
      all > 0);
  // Unequal blocks that would lie over each other in place are left to ours.
  compare(
      "reduce_scatter in place", 1, std::max<std::size_t>(total, 1),
      [&](int*, int* recv) {
        MPI_Reduce_scatter(in_place(), recv, sizes.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        // What is behind the own block is nobody's.
        std::vector<int> rest = filled(total, 2);
        rest.resize(total - own);
        if (own < total) gpu::put(recv + own, rest.data(), rest.size() * sizeof(int));
      },
      false);
  // Each member says for itself whether it is in place.
  compare(
      "reduce_scatter in place with one", total, std::max<std::size_t>(total, 1),
      [&](int* send, int* recv) {
        MPI_Reduce_scatter(rank == 0 ? in_place() : send, recv, sizes.data(), MPI_INT, MPI_SUM,
                           MPI_COMM_WORLD);
        std::vector<int> rest(total - own);
        if (own < total) gpu::put(recv + own, rest.data(), rest.size() * sizeof(int));
      },
      false);
}

// The last rank has nothing, and no GPU that it could take part with.
void nowhere() {
  const bool is_last = rank == size - 1;
  std::vector<int> sizes(static_cast<std::size_t>(size), 1000);
  sizes.back() = 0;
  const Blocks blocks(sizes);
  const int mine = blocks.count(rank);
  gpu::Vector<int> from(filled(static_cast<std::size_t>(mine), 1), Kind::device),
      into(std::vector<int>(blocks.total()), Kind::device);
  if (is_last) CU(cuCtxSetCurrent(nullptr));
  MPI_Gatherv(from.data(), mine, MPI_INT, into.data(), blocks.counts.data(), blocks.displs.data(),
              MPI_INT, 0, MPI_COMM_WORLD);
  if (is_last) CU(cuCtxSetCurrent(gpu::contexts[0]));
  CHECK(gpu::served() == 0);
  const std::vector<int> all = into.get();
  for (int peer = 0; rank == 0 && peer < size - 1; ++peer)
    CHECK(all[static_cast<std::size_t>(blocks.displs[static_cast<std::size_t>(peer)])] ==
          value_of(peer, 1, 0) % 1000);
}

}  // namespace

int main(int argc, char** argv) {
  begin();
  gpu::begin();
  const std::string what = argc > 1 ? argv[1] : "forced";
  is_forced = what == "forced";
  is_there = what != "not";
  if (what == "nowhere") {
    nowhere();
    return done();
  }
  const auto p = static_cast<std::size_t>(size);
  std::vector<std::vector<int>> shapes(4, std::vector<int>(p));
  for (std::size_t i = 0; i < p; ++i) {
    shapes[0][i] = i % 2 == 0 ? 70001 : 0;  // every other one has nothing, from the first call on
    shapes[1][i] = 3000 + 7 * static_cast<int>(i);
    shapes[2][i] = 0;
    shapes[3][i] = 5000;  // equal after all
  }
  for (int round = 0; round < (is_forced ? 2 : 5); ++round)
    for (const std::vector<int>& sizes : shapes) {
      vectors(sizes, round % size);
      each_to_each(sizes);
      scattered_sums(sizes);
    }
  return done();
}
