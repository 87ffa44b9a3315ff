// MPI_THREAD_MULTIPLE: eight threads of every rank make communicators in every way (dup, idup,
// split, create_group, intercommunicators and what is merged of them), use them and free them, all
// at once. What a thread makes of what is drawn from a seed, alike on all ranks.
//
//   makers [rounds]
#include <array>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

using namespace ranks;

namespace {

constexpr int kThreads = 8;
constexpr std::size_t kMostKept = 4;  // by a thread, of those that it goes on with

// What is alike on the members of a communicator that a thread draws for.
struct Drawn {
  std::mt19937 random;
  int thread;
  int below(int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); }
};

int rank_in(MPI_Comm comm) {
  int rank = -1;
  MPI_Comm_rank(comm, &rank);
  return rank;
}
int size_of(MPI_Comm comm) {
  int size = -1;
  MPI_Comm_size(comm, &size);
  return size;
}

// A word to the right, one from the left, and a sum of all, among its members only.
void use(MPI_Comm comm, int word) {
  const int me = rank_in(comm), members = size_of(comm);
  const int right = (me + 1) % members, left = (me + members - 1) % members;
  const int out = value_of(me, word, 1);
  int in = -1, sum = -1;
  MPI_Request requests[2];
  MPI_Irecv(&in, 1, MPI_INT, left, 3, comm, &requests[0]);
  MPI_Isend(&out, 1, MPI_INT, right, 3, comm, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(in == value_of(left, word, 1));
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == members * (members - 1) / 2);
}

// Each member of one side hears the leader of the other.
void use_between(MPI_Comm inter, int word) {
  int others = -1, heard = -1;
  MPI_Comm_remote_size(inter, &others);
  const int me = rank_in(inter), said = value_of(me, word, 2);
  MPI_Allgather(&word, 1, MPI_INT, std::vector<int>(static_cast<std::size_t>(others), -1).data(), 1,
                MPI_INT, inter);
  MPI_Request request;
  MPI_Irecv(&heard, 1, MPI_INT, me % others, 4, inter, &request);
  for (int other = 0; other < others; ++other)
    if (other % size_of(inter) == me) MPI_Send(&said, 1, MPI_INT, other, 4, inter);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(heard == value_of(me % others, word, 2));
}

MPI_Comm duplicate(MPI_Comm of, Drawn&) {
  MPI_Comm made;
  MPI_Comm_dup(of, &made);
  return made;
}

// The parent is in use meanwhile.
MPI_Comm duplicate_later(MPI_Comm of, Drawn& drawn) {
  MPI_Comm made, other;
  MPI_Request requests[2];
  MPI_Comm_idup(of, &made, &requests[0]);
  MPI_Comm_idup(of, &other, &requests[1]);
  use(of, drawn.below(100));
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  use(other, drawn.below(100));
  MPI_Comm_free(&other);
  return made;
}

MPI_Comm part(MPI_Comm of, Drawn& drawn) {
  MPI_Comm made;
  const int parts = 1 + drawn.below(3), me = rank_in(of);
  MPI_Comm_split(of, me % parts, -me, &made);
  return made;
}

// By the ranks of `of`, over the communicator of all, where other threads do the same at once.
MPI_Comm by_group(MPI_Comm of, Drawn& drawn) {
  MPI_Group group;
  MPI_Comm made;
  MPI_Comm_group(of, &group);
  MPI_Comm_create_group(MPI_COMM_WORLD, group, 100 + drawn.thread, &made);
  MPI_Group_free(&group);
  return made;
}

// Two halves that meet over their parent; what goes on is one of all again.
MPI_Comm joined(MPI_Comm of, Drawn& drawn) {
  const int me = rank_in(of), word = drawn.below(100);
  MPI_Comm half, inter, made;
  if (size_of(of) < 2) return duplicate(of, drawn);
  MPI_Comm_split(of, me % 2, me, &half);
  MPI_Intercomm_create(half, 0, of, 1 - me % 2, 200 + drawn.thread, &inter);
  MPI_Comm_free(&half);
  use_between(inter, word);
  MPI_Intercomm_merge(inter, me % 2, &made);
  MPI_Comm_free(&inter);
  return made;
}

constexpr std::array kWays{duplicate, duplicate_later, part, by_group, joined};

// One thread's rounds: what was made is made anew of, in any order. Members of a part draw alike,
// since each round begins with one of its own draws on the communicator of all ranks.
void make_and_free(MPI_Comm mine, int thread, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    Drawn drawn{std::mt19937(static_cast<unsigned>(1000 * thread + round)), thread};
    std::vector<MPI_Comm> kept{mine};
    while (kept.size() <= kMostKept) {
      const MPI_Comm of =
          kept[static_cast<std::size_t>(drawn.below(static_cast<int>(kept.size())))];
      const MPI_Comm made =
          kWays[static_cast<std::size_t>(drawn.below(static_cast<int>(kWays.size())))](of, drawn);
      CHECK(made != MPI_COMM_NULL);
      use(made, round);
      kept.push_back(made);
    }
    while (kept.size() > 1) {
      const auto which = 1 + drawn.below(static_cast<int>(kept.size()) - 1);
      MPI_Comm& gone = kept[static_cast<std::size_t>(which)];
      use(gone, round);
      MPI_Comm_free(&gone);
      CHECK(gone == MPI_COMM_NULL);
      kept.erase(kept.begin() + which);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  begin(MPI_THREAD_MULTIPLE);
  const int rounds = argc > 1 ? std::stoi(argv[1]) : 20;
  std::array<MPI_Comm, kThreads> comms;
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&comms, thread, rounds] {
      make_and_free(comms[static_cast<std::size_t>(thread)], thread, rounds);
    });
  for (std::thread& thread : threads) thread.join();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  return done();
}
