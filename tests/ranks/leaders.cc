// Several intercommunicators at once: what the leaders of one say is not taken for another's. Or
// "both": the first two ranks, of one group, each name themselves its leader.
#include <unistd.h>

#include <thread>

#include "check.h"

using namespace ranks;

namespace {

void check_partner(MPI_Comm inter, int partner) {
  MPI_Group group, world;
  MPI_Comm_remote_group(inter, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int first = 0, there = -1, size = -1;
  MPI_Group_size(group, &size);
  MPI_Group_translate_ranks(group, 1, &first, world, &there);
  CHECK(size == 1 && there == partner);
  int mine = ranks::rank, theirs = -1;
  MPI_Allreduce(&mine, &theirs, 1, MPI_INT, MPI_SUM, inter);
  CHECK(theirs == partner);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
}

// Rank 0 makes one with each other rank, all with one tag, last first: the others' words are there
// before it asks for them.
void one_tag_for_all() {
  MPI_Comm inter;
  if (ranks::rank != 0) {
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 0, 99, &inter);
    check_partner(inter, 0);
    MPI_Comm_free(&inter);
    return;
  }
  ::usleep(100'000);
  for (int partner = ranks::size - 1; partner > 0; --partner) {
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, partner, 99, &inter);
    check_partner(inter, partner);
    MPI_Comm_free(&inter);
  }
}

// Two threads of the ranks 0 and 1, whose tags differ in one high bit.
void by_threads(int bit) {
  if (ranks::rank > 1) return;
  MPI_Comm made[2], alone[2];
  for (MPI_Comm& mine : alone) MPI_Comm_dup(MPI_COMM_SELF, &mine);
  const auto make = [&made, &alone, bit](int which) {
    MPI_Intercomm_create(alone[which], 0, MPI_COMM_WORLD, 1 - ranks::rank,
                         which == 0 ? 5 : 5 | 1 << bit, &made[which]);
  };
  // Each rank begins with another one.
  std::thread other([&make] { make(1 - ranks::rank); });
  make(ranks::rank);
  other.join();
  // Had they met crosswise, this would be another communicator at either end.
  for (const int which : {0, 1}) {
    int mine = 10 * which + ranks::rank, theirs = -1;
    MPI_Sendrecv(&mine, 1, MPI_INT, 0, 3, &theirs, 1, MPI_INT, 0, 3, made[which],
                 MPI_STATUS_IGNORE);
    CHECK(theirs == 10 * which + 1 - ranks::rank);
    MPI_Comm_free(&made[which]);
    MPI_Comm_free(&alone[which]);
  }
}

void groups_by_threads(int bit) {
  if (ranks::rank > 1) return;
  MPI_Group world, both;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  const int members[] = {0, 1};
  MPI_Group_incl(world, 2, members, &both);
  MPI_Comm made[2];
  const auto make = [&](int which) {
    MPI_Comm_create_group(MPI_COMM_WORLD, both, which == 0 ? 5 : 5 | 1 << bit, &made[which]);
  };
  std::thread other([&make] { make(1 - ranks::rank); });
  make(ranks::rank);
  other.join();
  for (const int which : {0, 1}) {
    int word = ranks::rank == 0 ? 7 + which : -1;
    MPI_Bcast(&word, 1, MPI_INT, 0, made[which]);
    CHECK(word == 7 + which);
    MPI_Comm_free(&made[which]);
  }
  MPI_Group_free(&world);
  MPI_Group_free(&both);
}

// Leaders that are not the first of their group, which comes late.
void from_groups() {
  if (ranks::size < 4) return;
  const int half = ranks::size / 2;
  const bool low = ranks::rank < half;
  MPI_Group world, mine, theirs;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int lower[1][3] = {{0, half - 1, 1}}, upper[1][3] = {{half, ranks::size - 1, 1}};
  MPI_Group_range_incl(world, 1, low ? lower : upper, &mine);
  MPI_Group_range_incl(world, 1, low ? upper : lower, &theirs);
  const int my_leader = low ? half - 1 : ranks::size - half - 1;
  const int their_leader = low ? ranks::size - half - 1 : half - 1;
  if (ranks::rank == 0) ::usleep(300'000);
  MPI_Comm inter;
  MPI_Intercomm_create_from_groups(mine, my_leader, theirs, their_leader, "tutti://leaders",
                                   MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter);
  int remote = 0, one = 1, sum = -1;
  MPI_Comm_remote_size(inter, &remote);
  CHECK(remote == (low ? ranks::size - half : half));
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
  CHECK(sum == remote);
  MPI_Comm_free(&inter);
  MPI_Group_free(&world);
  MPI_Group_free(&mine);
  MPI_Group_free(&theirs);
}

void both_lead() {
  const bool low = ranks::rank < 2;
  MPI_Comm group, inter;
  MPI_Comm_split(MPI_COMM_WORLD, low ? 0 : 1, 0, &group);
  MPI_Intercomm_create(group, low ? ranks::rank : 0, MPI_COMM_WORLD, low ? 2 : 0, 7, &inter);
}

}  // namespace

int main(int argc, char**) {
  ranks::begin(MPI_THREAD_MULTIPLE);
  if (argc > 1) both_lead();
  if (ranks::size > 1) {
    one_tag_for_all();
    for (const int bit : {26, 29, 30})
      for (int round = 0; round < 20; ++round) {
        by_threads(bit);
        groups_by_threads(bit);
      }
    from_groups();
  }
  return ranks::done();
}
