// bare_nccl: NCCL as a program uses it without us: a communicator of all ranks, one stream, waited
// for.
#pragma once

#include <dlfcn.h>
#include <nccl.h>

#include <cstring>

#include "area.h"

namespace gpu {

class BareNccl {
 public:
  // False afterwards: it was not wanted, or there is none.
  explicit BareNccl(bool is_wanted) {
    void* const library = is_wanted ? ::dlopen("libnccl.so.2", RTLD_NOW) : nullptr;
    if (library == nullptr) return;
    const auto find = [library](auto*& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      if (function == nullptr) std::exit(4);
    };
    decltype(&::ncclGetUniqueId) make_id = nullptr;
    decltype(&::ncclCommInitRankConfig) init = nullptr;
    find(make_id, "ncclGetUniqueId");
    find(init, "ncclCommInitRankConfig");
    find(state_, "ncclCommGetAsyncError");
    find(sum_, "ncclAllReduce");
    ncclUniqueId id;
    if (ranks::rank == 0) must(make_id(&id));
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    must(init(&comm_, ranks::size, id, ranks::rank, &config));
    wait();
    CU(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  }
  BareNccl(const BareNccl&) = delete;
  BareNccl& operator=(const BareNccl&) = delete;
  explicit operator bool() const { return comm_ != nullptr; }

  void sum(const void* send, void* recv, std::size_t count) {
    must(sum_(send, recv, count, ncclFloat32, ncclSum, comm_,
              reinterpret_cast<cudaStream_t>(stream_)));
    wait();
    CU(cuStreamSynchronize(stream_));
  }

 private:
  static void must(ncclResult_t said) {
    if (said == ncclSuccess || said == ncclInProgress) return;
    std::fprintf(stderr, "rank %d: bare NCCL gives error %d\n", ranks::rank,
                 static_cast<int>(said));
    std::exit(4);
  }
  void wait() {
    for (ncclResult_t state = ncclInProgress; state == ncclInProgress;) {
      must(state_(comm_, &state));
      must(state);
    }
  }
  ncclComm_t comm_ = nullptr;
  CUstream stream_ = nullptr;
  decltype(&::ncclCommGetAsyncError) state_ = nullptr;
  decltype(&::ncclAllReduce) sum_ = nullptr;
};

}  // namespace gpu
