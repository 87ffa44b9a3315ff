// Bytes between ranks of one host never touch a network interface, loopback included.
//
// Runs on virtual hosts, whose interfaces carry this job's traffic alone. Rank 0 adds up the
// interface counters around exchanges of 96 MiB. "silent": next to nothing was counted (the
// kernel's own neighbour discovery is allowed for); "busy": the control, with a second host.
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "../ranks/check.h"

namespace {

constexpr std::size_t kBytes = 32U << 20;
constexpr long long kNoise = 64 << 10;

// Received and sent bytes of every interface of this network namespace.
long long interface_bytes() {
  std::ifstream table("/proc/net/dev");
  std::string line;
  long long total = 0;
  while (std::getline(table, line)) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::istringstream fields(line.substr(colon + 1));
    long long received = 0, skipped = 0, sent = 0;
    fields >> received;
    for (int i = 0; i < 7; ++i) fields >> skipped;
    fields >> sent;
    total += received + sent;
  }
  return total;
}

void exchange() {
  std::vector<char> mine(kBytes, static_cast<char>(ranks::rank)), theirs(kBytes);
  const int right = (ranks::rank + 1) % ranks::size;
  const int left = (ranks::rank + ranks::size - 1) % ranks::size;
  MPI_Sendrecv(mine.data(), static_cast<int>(kBytes), MPI_CHAR, right, 1, theirs.data(),
               static_cast<int>(kBytes), MPI_CHAR, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(theirs[kBytes / 2] == static_cast<char>(left));
  std::vector<int> numbers(1 << 20, ranks::rank), sum(1 << 20);
  MPI_Allreduce(numbers.data(), sum.data(), 1 << 20, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum[12345] == ranks::size * (ranks::size - 1) / 2);
  for (int i = 0; i < 1000; ++i) MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  ranks::begin();
  const bool silent = argc > 1 && std::strcmp(argv[1], "silent") == 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const long long before = interface_bytes();
  exchange();
  MPI_Barrier(MPI_COMM_WORLD);
  const long long moved = interface_bytes() - before;
  if (ranks::rank == 0) {
    std::printf("%lld bytes crossed interfaces\n", moved);
    CHECK(silent ? moved < kNoise : moved > static_cast<long long>(kBytes));
  }
  return ranks::done();
}
