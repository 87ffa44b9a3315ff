// NCCL works in the primary contexts of GPUs, and comes after what their default streams hold. So
// calls go by ours whose memory is of a context that the program has made for itself, or of none
// (of a pool) while such a one is current: what the program has put stands in that one's stream.
#include "area.h"
#include "served.h"

using namespace ranks;
using gpu::Kind;
using gpu::Vector;

namespace {

constexpr int kCount = 40000;

void expect(unsigned long long before, bool nccl) {
  CHECK(gpu::has_served(before, nccl && size > 1 ? 1 : 0));
}

void sums(Kind kind, bool nccl) {
  const std::vector<int> ones(kCount, 1);
  Vector<int> send(ones, kind), recv(std::vector<int>(kCount), kind);
  unsigned long long before = gpu::served();
  MPI_Allreduce(send.data(), recv.data(), kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(recv.get() == std::vector<int>(kCount, size));
  expect(before, nccl);
  // Of blocks of their own sizes.
  const auto ranks = static_cast<std::size_t>(size);
  const std::vector<int> counts(ranks, kCount);
  std::vector<int> places;
  for (int i = 0; i < size; ++i) places.push_back(i * kCount);
  Vector<int> all(std::vector<int>(ranks * kCount), kind);
  before = gpu::served();
  MPI_Allgatherv(send.data(), kCount, MPI_INT, all.data(), counts.data(), places.data(), MPI_INT,
                 MPI_COMM_WORLD);
  CHECK(all.get() == std::vector<int>(ranks * kCount, 1));
  expect(before, nccl);
}

CUcontext make_context() {
  CUcontext own = nullptr;
  CUdevice device = 0;
  CU(cuCtxGetDevice(&device));
#if CUDA_VERSION >= 13000
  CU(cuCtxCreate(&own, nullptr, 0, device));
#else
  CU(cuCtxCreate(&own, 0, device));
#endif
  return own;
}

}  // namespace

int main() {
  begin();
  gpu::begin();
  sums(Kind::device, true);
  const CUcontext own = make_context();  // and it is current
  sums(Kind::device, false);
  sums(Kind::pool, false);
  sums(Kind::managed, false);
  for (int odd = 0; odd < size; ++odd) {  // one member's alone
    CU(cuCtxSetCurrent(rank == odd ? own : gpu::contexts[0]));
    for (const Kind kind : {Kind::device, Kind::pool, Kind::managed}) sums(kind, false);
  }
  CU(cuCtxSetCurrent(gpu::contexts[0]));
  for (const Kind kind : {Kind::device, Kind::pool, Kind::managed}) sums(kind, true);
  return done();
}
