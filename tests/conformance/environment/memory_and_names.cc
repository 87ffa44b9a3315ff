// MPI 5.0, 9.1.2 and 9.2: the processor has a name; memory that is given back can be had again.
#include <sys/resource.h>

#include <cstring>

#include "check.h"

using namespace ranks;

int main() {
  begin();
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = -1;
  CHECK(MPI_Get_processor_name(name, &length) == MPI_SUCCESS);
  CHECK(length > 0 && length == static_cast<int>(std::strlen(name)));
  // Far more, one after another, than the process ever holds.
  constexpr MPI_Aint kBytes = 8 << 20, kTimes = 40;
  for (int i = 0; i < kTimes; ++i) {
    char* memory = nullptr;
    CHECK(MPI_Alloc_mem(kBytes, MPI_INFO_NULL, &memory) == MPI_SUCCESS && memory != nullptr);
    if (memory == nullptr) break;
    std::memset(memory, i, kBytes);
    CHECK(memory[kBytes - 1] == static_cast<char>(i));
    CHECK(MPI_Free_mem(memory) == MPI_SUCCESS);
  }
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  CHECK(used.ru_maxrss * 1024 < kBytes * kTimes / 2);
  return done();
}
