// MPI 5.0, 7.4.2: MPI_Comm_create_group and MPI_Comm_create_from_group are collective over the
// members of the group only; calls for other groups may follow at once, with the same tag or
// string, and none of their messages may be taken for those of a call before.
#include <random>

#include "check.h"

using namespace ranks;

namespace {

// Alike on all ranks.
std::vector<int> some_of_us(std::mt19937& dice) {
  std::vector<int> members;
  for (int r = 0; r < size; ++r)
    if (dice() % 2 == 0) members.push_back(r);
  return members;
}

void use(MPI_Comm comm, int members) {
  const int one = 1;
  int sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == members);
  MPI_Comm_free(&comm);
}

void in_turn(MPI_Group all, bool from_group) {
  std::mt19937 dice(7);
  for (int turn = 0; turn < 150; ++turn) {
    const std::vector<int> members = some_of_us(dice);
    const int count = static_cast<int>(members.size());
    MPI_Group group;
    MPI_Group_incl(all, count, members.data(), &group);
    int mine = MPI_UNDEFINED;
    MPI_Group_rank(group, &mine);
    MPI_Comm comm = MPI_COMM_NULL;
    if (mine != MPI_UNDEFINED && from_group)
      MPI_Comm_create_from_group(group, "turn", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    else if (mine != MPI_UNDEFINED)
      MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &comm);
    if (mine != MPI_UNDEFINED) use(comm, count);
    MPI_Group_free(&group);
  }
}

}  // namespace

int main() {
  begin();
  MPI_Group all;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  in_turn(all, false);
  in_turn(all, true);
  MPI_Group_free(&all);
  return done();
}
