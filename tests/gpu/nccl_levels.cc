// Collectives by levels: some ranks share a GPU, or there are several hosts. The first word says
// who is on which GPU ("0,1,1,0": by rank), the second what is to be:
//
//   right  calls of all kinds, roots and sizes, with memory of kinds drawn at random: what comes
//   out
//          is right, and where all of it is GPUs' a part of each call went by NCCL
//   fails  NCCL fails, somewhere (STANDIN_NCCL_FAIL): each call ends, right or with an error on
//   those
//          who lack data; so do later ones, and those of another communicator
//   dies   the last rank dies inside: the others get an error
#include <csignal>
#include <functional>
#include <numeric>
#include <thread>

#include "area.h"
#include "served.h"

using namespace ranks;
using gpu::Kind;

namespace {

constexpr Kind kOnGpu[] = {Kind::device, Kind::pool, Kind::managed, Kind::mapped};

// Alike on all ranks, as gpu::luck() is not.
std::mt19937& common_luck() {
  static std::mt19937 engine(4711);
  return engine;
}
int any_below(int most) {
  return static_cast<int>(common_luck()() % static_cast<unsigned>(most));
}

void use_gpu_of(const char* places) {
  std::vector<int> devices;
  for (const char* at = places; *at != '\0'; at += *at == ',' ? 1 : 0)
    devices.push_back(static_cast<int>(std::strtol(at, const_cast<char**>(&at), 10)));
  int there = 0;
  CU(cuInit(0));
  CU(cuDeviceGetCount(&there));
  const int mine = devices[static_cast<std::size_t>(rank) % devices.size()];
  for (int i = 0; i < 2; ++i) CU(cuDevicePrimaryCtxRetain(&gpu::contexts[i], (mine + i) % there));
  CU(cuCtxSetCurrent(gpu::contexts[0]));
}

std::vector<int> drawn(std::size_t count, int of) {
  std::vector<int> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = value_of(of, 3, static_cast<int>(i)) % 9 - 4;
  return all;
}

// A call on any memory. What it is given by whom, and what then has to be where.
struct Trial {
  std::string name;
  std::function<int(int* send, int* recv, MPI_Comm comm)> call;
  std::vector<int> send, before, after;
  bool in_place = false;
};

int folded(MPI_Op op, int a, int b) {
  return op == MPI_SUM    ? a + b
         : op == MPI_PROD ? a * b
         : op == MPI_MIN  ? std::min(a, b)
                          : std::max(a, b);
}
std::vector<int> fold_of_all(MPI_Op op, std::size_t count) {
  std::vector<int> all = drawn(count, 0);
  for (int other = 1; other < size; ++other) {
    const std::vector<int> theirs = drawn(count, other);
    for (std::size_t i = 0; i < count; ++i) all[i] = folded(op, all[i], theirs[i]);
  }
  return all;
}

Trial reduction(int which, int count, MPI_Op op, int root) {
  const auto n = static_cast<std::size_t>(count);
  Trial trial;
  trial.send = drawn(n, rank);
  const bool in_place = any_below(2) == 0;
  if (which == 0) {
    trial.name = "allreduce";
    trial.in_place = in_place;
    trial.after = fold_of_all(op, n);
    trial.call = [=](int* send, int* recv, MPI_Comm comm) {
      return MPI_Allreduce(in_place ? MPI_IN_PLACE : send, recv, count, MPI_INT, op, comm);
    };
  } else {
    trial.name = "reduce";
    trial.in_place = in_place && rank == root;
    trial.after = rank == root ? fold_of_all(op, n) : std::vector<int>(n, -77);
    trial.call = [=, in_root = trial.in_place](int* send, int* recv, MPI_Comm comm) {
      return MPI_Reduce(in_root ? MPI_IN_PLACE : send, recv, count, MPI_INT, op, root, comm);
    };
  }
  return trial;
}

// Of equal blocks, or of some that are longer and some that are empty.
Trial scattered(int count, MPI_Op op, bool is_equal) {
  Trial trial;
  trial.in_place = any_below(2) == 0;
  std::vector<int> counts(static_cast<std::size_t>(size), count);
  for (int i = 0; i < size && !is_equal; ++i)
    counts[static_cast<std::size_t>(i)] = (i % 3 == 1 ? 0 : count) + i;
  const int all = std::accumulate(counts.begin(), counts.end(), 0);
  const int before = std::accumulate(counts.begin(), counts.begin() + rank, 0);
  const std::vector<int> sums = fold_of_all(op, static_cast<std::size_t>(all));
  trial.name = is_equal ? "reduce_scatter_block" : "reduce_scatter";
  trial.send = drawn(static_cast<std::size_t>(all), rank);
  trial.after.assign(sums.begin() + before,
                     sums.begin() + before + counts[static_cast<std::size_t>(rank)]);
  trial.call = [=, in_place = trial.in_place](int* send, int* recv, MPI_Comm comm) {
    const void* const from = in_place ? MPI_IN_PLACE : send;
    return is_equal ? MPI_Reduce_scatter_block(from, recv, count, MPI_INT, op, comm)
                    : MPI_Reduce_scatter(from, recv, counts.data(), MPI_INT, op, comm);
  };
  return trial;
}

Trial movement(bool gathers, int count, int root) {
  const auto n = static_cast<std::size_t>(count);
  Trial trial;
  if (!gathers) {
    trial.name = "bcast";
    trial.in_place = true;
    trial.send = drawn(n, rank);
    trial.after = drawn(n, root);
    trial.call = [=](int*, int* recv, MPI_Comm comm) {
      return MPI_Bcast(recv, count, MPI_INT, root, comm);
    };
    return trial;
  }
  trial.name = "allgather";
  trial.send = drawn(n, rank);
  for (int from = 0; from < size; ++from) {
    const std::vector<int> theirs = drawn(n, from);
    trial.after.insert(trial.after.end(), theirs.begin(), theirs.end());
  }
  const bool in_place = any_below(2) == 0;
  if (in_place) {
    trial.before.assign(trial.after.size(), -77);
    std::copy(trial.send.begin(), trial.send.end(), trial.before.begin() + rank * count);
  }
  trial.call = [=](int* send, int* recv, MPI_Comm comm) {
    return MPI_Allgather(in_place ? MPI_IN_PLACE : send, count, MPI_INT, recv, count, MPI_INT,
                         comm);
  };
  return trial;
}

Trial any_trial(int which, int count) {
  const MPI_Op kOps[] = {MPI_SUM, MPI_MIN, MPI_MAX, MPI_PROD};
  const MPI_Op op = kOps[any_below(4)];
  const int root = any_below(size);
  switch (which) {
    case 0:
    case 1:
      return reduction(which, count, op, root);
    case 2:
    case 3:
      return scattered(count, op, which == 2);
    default:
      return movement(which == 4, count, root);
  }
}
constexpr int kTrials = 6;

// Runs it. What the call said; where that is no error its result is right.
int run(const Trial& trial, MPI_Comm comm, bool all_on_gpus) {
  const auto kind = [&] {
    return all_on_gpus ? kOnGpu[gpu::luck()() % std::size(kOnGpu)] : gpu::any_kind();
  };
  std::vector<int> before = trial.before;
  if (trial.in_place) before = trial.send;
  before.resize(std::max({before.size(), trial.after.size(), std::size_t{1}}), -77);
  gpu::Vector<int> send(trial.send, kind()), recv(before, kind());
  const int code = trial.call(send.data(), recv.data(), comm);
  if (code != MPI_SUCCESS) return code;
  std::vector<int> got = recv.get();
  got.resize(trial.after.size());
  CHECK(got == trial.after);
  if (got != trial.after) {
    const auto at = std::mismatch(got.begin(), got.end(), trial.after.begin()).first - got.begin();
    std::fprintf(stderr, "rank %d: %s%s of %zu gives %zu elements, wrong from %td on\n", rank,
                 trial.name.c_str(), trial.in_place ? " in place" : "", trial.send.size(),
                 got.size(), at);
  }
  if (!trial.in_place) CHECK(send.get() == trial.send);
  return code;
}

unsigned long long of_all(unsigned long long mine) {
  unsigned long long all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

void be_right() {
  unsigned long long before = of_all(gpu::served());
  for (int round = 0; round < 24; ++round)
    for (int which = 0; which < kTrials; ++which) {
      const int count = 1 + any_below(round % 4 == 0 ? 100 : 30000);
      const bool all_on_gpus = round % 3 != 2;
      const Trial trial = any_trial(which, count);
      CHECK(run(trial, MPI_COMM_WORLD, all_on_gpus) == MPI_SUCCESS);
      const unsigned long long now = of_all(gpu::served());
      // In place with blocks that would lie over each other is NCCL's in no case.
      const bool must_be_nccls = all_on_gpus && which != 3 && gpu::is_counted();
      if (must_be_nccls) CHECK(now > before);
      if (must_be_nccls && now == before && rank == 0)
        std::fprintf(stderr, "%s, %d elements: not by NCCL\n", trial.name.c_str(), count);
      before = now;
    }
  // More than a leader has room for.
  for (const int which : {1, 2, 3}) {
    const int count = which == 1 ? 5 << 20 : (9 << 20) / size;
    CHECK(run(any_trial(which, count), MPI_COMM_WORLD, true) == MPI_SUCCESS);
  }
}

void fail_somewhere() {
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  for (const MPI_Comm comm : {MPI_COMM_WORLD, other}) {
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int failed = 0;
    for (int call = 0; call < 3 * kTrials; ++call)
      failed += run(any_trial(call % kTrials, 20000), comm, true) == MPI_SUCCESS ? 0 : 1;
    // A team that failed is not asked again: both levels' at most, of this communicator.
    CHECK(failed <= 2);
  }
  MPI_Comm_free(&other);
  CHECK(of_all(gpu::failed()) > 0);
  if (rank == 0) std::printf("all are through\n");
}

int die_inside() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int which = 0; which < kTrials; ++which)
    CHECK(run(any_trial(which, 30000), MPI_COMM_WORLD, true) == MPI_SUCCESS);
  std::thread killer;
  if (rank == size - 1)
    killer = std::thread([] {  // the calls take much longer
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      std::raise(SIGKILL);
    });
  int code = MPI_SUCCESS;
  for (int call = 0; call < 1000 && code == MPI_SUCCESS; ++call)
    code = run(any_trial(call % kTrials, 1000000), MPI_COMM_WORLD, true);
  int error_class = 0;
  MPI_Error_class(code, &error_class);
  CHECK(error_class == MPI_ERR_PROC_ABORTED || error_class == MPI_ERR_OTHER);
  std::printf("rank %d goes on\n", rank);
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  begin();
  use_gpu_of(argc > 1 ? argv[1] : "0");
  const std::string what = argc > 2 ? argv[2] : "right";
  if (what == "dies") return die_inside();
  what == "fails" ? fail_somewhere() : be_right();
  return done();
}
