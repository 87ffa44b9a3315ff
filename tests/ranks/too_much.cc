// Rank 1 gives rank 2 more than that has room for, in the collective that is named: the job ends
// and says so, whoever is heard first. The others go on to a barrier.
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

}  // namespace

int main(int argc, char** argv) {
  begin();
  give_too_much(argc > 1 ? argv[1] : "alltoallv");
  MPI_Barrier(MPI_COMM_WORLD);
  return done();
}
