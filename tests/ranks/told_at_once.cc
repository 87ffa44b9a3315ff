// A receive that has returned has told its sender: the send ends although the receiver calls MPI no
// more. Rank 1 receives, then looks at memory that both share, where rank 0 says that its send is
// over.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "check.h"

using namespace ranks;

namespace {

constexpr int kToken = 1, kMessage = 2;
constexpr int kSizes[] = {8, 64 << 10, 256 << 10, 4 << 20};
constexpr auto kPatience = std::chrono::seconds(60);

// A page of a file without a name, which rank 0 opens through rank 1's descriptor.
std::atomic<int>* shared_word() {
  int told[2] = {static_cast<int>(::getpid()), -1};
  if (rank == 1) {
    told[1] = ::memfd_create("told_at_once", 0);
    CHECK(told[1] >= 0 && ::ftruncate(told[1], sizeof(int)) == 0);
  }
  MPI_Bcast(told, 2, MPI_INT, 1, MPI_COMM_WORLD);
  const std::string path = "/proc/" + std::to_string(told[0]) + "/fd/" + std::to_string(told[1]);
  std::FILE* const file = std::fopen(path.c_str(), "r+");
  CHECK(file != nullptr);
  if (file == nullptr) return nullptr;
  void* const at =
      ::mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, ::fileno(file), 0);
  CHECK(at != MAP_FAILED);
  std::fclose(file);
  return at == MAP_FAILED ? nullptr : static_cast<std::atomic<int>*>(at);
}

bool comes_to(const std::atomic<int>& word, int wanted) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (word.load() < wanted) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

using Send = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm);

void give(Send send, int bytes, int number, std::atomic<int>& word) {
  const std::vector<char> data(static_cast<std::size_t>(bytes), static_cast<char>(number));
  MPI_Recv(nullptr, 0, MPI_CHAR, 1, kToken, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  send(data.data(), bytes, MPI_CHAR, 1, kMessage, MPI_COMM_WORLD);
  word.store(number);
}

enum class Take { first, after_it_came, matched };

void take(Take how, int bytes, int number, const std::atomic<int>& word) {
  std::vector<char> data(static_cast<std::size_t>(bytes));
  MPI_Request request = MPI_REQUEST_NULL;
  if (how == Take::first)
    MPI_Irecv(data.data(), bytes, MPI_CHAR, 0, kMessage, MPI_COMM_WORLD, &request);
  MPI_Send(nullptr, 0, MPI_CHAR, 0, kToken, MPI_COMM_WORLD);
  if (how == Take::first) {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (how == Take::after_it_came) {
    MPI_Probe(0, kMessage, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(data.data(), bytes, MPI_CHAR, 0, kMessage, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Message message;
    MPI_Mprobe(0, kMessage, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(data.data(), bytes, MPI_CHAR, &message, MPI_STATUS_IGNORE);
  }
  CHECK(data == std::vector<char>(data.size(), static_cast<char>(number)));
  CHECK(comes_to(word, number));
}

}  // namespace

int main() {
  begin();
  std::atomic<int>* const word = shared_word();
  if (word == nullptr) MPI_Abort(MPI_COMM_WORLD, 1);
  int number = 0;
  // Several times each: the first long ones may go another way than later ones.
  for (int round = 0; round < 20; ++round)
    for (const int bytes : kSizes)
      for (const Send send : {MPI_Send, MPI_Ssend})
        for (const Take how : {Take::first, Take::after_it_came, Take::matched}) {
          ++number;
          if (rank == 0)
            give(send, bytes, number, *word);
          else
            take(how, bytes, number, *word);
        }
  return done();
}
