// What was handed over arrives, whatever its sender does next: forgets the request, takes the
// communicator down, ends its last session or MPI, ends. The receiver comes late.
//
//   farewell WHAT: disconnect, receiver (disconnect, too), finalize or session
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "check.h"

using namespace ranks;

namespace {

constexpr int kSizes[] = {1, 1 << 10, 1 << 18, 1 << 20};  // ints
constexpr int kKinds = 5;
constexpr useconds_t kLate_us = 300'000;

int value(int kind, int size_at, int i) {
  return kind * 1'000'003 + size_at * 7919 + i;
}

std::vector<int> data_of(int kind, int size_at) {
  std::vector<int> data(static_cast<std::size_t>(kSizes[size_at]));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = value(kind, size_at, static_cast<int>(i));
  return data;
}

void forget(MPI_Request& request) {
  MPI_Request_free(&request);
}

// Every way to hand a message over and forget it.
void hand_over(int kind, std::vector<int>& data, int to, int tag, MPI_Comm comm) {
  const int count = static_cast<int>(data.size());
  MPI_Request request;
  switch (kind) {
    case 0:
      MPI_Isend(data.data(), count, MPI_INT, to, tag, comm, &request);
      return forget(request);
    case 1:
      MPI_Send_init(data.data(), count, MPI_INT, to, tag, comm, &request);
      MPI_Start(&request);
      return forget(request);
    case 2:
      MPI_Bsend(data.data(), count, MPI_INT, to, tag, comm);
      return;
    case 3:
      MPI_Issend(data.data(), count, MPI_INT, to, tag, comm, &request);
      return forget(request);
    default:
      MPI_Ibsend(data.data(), count, MPI_INT, to, tag, comm, &request);
      return forget(request);
  }
}

std::vector<std::vector<int>> hand_all_over(int to, MPI_Comm comm) {
  std::vector<std::vector<int>> all;
  for (int kind = 0; kind < kKinds; ++kind)
    for (int at = 0; at < 4; ++at) all.push_back(data_of(kind, at));
  for (int kind = 0; kind < kKinds; ++kind)
    for (int at = 0; at < 4; ++at)
      hand_over(kind, all[static_cast<std::size_t>(kind * 4 + at)], to, kind * 4 + at, comm);
  return all;
}

void receive_all(int from, MPI_Comm comm) {
  ::usleep(kLate_us);
  for (int message = kKinds * 4 - 1; message >= 0; --message) {
    const std::vector<int> right = data_of(message / 4, message % 4);
    std::vector<int> got(right.size(), -1);
    MPI_Recv(got.data(), static_cast<int>(got.size()), MPI_INT, from, message, comm,
             MPI_STATUS_IGNORE);
    CHECK(got == right);
  }
}

// Even ranks send to the next one; the last of an odd number does nothing.
void exchange(MPI_Comm comm, std::vector<std::vector<int>>* kept) {
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (rank % 2 == 0 && rank + 1 < size)
    *kept = hand_all_over(rank + 1, comm);
  else if (rank % 2 == 1)
    receive_all(rank - 1, comm);
}

std::vector<char> room(64 << 20);

// A delete function that says something on its communicator.
constexpr int kLastTag = 99;
std::vector<int> last_words;
int say_last_words(MPI_Comm comm, int, void*, void*) {
  if (rank % 2 == 1 || rank + 1 >= size) return MPI_SUCCESS;
  MPI_Request request;
  MPI_Isend(last_words.data(), static_cast<int>(last_words.size()), MPI_INT, rank + 1, kLastTag,
            comm, &request);
  forget(request);
  return MPI_SUCCESS;
}

void hear_last_words(MPI_Comm comm) {
  if (rank % 2 == 0) return;
  ::usleep(kLate_us);
  const std::vector<int> right = data_of(2, 3);
  std::vector<int> got(right.size(), -1);
  MPI_Recv(got.data(), static_cast<int>(got.size()), MPI_INT, rank - 1, kLastTag, comm,
           MPI_STATUS_IGNORE);
  CHECK(got == right);
}

int by_disconnect() {
  begin();
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, say_last_words, &key, nullptr);
  MPI_Buffer_attach(room.data(), static_cast<int>(room.size()));
  for (int round = 0; round < 2; ++round) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    std::vector<std::vector<int>> kept;
    exchange(comm, &kept);
    last_words = data_of(2, 3);
    MPI_Comm_set_attr(comm, key, &key);
    hear_last_words(comm);
    MPI_Comm_disconnect(&comm);
    CHECK(comm == MPI_COMM_NULL);
    for (auto& each : kept) std::fill(each.begin(), each.end(), -7);
    std::fill(last_words.begin(), last_words.end(), -7);
  }
  MPI_Comm_free_keyval(&key);
  return done();
}

// A receive that was forgotten is waited for, too.
int by_disconnect_of_receiver() {
  begin();
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::vector<int> data = data_of(1, 3);
  if (rank % 2 == 0 && rank + 1 < size) {
    ::usleep(kLate_us);
    MPI_Send(data.data(), static_cast<int>(data.size()), MPI_INT, rank + 1, 3, comm);
  } else if (rank % 2 == 1) {
    std::vector<int> got(data.size(), -1);
    MPI_Request request;
    MPI_Irecv(got.data(), static_cast<int>(got.size()), MPI_INT, rank - 1, 3, comm, &request);
    forget(request);
    MPI_Comm_disconnect(&comm);
    CHECK(got == data);
    return done();
  }
  MPI_Comm_disconnect(&comm);
  return done();
}

int by_finalize() {
  begin();
  MPI_Buffer_attach(room.data(), static_cast<int>(room.size()));
  std::vector<std::vector<int>> kept;
  exchange(MPI_COMM_WORLD, &kept);
  // Nobody ever asks for this one: it holds nobody up.
  if (rank % 2 == 1)
    hand_over(0, *new std::vector<int>(data_of(0, 3)), rank - 1, 99, MPI_COMM_WORLD);
  return done();
}

int by_session() {
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_create_from_group(group, "farewell", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  MPI_Session_attach_buffer(session, room.data(), static_cast<int>(room.size()));
  std::vector<std::vector<int>> kept;
  exchange(comm, &kept);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  for (auto& each : kept) std::fill(each.begin(), each.end(), -7);
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "disconnect") return by_disconnect();
  if (what == "receiver") return by_disconnect_of_receiver();
  if (what == "finalize") return by_finalize();
  if (what == "session") return by_session();
  std::fprintf(stderr, "farewell: disconnect, receiver, finalize or session?\n");
  return 2;
}
