// MPI_THREAD_MULTIPLE: threads of a rank send to the rank itself, by communicators of their own and
// by one for all, beside threads that send to other ranks: every order, status and byte is right.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <numeric>
#include <random>
#include <thread>

#include "check.h"

using namespace ranks;

namespace {

constexpr int kThreads = 4, kRounds = 300, kMostMessages = 24;

// By one of the calls that complete many.
void complete(std::vector<MPI_Request>& requests, std::vector<MPI_Status>& statuses, unsigned how) {
  const int count = static_cast<int>(requests.size());
  statuses.resize(requests.size());
  int flag = 0;
  switch (how % 5) {
    case 0:
      MPI_Waitall(count, requests.data(), statuses.data());
      break;
    case 1:
      while (flag == 0) MPI_Testall(count, requests.data(), &flag, statuses.data());
      break;
    case 2:
      for (std::size_t i = requests.size(); i-- > 0;) MPI_Wait(&requests[i], &statuses[i]);
      break;
    case 3:
      for (std::size_t i = 0; i < requests.size(); ++i)
        for (flag = 0; flag == 0;) MPI_Test(&requests[i], &flag, &statuses[i]);
      break;
    default:
      for (int i = 0; i < count; ++i) {
        int which = -1;
        MPI_Status status;
        MPI_Waitany(count, requests.data(), &which, &status);
        statuses[static_cast<std::size_t>(which)] = status;
      }
  }
  for (const MPI_Request each : requests) CHECK(each == MPI_REQUEST_NULL);
}

void send(const std::vector<int>& data, int tag, MPI_Comm comm, int me, unsigned how,
          std::vector<MPI_Request>& requests) {
  const int count = static_cast<int>(data.size());
  MPI_Request request = MPI_REQUEST_NULL;
  if (how % 4 == 0) {
    MPI_Issend(data.data(), count, MPI_INT, me, tag, comm, &request);
  } else if (how % 4 == 1) {  // the same ints, by a type of ours
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    const bool is_even = count % 2 == 0;
    MPI_Isend(data.data(), is_even ? count / 2 : count, is_even ? pair : MPI_INT, me, tag, comm,
              &request);
    MPI_Type_free(&pair);
  } else if (how % 4 == 2) {
    MPI_Isend(data.data(), count, MPI_INT, me, tag, comm, &request);
  } else {
    MPI_Send(data.data(), count, MPI_INT, me, tag, comm);
    return;
  }
  requests.push_back(request);
}

// Receives posted first, most of them in every way a receive may ask; sends in the same order.
void posted_first(MPI_Comm comm, int tag, std::mt19937& random) {
  int me = -1;
  MPI_Comm_rank(comm, &me);
  const auto messages = 1 + random() % kMostMessages;
  std::vector<std::vector<int>> out(messages), in(messages);
  std::vector<MPI_Request> requests(messages);
  std::vector<MPI_Status> statuses;
  for (std::size_t i = 0; i < messages; ++i) {
    const std::size_t length = random() % 16 == 0 ? 30'000 : random() % 40;
    out[i].resize(length);
    std::iota(out[i].begin(), out[i].end(), value_of(me, tag, static_cast<int>(i)));
    in[i].assign(length + random() % 3, -1);
    MPI_Irecv(in[i].data(), static_cast<int>(in[i].size()), MPI_INT, me, tag, comm, &requests[i]);
  }
  for (std::size_t i = 0; i < messages; ++i)
    send(out[i], tag, comm, me, static_cast<unsigned>(random()), requests);
  complete(requests, statuses, static_cast<unsigned>(random()));
  for (std::size_t i = 0; i < messages; ++i) {
    int count = -1;
    MPI_Get_count(&statuses[i], MPI_INT, &count);
    CHECK(statuses[i].MPI_SOURCE == me && statuses[i].MPI_TAG == tag);
    CHECK(count == static_cast<int>(out[i].size()));
    in[i].resize(out[i].size());
    CHECK(in[i] == out[i]);
  }
}

// Some sent before their receives, which take any tag and any source.
void mixed(MPI_Comm comm, std::mt19937& random) {
  int me = -1;
  MPI_Comm_rank(comm, &me);
  constexpr int kMixed = 8;
  int out[kMixed], in[kMixed];
  MPI_Request requests[2 * kMixed];
  for (int i = 0; i < kMixed; ++i) out[i] = value_of(me, i, 7), in[i] = -1;
  const int early = static_cast<int>(random() % kMixed);
  for (int i = 0; i < early; ++i) MPI_Isend(&out[i], 1, MPI_INT, me, i, comm, &requests[i]);
  for (int i = 0; i < kMixed; ++i)
    MPI_Irecv(&in[i], 1, MPI_INT, i % 2 == 0 ? MPI_ANY_SOURCE : me, MPI_ANY_TAG, comm,
              &requests[kMixed + i]);
  for (int i = early; i < kMixed; ++i) MPI_Isend(&out[i], 1, MPI_INT, me, i, comm, &requests[i]);
  MPI_Waitall(2 * kMixed, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kMixed; ++i) CHECK(in[i] == out[i]);
}

// What is not simple about requests: cut short, called off, let go, outliving their communicator.
void odd_ends(MPI_Comm comm) {
  MPI_Comm own;
  MPI_Comm_dup(comm, &own);
  MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  int me = -1, two[2] = {3, 4}, one = -1, cancelled = 0;
  MPI_Comm_rank(own, &me);
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Irecv(&one, 1, MPI_INT, me, 1, own, &requests[0]);
  MPI_Isend(two, 2, MPI_INT, me, 1, own, &requests[1]);
  CHECK(MPI_Waitall(2, requests, statuses) == MPI_ERR_IN_STATUS);
  CHECK(statuses[0].MPI_ERROR == MPI_ERR_TRUNCATE);
  CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS || statuses[1].MPI_ERROR == MPI_ERR_PENDING);
  CHECK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(one == 3);

  MPI_Irecv(&one, 1, MPI_INT, me, 2, own, &requests[0]);
  MPI_Cancel(&requests[0]);
  MPI_Wait(&requests[0], &statuses[0]);
  MPI_Test_cancelled(&statuses[0], &cancelled);
  CHECK(cancelled == 1);

  MPI_Irecv(&one, 1, MPI_INT, me, 2, own, &requests[0]);
  MPI_Request_free(&requests[0]);
  MPI_Send(&two[1], 1, MPI_INT, me, 2, own);
  MPI_Sendrecv(&two[0], 1, MPI_INT, me, 3, &two[1], 1, MPI_INT, me, 3, own, MPI_STATUS_IGNORE);
  CHECK(one == 4 && two[1] == 3);

  MPI_Irecv(&one, 1, MPI_INT, me, 4, own, &requests[0]);
  MPI_Isend(&two[0], 1, MPI_INT, me, 4, own, &requests[1]);
  MPI_Comm_free(&own);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(one == 3);
}

// One waits for what another sends, by one communicator.
void hand_over(MPI_Comm comm, int me, int thread) {
  const int next = (thread + 1) % kThreads;
  for (int i = 0; i < kRounds; ++i) {
    int in = -1;
    const int out = value_of(thread, next, i);
    MPI_Request request;
    MPI_Irecv(&in, 1, MPI_INT, me, 100 + thread, comm, &request);
    MPI_Send(&out, 1, MPI_INT, me, 100 + next, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(in == value_of((thread + kThreads - 1) % kThreads, thread, i));
  }
}

// To the neighbours, as long as the others are busy.
void ring(MPI_Comm comm, const std::atomic<int>& busy) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int i = 0, goes_on = 1; goes_on != 0; ++i) {
    const int out = value_of(rank, right, i), mine = busy.load();
    int in = -1;
    MPI_Sendrecv(&out, 1, MPI_INT, right, 0, &in, 1, MPI_INT, left, 0, comm, MPI_STATUS_IGNORE);
    CHECK(in == value_of(left, rank, i));
    if (i % 64 == 0) MPI_Allreduce(&mine, &goes_on, 1, MPI_INT, MPI_MAX, comm);
  }
}

// Rank 0 talks only to itself until rank 1 says, by a signal, that its long message has left. It
// does not end when calls that do nothing else make no progress (MPI 5.0, 3.7.4).
volatile std::sig_atomic_t has_left = 0;
void serve_others_meanwhile(MPI_Comm comm) {
  if (size < 2 || rank > 1) return;
  std::vector<int> data(4 << 20, rank);
  if (rank == 1) {
    long process = 0;
    MPI_Recv(&process, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(data.data(), 4 << 20, MPI_INT, 0, 1, MPI_COMM_WORLD);
    CHECK(::kill(static_cast<pid_t>(process), SIGUSR1) == 0);
    return;
  }
  std::signal(SIGUSR1, [](int) { has_left = 1; });
  const long process = ::getpid();
  MPI_Request request;
  MPI_Irecv(data.data(), 4 << 20, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
  MPI_Send(&process, 1, MPI_LONG, 1, 0, MPI_COMM_WORLD);
  int me = -1;
  MPI_Comm_rank(comm, &me);
  for (int i = 0; has_left == 0; ++i) {
    int in = -1;
    MPI_Request own[2];
    MPI_Irecv(&in, 1, MPI_INT, me, 0, comm, &own[0]);
    MPI_Isend(&i, 1, MPI_INT, me, 0, comm, &own[1]);
    MPI_Waitall(2, own, MPI_STATUSES_IGNORE);
    CHECK(in == i);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(data.front() == 1 && data.back() == 1);
}

}  // namespace

// "single": without threads, only what one needs.
int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "single") {
    begin();
    serve_others_meanwhile(MPI_COMM_WORLD);
    return done();
  }
  begin(MPI_THREAD_MULTIPLE);
  MPI_Comm common, around, own[kThreads];
  MPI_Comm_dup(MPI_COMM_WORLD, &common);
  MPI_Comm_dup(MPI_COMM_WORLD, &around);
  for (int i = 0; i < kThreads; ++i)
    MPI_Comm_dup(i % 2 == 0 ? MPI_COMM_WORLD : MPI_COMM_SELF, &own[i]);
  // Posted before anything else, met after all else.
  int first = -1;
  MPI_Request early;
  MPI_Irecv(&first, 1, MPI_INT, rank, 12, own[0], &early);
  std::atomic<int> busy = kThreads;
  std::vector<std::thread> threads;
  threads.emplace_back([&] { ring(around, busy); });
  for (int me = 0; me < kThreads; ++me)
    threads.emplace_back([&, me] {
      std::mt19937 random(static_cast<unsigned>(100 * rank + me));
      for (int i = 0; i < kRounds; ++i) {
        posted_first(own[me], 5, random);
        posted_first(common, me, random);
        if (me % 2 == 1) mixed(own[me], random);
        if (i % 50 == 0) odd_ends(MPI_COMM_SELF);
      }
      hand_over(common, rank, me);
      --busy;
    });
  for (std::thread& thread : threads) thread.join();
  const int last = 17;
  MPI_Send(&last, 1, MPI_INT, rank, 12, own[0]);
  MPI_Wait(&early, MPI_STATUS_IGNORE);
  CHECK(first == last);
  serve_others_meanwhile(own[0]);
  for (MPI_Comm& each : own) MPI_Comm_free(&each);
  MPI_Comm_free(&common);
  MPI_Comm_free(&around);
  return done();
}
