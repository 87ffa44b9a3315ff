// A container that refuses process_vm_readv: long messages arrive all the same.
//
// The program puts a system call filter over itself before MPI starts, as a container would.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <vector>

#include "../ranks/check.h"

namespace {

bool refuse_single_copy() {
  std::array<sock_filter, 5> rules{{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_process_vm_readv},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_process_vm_writev},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  }};
  sock_fprog program{rules.size(), rules.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

int main() {
  const bool refused = refuse_single_copy();
  char byte = 0;
  iovec part{&byte, 1};
  const bool works = ::process_vm_readv(::getpid(), &part, 1, &part, 1, 0) == 1;
  ranks::begin();
  CHECK(refused);
  CHECK(!works);
  constexpr int kCount = 3 << 20;
  std::vector<int> mine(kCount, ranks::rank), theirs(kCount, -1);
  const int right = (ranks::rank + 1) % ranks::size;
  const int left = (ranks::rank + ranks::size - 1) % ranks::size;
  MPI_Sendrecv(mine.data(), kCount, MPI_INT, right, 1, theirs.data(), kCount, MPI_INT, left, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int value : theirs) CHECK(value == left);
  MPI_Allreduce(MPI_IN_PLACE, mine.data(), kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int value : mine) CHECK(value == ranks::size * (ranks::size - 1) / 2);
  return ranks::done();
}
