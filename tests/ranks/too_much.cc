// Rank 1 gives rank 2 more than that has room for, in the collective that is named: the job ends
// and says so, whoever is heard first, also where rank 2 bears its error ("borne"). The others go
// on to a barrier. Or "whole": the root of a gather says how much comes from all, not from each;
// "one more": rank 1 makes one call more; "twice": two broadcasts fail at rank 1, which completes
// them by the call that is named.
#include <string>

#include "check.h"

using namespace ranks;

namespace {

constexpr int kGiver = 1, kTaker = 2;

std::vector<int> one_after_another(const std::vector<int>& counts) {
  std::vector<int> places;
  int at = 0;
  for (const int count : counts) {
    places.push_back(at);
    at += count;
  }
  return places;
}

void give_too_much(const std::string& how) {
  const int count = 100;
  const auto ranks = static_cast<std::size_t>(size);
  const std::vector<int> from(ranks * static_cast<std::size_t>(count));
  std::vector<int> into(from.size());
  std::vector<int> gives(ranks, count), takes(ranks, count);
  if (rank == kTaker) takes[kGiver] = count - 1;
  const std::vector<int> at = one_after_another(gives), to = one_after_another(takes);
  if (how == "gatherv")
    MPI_Gatherv(from.data(), count, MPI_INT, into.data(), takes.data(), to.data(), MPI_INT, kTaker,
                MPI_COMM_WORLD);
  else if (how == "scatterv")
    MPI_Scatterv(from.data(), gives.data(), at.data(), MPI_INT, into.data(), takes[kGiver], MPI_INT,
                 kGiver, MPI_COMM_WORLD);
  else
    MPI_Alltoallv(from.data(), gives.data(), at.data(), MPI_INT, into.data(), takes.data(),
                  to.data(), MPI_INT, MPI_COMM_WORLD);
}

void say_the_whole() {
  const int count = 1000;
  const std::vector<int> from(static_cast<std::size_t>(count));
  std::vector<int> into(static_cast<std::size_t>(count * size));
  MPI_Gather(from.data(), count, MPI_INT, into.data(), count * size, MPI_INT, kTaker,
             MPI_COMM_WORLD);
}

// Its root waits for nobody, so it meets the others in MPI_Finalize.
void call_once_more() {
  int word = 0;
  if (rank == kGiver) MPI_Bcast(&word, 1, MPI_INT, kGiver, MPI_COMM_WORLD);
}

// Both have arrived, and failed, when the message behind them is there.
void ask_for_less_twice(const std::string& by) {
  std::vector<int> words(100), others(100);
  const bool asks_less = rank == kGiver;
  int word = 0, flag = 0, count = 0, indices[2];
  MPI_Request both[2];
  MPI_Ibcast(words.data(), asks_less ? 5 : 10, MPI_INT, 0, MPI_COMM_WORLD, &both[0]);
  MPI_Ibcast(others.data(), asks_less ? 7 : 20, MPI_INT, 0, MPI_COMM_WORLD, &both[1]);
  if (rank == 0) MPI_Send(&word, 1, MPI_INT, kGiver, 0, MPI_COMM_WORLD);
  if (asks_less) MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (by == "MPI_Wait")
    MPI_Wait(&both[0], MPI_STATUS_IGNORE);
  else if (by == "MPI_Testall")
    MPI_Testall(2, both, &flag, MPI_STATUSES_IGNORE);
  else if (by == "MPI_Waitsome")
    MPI_Waitsome(2, both, &count, indices, MPI_STATUSES_IGNORE);
  MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
}

}  // namespace

int main(int argc, char** argv) {
  begin();
  const std::string how = argc > 1 ? argv[1] : "alltoallv";
  if (how == "whole")
    say_the_whole();
  else if (how == "one more")
    call_once_more();
  else if (how == "twice")
    ask_for_less_twice(argc > 2 ? argv[2] : "MPI_Waitall");
  else {
    if (rank == kTaker && argc > 2) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    give_too_much(how);
  }
  if (how != "one more") MPI_Barrier(MPI_COMM_WORLD);
  return done();
}
