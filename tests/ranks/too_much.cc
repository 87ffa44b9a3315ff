// Rank 1 gives rank 2 more than that has room for, in the collective that is named: the job ends
// and says so, whoever is heard first. The others go on to a barrier. Or "whole": the root of a
// gather says how much comes from all, not from each; "one more": rank 1 makes one call more.
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

}  // namespace

int main(int argc, char** argv) {
  begin();
  const std::string how = argc > 1 ? argv[1] : "alltoallv";
  if (how == "whole")
    say_the_whole();
  else if (how == "one more")
    call_once_more();
  else
    give_too_much(how);
  if (how != "one more") MPI_Barrier(MPI_COMM_WORLD);
  return done();
}
