// Calls that find too little memory. A reduction for whose intermediate results there is none ends
// with an error on all ranks, or does what it should, and later calls work. "ends N": the address
// space is limited in call N and the next ones, of which one ends the job.
#include <sys/resource.h>

#include <cstdint>
#include <fstream>
#include <span>

#include "check.h"

using namespace ranks;

namespace {

constexpr int kMany = 16 << 20;  // bytes of a vector for which there is no room a second time

std::uint64_t bytes_in_use() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

// The address space ends a little above what is mapped.
class Limit {
 public:
  Limit() {
    ::getrlimit(RLIMIT_AS, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes_in_use() + (1 << 20);
    ::setrlimit(RLIMIT_AS, &limit);
  }
  ~Limit() { ::setrlimit(RLIMIT_AS, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  rlimit before_;
};

void add(void* from, void* into, int* count, MPI_Datatype* type) {
  MPI_Aint lower = 0, extent = 0;
  MPI_Type_get_extent(*type, &lower, &extent);
  for (int i = 0; i < *count; ++i)
    *reinterpret_cast<int*>(static_cast<char*>(into) + i * extent) +=
        *reinterpret_cast<int*>(static_cast<char*>(from) + i * extent);
}

struct Memory {
  std::vector<int> send = std::vector<int>(kMany / sizeof(int), 1);
  std::vector<int> recv = std::vector<int>(kMany / sizeof(int) * 4, 0);
  std::vector<int> one_each = std::vector<int>(static_cast<std::size_t>(ranks::size), 1);
  MPI_Op op = MPI_OP_NULL;
  MPI_Datatype strided = MPI_DATATYPE_NULL;  // every second int
};

using Call = int (*)(Memory& memory);

int finish(int code, MPI_Request* request) {
  return code == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : code;
}

const Call kCalls[] = {
    [](Memory& m) {
      return MPI_Allreduce(m.send.data(), m.recv.data(), kMany / 4, MPI_INT, m.op, MPI_COMM_WORLD);
    },
    [](Memory& m) {
      return MPI_Reduce(ranks::rank == 0 ? MPI_IN_PLACE : m.send.data(), m.recv.data(), kMany / 4,
                        MPI_INT, m.op, 0, MPI_COMM_WORLD);
    },
    [](Memory& m) {
      MPI_Request request = MPI_REQUEST_NULL;
      return finish(MPI_Iscan(m.send.data(), m.recv.data(), kMany / 4, MPI_INT, m.op,
                              MPI_COMM_WORLD, &request),
                    &request);
    },
    [](Memory& m) {
      return MPI_Reduce_scatter_block(m.send.data(), m.recv.data(), kMany / 4 / ranks::size,
                                      MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    },
    [](Memory& m) {
      return MPI_Gather(m.send.data(), 1, m.strided, m.recv.data(), kMany / 8, MPI_INT,
                        ranks::size - 1, MPI_COMM_WORLD);
    },
    [](Memory& m) {
      return MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, m.recv.data(),
                          kMany / 4 / ranks::size, MPI_INT, MPI_COMM_WORLD);
    },
    [](Memory& m) {
      return MPI_Sendrecv_replace(
          m.recv.data(), kMany / 4, MPI_INT, (ranks::rank + 1) % ranks::size, 0,
          (ranks::rank + ranks::size - 1) % ranks::size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    },
};

// A member that gives a call up says so in its messages; who wants none of it any more ends well.
bool is_for_want_of_memory(int code) {
  const int kind = code == MPI_SUCCESS ? MPI_SUCCESS : class_of(code);
  return kind == MPI_SUCCESS || kind == MPI_ERR_NO_MEM || kind == MPI_ERR_OTHER;
}

void check_all_is_well() {
  int one = 1, sum = 0;
  CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
  CHECK(sum == ranks::size);
}

// Two ints so far from each other that no memory holds both and what lies between them, which is
// what a reduction by a user's operation would need.
void reduce_far_apart(MPI_Op op) {
  static int low = 1;
  int high = 1;
  MPI_Aint places[2];
  MPI_Get_address(&low, &places[0]);
  MPI_Get_address(&high, &places[1]);
  const int lengths[] = {1, 1};
  MPI_Datatype type;
  MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Request request = MPI_REQUEST_NULL;
  const int codes[] = {
      MPI_Allreduce(MPI_IN_PLACE, MPI_BOTTOM, 1, type, op, MPI_COMM_WORLD),
      MPI_Scan(MPI_IN_PLACE, MPI_BOTTOM, 1, type, op, MPI_COMM_WORLD),
      MPI_Exscan(MPI_IN_PLACE, MPI_BOTTOM, 1, type, op, MPI_COMM_WORLD),
      finish(MPI_Iallreduce(MPI_IN_PLACE, MPI_BOTTOM, 1, type, op, MPI_COMM_WORLD, &request),
             &request)};
  for (const int code : codes) CHECK(is_for_want_of_memory(code));
  MPI_Type_free(&type);
  check_all_is_well();
}

}  // namespace

int main(int argc, char** argv) {
  ranks::begin();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  Memory memory;
  MPI_Op_create(&add, 0, &memory.op);
  MPI_Type_vector(kMany / 8, 1, 2, MPI_INT, &memory.strided);
  MPI_Type_commit(&memory.strided);
  if (argc == 1) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    reduce_far_apart(memory.op);
  }
  const std::size_t first = argc > 2 ? std::stoul(argv[2]) : std::size(kCalls);
  for (const Call call : std::span(kCalls).subspan(first)) {
    const Limit limit;
    call(memory);
  }
  MPI_Type_free(&memory.strided);
  MPI_Op_free(&memory.op);
#endif
  return ranks::done();
}
