// MPI_THREAD_MULTIPLE: eight threads of every rank, each in another family of calls at a time and
// in all of them in turn, so that every family meets every other. Made for the thread sanitizer.
#include "everywhere.h"

#include <atomic>

using namespace everywhere;

namespace {

constexpr int kThreads = 8;

std::vector<Family> all_families() {
  std::vector<Family> all;
  for (const auto part : {messages(), kept_messages(), collectives(), topologies(), communicators(),
                          objects(), datatypes(), tools()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  begin(MPI_THREAD_MULTIPLE);
  const std::size_t turns = argc > 1 ? std::stoul(argv[1]) : 1;  // through all families
  const std::vector<Family> families = all_families();
  std::array<Mine, kThreads> all;
  for (int i = 0; i < kThreads; ++i) {
    all[as_size(i)].thread = i;
    MPI_Comm_dup(MPI_COMM_WORLD, &all[as_size(i)].comm);
  }
  // What there is once a process.
  MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
  int on = 1, off = 0;
  MPI_Abi_set_fortran_booleans(4, &on, &off);
  std::vector<std::thread> threads;
  for (Mine& my : all)
    threads.emplace_back([&my, &families, turns] {
      // Far apart at the start.
      const std::size_t first = as_size(my.thread) * families.size() / kThreads;
      for (std::size_t turn = 0; turn < turns * families.size(); ++turn) {
        my.turn = static_cast<int>(turn);
        families[(first + turn) % families.size()](my);
      }
    });
  for (std::thread& thread : threads) thread.join();
  void* memory = nullptr;
  int bytes = 0;
  MPI_Buffer_detach(&memory, &bytes);
  for (Mine& my : all) MPI_Comm_free(&my.comm);
  return done();
}
