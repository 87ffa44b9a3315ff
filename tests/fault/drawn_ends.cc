// drawn_ends CALL INTS SEED VICTIM HOW AFTER_US: collectives without end, until one rank's process
// ends.
//
// All make the same calls, drawn from SEED: blocking ones, nonblocking ones that are tested or
// waited for, of any root and of up to INTS integers a block; CALL is the name of one in kCalls, or
// `any`. A call that gives no error has given what it should. AFTER_US behind the first call VICTIM
// ends by HOW (kill, fault, abort, exit, stop), from a thread beside the call. The others say the
// class of the error that they get, and leave as programs do: half of them by MPI_Finalize, half
// without.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

enum class Waits { inside, for_request, by_tests };

int rank, size;
MPI_Comm comm;

// Of one call, the same in all ranks.
struct Drawn {
  int call, n, root, seed;
  Waits waits;
};

struct Memory {
  std::vector<int> out, in, counts, places;
};

int value(const Drawn& drawn, int from, int at) {
  return drawn.seed % 100'000 * 7 + from * 11 + at % 13;
}

void wrong(const Drawn& drawn, const char* name, int at, int found, int wanted) {
  std::printf("WRONG rank %d: %s of %d, root %d: [%d] is %d, not %d\n", rank, name, drawn.n,
              drawn.root, at, found, wanted);
  std::fflush(stdout);
  std::_Exit(99);
}

struct Made {
  const Drawn& drawn;
  Memory& memory;
  MPI_Request* request;  // null: blocking

  const int* out() const { return memory.out.data(); }
  int* in() const { return memory.in.data(); }
  const int* counts() const { return memory.counts.data(); }
  const int* places() const { return memory.places.data(); }
  int n() const { return drawn.n; }
  int root() const { return drawn.root; }
  int count_of(int member) const { return memory.counts[static_cast<std::size_t>(member)]; }
  int place_of(int member) const { return memory.places[static_cast<std::size_t>(member)]; }
};

#define EITHER(name, Name, ...) \
  (m.request == nullptr ? MPI_##Name(__VA_ARGS__, comm) : MPI_I##name(__VA_ARGS__, comm, m.request))

int sum_to(const Drawn& drawn, int members, int at) {
  int sum = 0;
  for (int member = 0; member < members; ++member) sum += value(drawn, member, at);
  return sum;
}

// What a call is, and what stands in [at] of its result, so many integers long.
struct Call {
  const char* name;
  int (*make)(const Made& m);
  int (*length)(const Made& m);
  int (*wanted)(const Made& m, int at);
};

int of_block(const Made& m) {
  return m.n();
}
int of_root(const Made& m) {
  return rank == m.root() ? m.n() : 0;
}
int of_all(const Made& m) {
  return m.n() * size;
}
int of_root_all(const Made& m) {
  return rank == m.root() ? m.n() * size : 0;
}
int summed(const Made& m, int at) {
  return sum_to(m.drawn, size, at);
}
int of_giver(const Made& m, int at) {
  return value(m.drawn, at / m.n(), at % m.n());
}
int of_giver_to_us(const Made& m, int at) {
  return value(m.drawn, at / m.n(), rank * m.n() + at % m.n());
}
// Between uneven blocks what was there stays.
int of_uneven_giver(const Made& m, int at) {
  return at % m.n() < m.count_of(at / m.n()) ? value(m.drawn, at / m.n(), at % m.n()) : -1;
}

const Call kCalls[] = {
    {"barrier",
     [](const Made& m) {
       return m.request == nullptr ? MPI_Barrier(comm) : MPI_Ibarrier(comm, m.request);
     },
     [](const Made&) { return 0; }, of_giver},
    {"bcast",
     [](const Made& m) {
       if (rank == m.root()) std::copy_n(m.out(), m.n(), m.in());
       return EITHER(bcast, Bcast, m.in(), m.n(), MPI_INT, m.root());
     },
     of_block, [](const Made& m, int at) { return value(m.drawn, m.root(), at); }},
    {"reduce",
     [](const Made& m) {
       return EITHER(reduce, Reduce, m.out(), m.in(), m.n(), MPI_INT, MPI_SUM, m.root());
     },
     of_root, summed},
    {"allreduce",
     [](const Made& m) {
       return EITHER(allreduce, Allreduce, m.out(), m.in(), m.n(), MPI_INT, MPI_SUM);
     },
     of_block, summed},
    {"reduce_scatter",
     [](const Made& m) {
       return EITHER(reduce_scatter_block, Reduce_scatter_block, m.out(), m.in(), m.n(), MPI_INT,
                     MPI_SUM);
     },
     of_block, [](const Made& m, int at) { return summed(m, rank * m.n() + at); }},
    {"gather",
     [](const Made& m) {
       return EITHER(gather, Gather, m.out(), m.n(), MPI_INT, m.in(), m.n(), MPI_INT, m.root());
     },
     of_root_all, of_giver},
    {"gatherv",
     [](const Made& m) {
       return EITHER(gatherv, Gatherv, m.out(), m.count_of(rank), MPI_INT, m.in(), m.counts(),
                     m.places(), MPI_INT, m.root());
     },
     of_root_all, of_uneven_giver},
    {"scatter",
     [](const Made& m) {
       return EITHER(scatter, Scatter, m.out(), m.n(), MPI_INT, m.in(), m.n(), MPI_INT, m.root());
     },
     of_block, [](const Made& m, int at) { return value(m.drawn, m.root(), rank * m.n() + at); }},
    {"scatterv",
     [](const Made& m) {
       return EITHER(scatterv, Scatterv, m.out(), m.counts(), m.places(), MPI_INT, m.in(),
                     m.count_of(rank), MPI_INT, m.root());
     },
     [](const Made& m) { return m.count_of(rank); },
     [](const Made& m, int at) { return value(m.drawn, m.root(), rank * m.n() + at); }},
    {"allgather",
     [](const Made& m) {
       return EITHER(allgather, Allgather, m.out(), m.n(), MPI_INT, m.in(), m.n(), MPI_INT);
     },
     of_all, of_giver},
    {"allgatherv",
     [](const Made& m) {
       return EITHER(allgatherv, Allgatherv, m.out(), m.count_of(rank), MPI_INT, m.in(), m.counts(),
                     m.places(), MPI_INT);
     },
     of_all, of_uneven_giver},
    {"alltoall",
     [](const Made& m) {
       return EITHER(alltoall, Alltoall, m.out(), m.n(), MPI_INT, m.in(), m.n(), MPI_INT);
     },
     of_all, of_giver_to_us},
    {"alltoallv",
     [](const Made& m) {
       // To each what it takes; from each what we take.
       static std::vector<int> mine;
       mine.assign(static_cast<std::size_t>(size), m.count_of(rank));
       return EITHER(alltoallv, Alltoallv, m.out(), m.counts(), m.places(), MPI_INT, m.in(),
                     mine.data(), m.places(), MPI_INT);
     },
     of_all,
     [](const Made& m, int at) {
       return at % m.n() < m.count_of(rank) ? of_giver_to_us(m, at) : -1;
     }},
    {"scan",
     [](const Made& m) { return EITHER(scan, Scan, m.out(), m.in(), m.n(), MPI_INT, MPI_SUM); },
     of_block, [](const Made& m, int at) { return sum_to(m.drawn, rank + 1, at); }},
    {"exscan",
     [](const Made& m) { return EITHER(exscan, Exscan, m.out(), m.in(), m.n(), MPI_INT, MPI_SUM); },
     [](const Made& m) { return rank == 0 ? 0 : m.n(); },
     [](const Made& m, int at) { return sum_to(m.drawn, rank, at); }},
    {"message",
     [](const Made& m) {
       const int to = (rank + 1) % size, from = (rank + size - 1) % size;
       return m.request == nullptr ? MPI_Sendrecv(m.out(), m.n(), MPI_INT, to, 0, m.in(), m.n(),
                                                  MPI_INT, from, 0, comm, MPI_STATUS_IGNORE)
                                   : MPI_Isendrecv(m.out(), m.n(), MPI_INT, to, 0, m.in(), m.n(),
                                                   MPI_INT, from, 0, comm, m.request);
     },
     of_block, [](const Made& m, int at) { return value(m.drawn, (rank + size - 1) % size, at); }},
};
constexpr int kCallCount = sizeof kCalls / sizeof *kCalls;

int wait_for(MPI_Request* request, Waits waits) {
  if (waits == Waits::for_request) return MPI_Wait(request, MPI_STATUS_IGNORE);
  int code = MPI_SUCCESS;
  for (int is_over = 0; is_over == 0 && code == MPI_SUCCESS;)
    code = MPI_Test(request, &is_over, MPI_STATUS_IGNORE);
  return code;
}

int once(const Drawn& drawn, Memory& memory) {
  const auto whole = static_cast<std::size_t>(drawn.n) * static_cast<std::size_t>(size);
  memory.out.resize(std::max(memory.out.size(), whole));
  memory.in.assign(whole, -1);
  memory.counts.resize(static_cast<std::size_t>(size));
  memory.places.resize(memory.counts.size());
  for (int member = 0; member < size; ++member) {
    memory.counts[static_cast<std::size_t>(member)] = drawn.n - (member + drawn.root) % 2;
    memory.places[static_cast<std::size_t>(member)] = member * drawn.n;
  }
  for (std::size_t at = 0; at < whole; ++at)
    memory.out[at] = value(drawn, rank, static_cast<int>(at));
  const Call& call = kCalls[drawn.call];
  MPI_Request request = MPI_REQUEST_NULL;
  const Made made{drawn, memory, drawn.waits == Waits::inside ? nullptr : &request};
  int code = call.make(made);
  if (code == MPI_SUCCESS && drawn.waits != Waits::inside) code = wait_for(&request, drawn.waits);
  if (code != MPI_SUCCESS) return code;
  for (int at = 0, length = call.length(made); at < length; ++at)
    if (const int wanted = call.wanted(made, at); memory.in[static_cast<std::size_t>(at)] != wanted)
      wrong(drawn, call.name, at, memory.in[static_cast<std::size_t>(at)], wanted);
  return code;
}

void end_by(const std::string& how) {
  if (how == "kill") ::kill(::getpid(), SIGKILL);
  if (how == "stop") ::kill(::getpid(), SIGSTOP);  // the test kills it then
  if (how == "fault") ::raise(SIGSEGV);
  if (how == "abort") std::abort();
  if (how == "exit") ::_exit(0);
}

int call_of(const std::string& name) {
  for (int call = 0; call < kCallCount; ++call)
    if (name == kCalls[call].name) return call;
  return -1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int most = std::atoi(argv[2]), only = call_of(argv[1]), after_us = std::atoi(argv[6]);
  std::mt19937 chance(static_cast<unsigned>(std::atoi(argv[3])));
  const auto below = [&](int end) {
    return static_cast<int>(chance() % static_cast<unsigned>(end));
  };
  Memory memory;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == std::atoi(argv[4]))
    std::thread([&] {
      ::usleep(static_cast<unsigned>(after_us));
      end_by(argv[5]);
    }).detach();
  int code = MPI_SUCCESS;
  while (code == MPI_SUCCESS) {
    const int length = below(2) == 0 ? most : std::max(2, most >> below(16));
    const Drawn drawn{only < 0 ? below(kCallCount) : only, length, below(size), below(1 << 20),
                      static_cast<Waits>(below(5) < 3 ? 0 : 1 + below(2))};
    code = once(drawn, memory);
  }
  int error_class = 0;
  MPI_Error_class(code, &error_class);
  std::printf("rank %d heard class %d\n", rank, error_class);
  std::fflush(stdout);
  if (rank % 2 == 0) MPI_Finalize();  // says that a rank is missing, and ends this one
  return 3;
}
