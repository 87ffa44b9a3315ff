// Long messages whichever way their data come (TUTTI_SINGLE_COPY): whole, cut, in pieces on either
// side, several at a time, of many sizes, between threads; and `killed`: from a rank that is killed
// while it is read.
#include <cstring>

#include "check.h"
#include "long_ends.h"

using namespace ranks;

namespace {

constexpr int kSizes[] = {20'000, 60'000, 300'000, 700'000};  // of int
constexpr int kTurns = 24;                                    // both ways have had theirs

std::vector<int> values(int from, int n, int turn) {
  std::vector<int> all(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) all[static_cast<std::size_t>(i)] = value_of(from, turn, i);
  return all;
}

// What is sent may be written to when MPI_Send is back.
void whole(MPI_Comm comm, int peer, int n) {
  for (int turn = 0; turn < kTurns; ++turn) {
    std::vector<int> in(static_cast<std::size_t>(n), -1);
    auto out = values(rank, n, turn);
    const auto give = [&] {
      MPI_Send(out.data(), n, MPI_INT, peer, 1, comm);
      std::fill(out.begin(), out.end(), -7);
    };
    if (rank < peer) give();
    MPI_Recv(in.data(), n, MPI_INT, peer, 1, comm, MPI_STATUS_IGNORE);
    if (rank > peer) give();
    CHECK(in == values(peer, n, turn));
  }
}

void cut(int peer, int n) {
  for (int turn = 0; turn < kTurns; ++turn) {
    const auto out = values(rank, n, turn);
    std::vector<int> in(static_cast<std::size_t>(n), -1);
    MPI_Request request;
    MPI_Isend(out.data(), n, MPI_INT, peer, 2, MPI_COMM_WORLD, &request);
    const int room = n - 1000 * (turn % 3 + 1);
    const int code = MPI_Recv(in.data(), room, MPI_INT, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    CHECK(error_class == MPI_ERR_TRUNCATE);
    auto expected = values(peer, n, turn);
    std::fill(expected.begin() + room, expected.end(), -1);
    CHECK(in == expected);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

// Every second int, on one side or both.
void in_pieces(int peer, int n) {
  MPI_Datatype gaps;
  MPI_Type_vector(n, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  for (int turn = 0; turn < kTurns; ++turn) {
    const bool gives_gaps = turn % 3 != 0, takes_gaps = turn % 3 != 1;
    std::vector<int> out(static_cast<std::size_t>(2 * n), -3), in(out);
    const auto mine = values(rank, n, turn), theirs = values(peer, n, turn);
    const auto at = [](int i, bool gaps_here) {
      return static_cast<std::size_t>(gaps_here ? 2 * i : i);
    };
    for (int i = 0; i < n; ++i) out[at(i, gives_gaps)] = mine[static_cast<std::size_t>(i)];
    MPI_Sendrecv(out.data(), gives_gaps ? 1 : n, gives_gaps ? gaps : MPI_INT, peer, 3, in.data(),
                 takes_gaps ? 1 : n, takes_gaps ? gaps : MPI_INT, peer, 3, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    bool is_right = true;
    for (int i = 0; i < n; ++i)
      is_right &= in[at(i, takes_gaps)] == theirs[static_cast<std::size_t>(i)];
    CHECK(is_right);
    if (takes_gaps) CHECK(in[1] == -3);
  }
  MPI_Type_free(&gaps);
}

void together(int peer) {
  constexpr int kAtOnce = 12;
  for (int turn = 0; turn < kTurns / 4; ++turn) {
    std::vector<std::vector<int>> out, in;
    std::vector<MPI_Request> requests;
    for (int i = 0; i < kAtOnce; ++i) {
      const int n = kSizes[(turn % 2 == 0 ? i : turn) % 3];
      out.push_back(values(rank, n, i));
      in.emplace_back(static_cast<std::size_t>(n), -1);
    }
    for (int i = 0; i < kAtOnce; ++i) {
      const auto at = static_cast<std::size_t>(turn % 3 == 0 ? kAtOnce - 1 - i : i);
      MPI_Irecv(in[at].data(), static_cast<int>(in[at].size()), MPI_INT, peer, static_cast<int>(at),
                MPI_COMM_WORLD, &requests.emplace_back());
    }
    for (int i = 0; i < kAtOnce; ++i) {
      const auto& each = out[static_cast<std::size_t>(i)];
      MPI_Isend(each.data(), static_cast<int>(each.size()), MPI_INT, peer, i, MPI_COMM_WORLD,
                &requests.emplace_back());
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (int i = 0; i < kAtOnce; ++i) {
      const auto& each = in[static_cast<std::size_t>(i)];
      CHECK(each == values(peer, static_cast<int>(each.size()), i));
    }
  }
}

void between_threads(int peer) {
  in_two_threads([&](MPI_Comm comm) { whole(comm, peer, kSizes[2]); },
                 [&](MPI_Comm comm) { whole(comm, peer, kSizes[1]); });
}

// Rank 1 dies while rank 0 receives one long message of it after the other.
int killed() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int n = 2'000'000;
  std::vector<int> memory(static_cast<std::size_t>(n), rank);
  if (rank == 1) {
    const std::thread end = killer();
    while (true) MPI_Send(memory.data(), n, MPI_INT, 0, 4, MPI_COMM_WORLD);
  }
  return until_another_is_dead(true, "the receive ended", [&] {
    return MPI_Recv(memory.data(), n, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
}

}  // namespace

int main(int count, char** arguments) {
  begin(MPI_THREAD_MULTIPLE);
  if (count > 1 && std::strcmp(arguments[1], "killed") == 0) return killed();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int peer = rank ^ 1;
  if (peer >= size) return done();
  for (const int n : kSizes) whole(MPI_COMM_WORLD, peer, n);
  for (const int n : {20'000, 300'000}) cut(peer, n);
  for (const int n : {20'000, 300'000}) in_pieces(peer, n);
  together(peer);
  between_threads(peer);
  return done();
}
