// The memory file, and members that wait for each other.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "standin_nccl.h"

namespace standin_nccl {

// Its descriptor stays open: others come by it.
IdWords make_file() {
  const int fd = ::memfd_create("standin-nccl", MFD_CLOEXEC);
  if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(kFileBytes)) != 0) std::abort();
  return {::getpid(), fd};
}

File* map_file(const IdWords& id) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", id.pid, id.fd);
  const int fd = ::open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  void* const at = ::mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  return at == MAP_FAILED ? nullptr : static_cast<File*>(at);
}

bool meet(ncclComm& comm) {
  const std::uint64_t number = ++comm.meetings;
  comm.file->members[comm.rank].arrived.store(number);
  for (int rank = 0; rank < comm.size; ++rank)
    while (comm.file->members[rank].arrived.load() < number) {
      if (comm.is_aborted.load()) return false;
      ::usleep(20);
    }
  return true;
}

int version() {
  const char* const given = std::getenv("STANDIN_NCCL_VERSION");
  return given == nullptr ? NCCL_VERSION_CODE : std::atoi(given);
}

// As the real one from 2.30 on.
static bool may_share() {
  const char* const given = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return given != nullptr && std::strtoll(given, nullptr, 0) != 0 &&
         version() >= NCCL_VERSION(2, 30, 0);
}

bool are_apart(const ncclComm& comm, std::string* why) {
  if (may_share()) return true;
  for (int one = 0; one < comm.size; ++one)
    for (int other = 0; other < one; ++other) {
      const Member &a = comm.file->members[other], &b = comm.file->members[one];
      if (a.host != b.host || a.device != b.device) continue;
      *why = "Duplicate GPU detected : rank " + std::to_string(other) + " and rank " +
             std::to_string(one) + " both on CUDA device " + std::to_string(a.device);
      return false;
    }
  return true;
}

}  // namespace standin_nccl
