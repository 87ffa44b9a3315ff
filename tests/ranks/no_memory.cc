// Calls in which one rank finds no memory, each allocation in turn. Nobody waits for ever: each
// rank has an error or what it should have, and then the communicator goes on, or is over for all.
#include <mpi-ext.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#include "check.h"

using namespace ranks;

namespace {

thread_local long left = -1;  // allocations of this thread until one fails; below 0: none does

// While it lives one allocation of the victim fails.
class Shortage {
 public:
  explicit Shortage(long after) { left = after; }
  ~Shortage() { left = -1; }
  Shortage(const Shortage&) = delete;
  Shortage& operator=(const Shortage&) = delete;
  static bool was_met() { return left < 0; }
};

}  // namespace

void* operator new(std::size_t bytes) {
  if (left >= 0 && left-- == 0) throw std::bad_alloc();
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace {

constexpr int kLong = 40'000;  // ints

struct Memory {
  std::vector<int> send, recv, counts, displs;
  std::vector<std::uint16_t> halves;
  MPI_Datatype strided = MPI_DATATYPE_NULL;
  std::vector<MPI_Datatype> types;
  MPI_Op op = MPI_OP_NULL;
};

struct Call {
  const char* name;
  int (*make)(Memory& m, MPI_Comm comm);
};

// What is not done when its call returns with an error is still to be waited for.
int finish(int code, MPI_Request* request) {
  while (*request != MPI_REQUEST_NULL) code = MPI_Wait(request, MPI_STATUS_IGNORE);
  return code;
}

const Call kCalls[] = {
    {"barrier", [](Memory&, MPI_Comm comm) { return MPI_Barrier(comm); }},
    {"bcast",
     [](Memory& m, MPI_Comm comm) { return MPI_Bcast(m.recv.data(), 2, MPI_INT, 0, comm); }},
    {"bcast, long",
     [](Memory& m, MPI_Comm comm) { return MPI_Bcast(m.recv.data(), kLong, MPI_INT, 0, comm); }},
    {"allreduce",
     [](Memory& m, MPI_Comm comm) {
       return MPI_Allreduce(m.send.data(), m.recv.data(), 2, MPI_INT, MPI_SUM, comm);
     }},
    {"allreduce, long",
     [](Memory& m, MPI_Comm comm) {
       return MPI_Allreduce(m.send.data(), m.recv.data(), kLong, MPI_INT, MPI_SUM, comm);
     }},
    {"reduce of a user's",
     [](Memory& m, MPI_Comm comm) {
       return MPI_Reduce(m.send.data(), m.recv.data(), kLong, MPI_INT, m.op, 0, comm);
     }},
    {"allreduce of halves",
     [](Memory& m, MPI_Comm comm) {
       return MPI_Allreduce(MPI_IN_PLACE, m.halves.data(), kLong, MPIX_C_FLOAT16, MPI_SUM, comm);
     }},
    {"scan of halves",
     [](Memory& m, MPI_Comm comm) {
       return MPI_Scan(MPI_IN_PLACE, m.halves.data(), kLong, MPIX_C_FLOAT16, MPI_SUM, comm);
     }},
    {"reduce_scatter",
     [](Memory& m, MPI_Comm comm) {
       return MPI_Reduce_scatter(m.send.data(), m.recv.data(), m.counts.data(), MPI_INT, MPI_SUM,
                                 comm);
     }},
    {"gather of gaps",
     [](Memory& m, MPI_Comm comm) {
       return MPI_Gather(m.send.data(), 1, m.strided, m.recv.data(), 1, m.strided, 0, comm);
     }},
    {"allgatherv",
     [](Memory& m, MPI_Comm comm) {
       return MPI_Allgatherv(m.send.data(), m.counts[static_cast<std::size_t>(rank)], MPI_INT,
                             m.recv.data(), m.counts.data(), m.displs.data(), MPI_INT, comm);
     }},
    {"alltoall in place",
     [](Memory& m, MPI_Comm comm) {
       return MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, m.recv.data(), 50, MPI_INT, comm);
     }},
    {"alltoallw",
     [](Memory& m, MPI_Comm comm) {
       return MPI_Alltoallw(m.send.data(), m.counts.data(), m.displs.data(), m.types.data(),
                            m.recv.data(), m.counts.data(), m.displs.data(), m.types.data(), comm);
     }},
    {"iallreduce",
     [](Memory& m, MPI_Comm comm) {
       MPI_Request request = MPI_REQUEST_NULL;
       return finish(
           MPI_Iallreduce(m.send.data(), m.recv.data(), kLong, MPI_INT, MPI_SUM, comm, &request),
           &request);
     }},
    {"persistent allreduce",
     [](Memory& m, MPI_Comm comm) {
       MPI_Request request = MPI_REQUEST_NULL;
       int code = MPI_Allreduce_init(m.send.data(), m.recv.data(), kLong, MPI_INT, MPI_SUM, comm,
                                     MPI_INFO_NULL, &request);
       if (code != MPI_SUCCESS) return code;
       code = MPI_Start(&request);
       int waited = MPI_Wait(&request, MPI_STATUS_IGNORE);
       while (waited == MPI_ERR_NO_MEM && code == MPI_SUCCESS) {
         code = waited;
         waited = MPI_Wait(&request, MPI_STATUS_IGNORE);  // the first may have left it under way
       }
       MPI_Request_free(&request);
       return code != MPI_SUCCESS ? code : waited;
     }},
    {"ialltoallw",
     [](Memory& m, MPI_Comm comm) {
       MPI_Request request = MPI_REQUEST_NULL;
       return finish(MPI_Ialltoallw(m.send.data(), m.counts.data(), m.displs.data(), m.types.data(),
                                    m.recv.data(), m.counts.data(), m.displs.data(), m.types.data(),
                                    comm, &request),
                     &request);
     }},
};

MPI_Comm new_comm() {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return comm;
}

int most(int mine) {
  MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return mine;
}

class Attempts {
 public:
  Attempts(const Call& call, const Memory& before) : call_(call), before_(before), right_(before) {
    MPI_Comm comm = new_comm();
    CHECK(call.make(right_, comm) == MPI_SUCCESS);
    MPI_Comm_free(&comm);
  }
  // False: nothing of it failed.
  bool fails_once(int victim, long after) {
    MPI_Comm comm = new_comm();
    Memory memory = before_;
    int code = MPI_SUCCESS;
    bool was_met = false;
    {
      const Shortage shortage(rank == victim ? after : -1);
      code = call_.make(memory, comm);
      was_met = rank == victim && Shortage::was_met();
    }
    was_met = most(was_met ? 1 : 0) != 0;
    check(code == MPI_SUCCESS || was_met, "fails without a reason", victim, after);
    check(code != MPI_SUCCESS || is_right(memory), "is wrong", victim, after);
    const int later = MPI_Barrier(comm);
    const bool goes_on = most(later == MPI_SUCCESS ? 0 : 1) == 0;
    check(goes_on == (later == MPI_SUCCESS), "goes on for some", victim, after);
    if (goes_on) {
      memory = before_;
      check(call_.make(memory, comm) == MPI_SUCCESS && is_right(memory), "is wrong the next time",
            victim, after);
    }
    MPI_Comm_free(&comm);
    return was_met;
  }

 private:
  bool is_right(const Memory& memory) const {
    return memory.recv == right_.recv && memory.halves == right_.halves;
  }
  void check(bool is_so, const char* what, int victim, long after) const {
    if (is_so) return;
    std::fprintf(stderr, "%s %s on rank %d, after allocation %ld of rank %d failed\n", call_.name,
                 what, rank, after, victim);
    ++failures;
  }

  const Call& call_;
  const Memory& before_;
  Memory right_;
};

}  // namespace

int main() {
  begin();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  Memory memory;
  const auto ranks_here = static_cast<std::size_t>(ranks::size);
  memory.send.resize(static_cast<std::size_t>(2 * kLong) + 100 * ranks_here);
  for (std::size_t i = 0; i < memory.send.size(); ++i)
    memory.send[i] = static_cast<int>(i % 1000) + 1000 * rank;
  memory.recv = memory.send;
  memory.halves.assign(kLong, 0);
  for (int r = 0; r < ranks::size; ++r) {
    memory.counts.push_back(20);
    memory.displs.push_back(r * 80);
  }
  memory.types.assign(ranks_here, MPI_INT);
  MPI_Type_vector(500, 1, 2, MPI_INT, &memory.strided);
  MPI_Type_commit(&memory.strided);
  MPI_Op_create(
      [](void* from, void* into, int* count, MPI_Datatype*) {
        for (int i = 0; i < *count; ++i) static_cast<int*>(into)[i] += static_cast<int*>(from)[i];
      },
      0, &memory.op);
  for (const Call& call : kCalls) {
    Attempts attempts(call, memory);
    for (int victim = 0; victim < ranks::size; victim += std::max(1, ranks::size - 1))
      for (long after = 0; attempts.fails_once(victim, after); ++after) {
      }
  }
  MPI_Type_free(&memory.strided);
  MPI_Op_free(&memory.op);
  return done();
}
