// NCCL as a library of a GPU's collectives.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "delegate/gpu_library.h"
#include "delegate/nccl/functions.h"
#include "delegate/nccl/gpu_buffer.h"
#include "delegate/nccl/nccl_team.h"
#include "device/device.h"

namespace tutti::delegate {
namespace {

class Nccl final : public GpuLibrary {
 public:
  // To NCCL the host is what NCCL_HOSTID says. Read before NCCL begins, which sets variables.
  explicit Nccl(const nccl::Functions& functions) : functions_(functions) {
    if (const char* const id = std::getenv("NCCL_HOSTID")) {
      seat_.has_host_id = 1;
      seat_.host_id = std::hash<std::string_view>{}(id);
    }
    constexpr int kSharesFrom = NCCL_VERSION(2, 30, 0);
    const char* const shares = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
    if (functions_.version >= kSharesFrom && shares != nullptr)
      seat_.may_share = std::strtoll(shares, nullptr, 0) != 0 ? 1 : 0;
  }
  std::string name() const override { return "NCCL " + functions_.version_text(); }

  // It listens at an address of this host from here on.
  Result<Id> make_id() override {
    ncclUniqueId unique;
    if (const ncclResult_t said = functions_.ncclGetUniqueId(&unique); said != ncclSuccess)
      return fail(Code::other, functions_.text_of(said, nullptr));
    Id id;
    std::copy_n(reinterpret_cast<const std::byte*>(unique.internal), id.size(), id.data());
    return id;
  }

  Result<std::unique_ptr<GpuBuffer>> take_buffer(int device, std::size_t bytes) override {
    return nccl::take_buffer(device, bytes);
  }

  int version() const override { return functions_.version; }

  Result<Seat> seat_of(int device) override {
    device::cuda::Driver driver;
    CUuuid uuid{};
    static_assert(sizeof uuid == 16);
    if (!driver.find()) return fail(Code::unsupported, "this process has not loaded libcuda.so.1");
    if (const CUresult said = driver.cuDeviceGetUuid(&uuid, device); said != CUDA_SUCCESS)
      return fail(Code::other, driver.text_of(said));
    Seat seat = seat_;
    std::copy_n(reinterpret_cast<const std::byte*>(uuid.bytes), seat.gpu.size(), seat.gpu.data());
    return seat;
  }

  Result<std::unique_ptr<GpuTeam>> make_team(wireup::Wireup& wireup, const Place& place,
                                             const Waiting& waiting) override {
    auto prepared = nccl::NcclTeam::prepare(functions_, wireup, place, waiting);
    if (!prepared) {
      place.tell_others();
      return tl::unexpected<Error>(std::move(prepared).error());
    }
    std::unique_ptr<nccl::NcclTeam> team = std::move(*prepared);
    if (auto met = team->meet(place.id); !met) {
      team->cancel(met.error().code);
      return tl::unexpected<Error>(std::move(met).error());
    }
    return std::unique_ptr<GpuTeam>(std::move(team));
  }

 private:
  const nccl::Functions functions_;
  Seat seat_;  // but for the GPU
};

}  // namespace

bool has_gpu_library() {
  return true;
}

Result<std::unique_ptr<GpuLibrary>> open_gpu_library() {
  TUTTI_TRY(functions, nccl::Functions::open());
  return std::unique_ptr<GpuLibrary>(std::make_unique<Nccl>(functions));
}

}  // namespace tutti::delegate
