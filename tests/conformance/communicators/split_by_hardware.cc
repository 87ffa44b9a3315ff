// MPI 5.0, 7.4.2 and 8.5.8: ranks that want to be in no new communicator take part in the split all
// the same, whatever the others ask for; MPI_Cart_map and MPI_Graph_map are local.
#include <string>

#include "check.h"

using namespace ranks;

namespace {

MPI_Comm split_off(int type, const char* key, const char* value, bool stays_away) {
  MPI_Info info = MPI_INFO_NULL;
  if (key != nullptr) {
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
  }
  MPI_Comm made = MPI_COMM_WORLD;
  CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, stays_away ? MPI_UNDEFINED : type, ranks::rank, info,
                            &made) == MPI_SUCCESS);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  if (stays_away) CHECK(made == MPI_COMM_NULL);
  return made;
}

void use(MPI_Comm made) {
  if (made == MPI_COMM_NULL) return;
  int one = 1, sum = 0, members = 0;
  MPI_Comm_size(made, &members);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made);
  CHECK(sum == members);
  MPI_Comm_free(&made);
}

void some_stay_away(bool stays_away) {
  use(split_off(MPI_COMM_TYPE_SHARED, nullptr, nullptr, stays_away));
  use(split_off(MPI_COMM_TYPE_HW_UNGUIDED, nullptr, nullptr, stays_away));
  for (const char* level : {"hwloc://Machine", "hwloc://Core", "mpi_shared_memory", "of no kind"}) {
    use(split_off(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", level, stays_away));
    use(split_off(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_hw_resource_type", level, stays_away));
  }
  for (const char* set : {"mpi://WORLD", "mpi://SELF", "nobody://NOWHERE"})
    use(split_off(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", set, stays_away));
}

// Each set that a session names can be split by, and holds as many as the session says.
void by_every_set() {
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  int sets = 0;
  MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets);
  CHECK(sets >= 2);
  for (int n = 0; n < sets; ++n) {
    char name[MPI_MAX_PSET_NAME_LEN] = "";
    int length = sizeof name;
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name);
    MPI_Group group;
    MPI_Group_from_session_pset(session, name, &group);
    int expected = 0, members = -1;
    MPI_Group_size(group, &expected);
    MPI_Group_free(&group);
    MPI_Comm made = split_off(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", name, false);
    CHECK(made != MPI_COMM_NULL);
    if (made == MPI_COMM_NULL) continue;
    MPI_Comm_size(made, &members);
    CHECK(members == expected);
    MPI_Comm_free(&made);
  }
  MPI_Session_finalize(&session);
}

// The others do not even call it.
void mapped_alone() {
  if (ranks::rank != 0) return;
  const int dims[] = {ranks::size}, periods[] = {1};
  int place = -1;
  CHECK(MPI_Cart_map(MPI_COMM_WORLD, 1, dims, periods, &place) == MPI_SUCCESS);
  CHECK(place >= 0 && place < ranks::size);
  std::vector<int> index, edges;
  for (int r = 0; r < ranks::size; ++r) {
    edges.push_back((r + 1) % ranks::size);
    index.push_back(static_cast<int>(edges.size()));
  }
  CHECK(MPI_Graph_map(MPI_COMM_WORLD, ranks::size, index.data(), edges.data(), &place) ==
        MPI_SUCCESS);
  CHECK(place >= 0 && place < ranks::size);
}

}  // namespace

int main() {
  ranks::begin();
  mapped_alone();
  some_stay_away(ranks::rank == 0);
  some_stay_away(ranks::rank % 2 == 1);
  some_stay_away(false);
  by_every_set();
  return ranks::done();
}
