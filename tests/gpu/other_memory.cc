// Between two starts of partitioned messages the memory of their buffers is freed, and other memory
// comes to be at the same address: a GPU's where the host's was, and the host's where a GPU's was.
// The stand-in's GPUs give their addresses one after another, so that the next are known.
#include <sys/mman.h>

#include "area.h"

using namespace ranks;

namespace {

constexpr int kParts = 4, kEach = 65536, kAll = kParts * kEach;
constexpr std::size_t kBytes = kAll * sizeof(int);
// The stand-in's GPUs leave so much behind each allocation: a whole number of pages in all.
constexpr std::size_t kPage = 4096, kGap = 512;

CUdeviceptr take(std::size_t bytes = kBytes + kPage) {
  CUdeviceptr memory = 0;
  CU(cuMemAlloc(&memory, bytes - kGap));
  return memory;
}

class Place {
 public:
  explicit Place(CUdeviceptr at) : at_(at) {}
  int* data() const { return reinterpret_cast<int*>(at_); }
  void be_hosts() {
    if (is_gpus_) CU(cuMemFree(at_));
    is_gpus_ = false;
    map(PROT_READ | PROT_WRITE);
  }
  void be_gpus() {
    map(PROT_NONE);
    is_gpus_ = true;
    CHECK(take() == at_);
  }
  void put(const std::vector<int>& content) {
    if (is_gpus_)
      CU(cuMemcpyHtoD(at_, content.data(), kBytes));
    else
      std::ranges::copy(content, data());
  }
  std::vector<int> get() const {
    std::vector<int> content(kAll);
    if (is_gpus_)
      CU(cuMemcpyDtoH(content.data(), at_, kBytes));
    else
      std::copy_n(data(), kAll, content.begin());
    return content;
  }

 private:
  void map(int how) {
    CHECK(::mmap(data(), kBytes, how, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == data());
  }
  const CUdeviceptr at_;
  bool is_gpus_ = false;
};

}  // namespace

int main() {
  begin();
  gpu::begin();
  const CUdeviceptr before = take() + kBytes + kPage, begins = (before / kPage + 1) * kPage;
  take(begins - before);
  Place out(begins), in(begins + kBytes + kPage);
  out.be_hosts();
  in.be_hosts();
  MPI_Request both[2];
  MPI_Psend_init(out.data(), kParts, kEach, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD,
                 MPI_INFO_NULL, &both[0]);
  MPI_Precv_init(in.data(), kParts, kEach, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
                 MPI_INFO_NULL, &both[1]);
  for (int round = 0; round < 3; ++round) {
    for (Place* each : {&out, &in})
      if (round == 1) each->be_gpus();
    for (Place* each : {&out, &in})
      if (round == 2) each->be_hosts();
    out.put(std::vector<int>(kAll, 10 * round + rank));
    MPI_Startall(2, both);
    MPI_Pready_range(0, kParts - 1, both[0]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    CHECK(in.get() == std::vector<int>(kAll, 10 * round + (rank + size - 1) % size));
  }
  for (MPI_Request& each : both) MPI_Request_free(&each);
  return done();
}
