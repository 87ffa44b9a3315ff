// Intercommunicators: made in every way, messages and every collective between the groups.
#include "check.h"

using namespace ranks;

namespace {

// The two halves of the world, even ranks and odd ones; the leaders are the first of each.
struct Halves {
  MPI_Comm local = MPI_COMM_NULL, inter = MPI_COMM_NULL;
  int rank = 0, size = 0, remote = 0;
  bool even = true;

  Halves() {
    even = ranks::rank % 2 == 0;
    MPI_Comm_split(MPI_COMM_WORLD, even ? 0 : 1, ranks::rank, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, even ? 1 : 0, 17, &inter);
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &size);
    MPI_Comm_remote_size(inter, &remote);
  }
  ~Halves() {
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
  }
  // World rank of a member of the other group.
  int world_of(int peer) const { return even ? 2 * peer + 1 : 2 * peer; }
  int my_world() const { return ranks::rank; }
  // What this rank gives as root in a call rooted at `root` of the even group.
  int root_word(int root) const {
    if (!even) return root;
    return rank == root ? MPI_ROOT : MPI_PROC_NULL;
  }
};

void shape(const Halves& h) {
  int inter = 0, same = -1;
  MPI_Comm_test_inter(h.inter, &inter);
  CHECK(inter == 1);
  CHECK(h.size == (ranks::size + (h.even ? 1 : 0)) / 2);
  CHECK(h.remote == ranks::size - h.size);
  MPI_Group group;
  MPI_Comm_remote_group(h.inter, &group);
  int n = 0;
  MPI_Group_size(group, &n);
  CHECK(n == h.remote);
  MPI_Group_free(&group);
  MPI_Comm_compare(h.inter, MPI_COMM_WORLD, &same);
  CHECK(same == MPI_UNEQUAL);
}

void messages(const Halves& h) {
  std::vector<int> got(static_cast<std::size_t>(h.remote), -1);
  std::vector<MPI_Request> requests(static_cast<std::size_t>(2 * h.remote));
  std::vector<int> words(static_cast<std::size_t>(h.remote));
  for (int peer = 0; peer < h.remote; ++peer) {
    const auto p = static_cast<std::size_t>(peer);
    words[p] = value_of(h.my_world(), h.world_of(peer), 3);
    MPI_Irecv(&got[p], 1, MPI_INT, peer, 5, h.inter, &requests[2 * p]);
    MPI_Isend(&words[p], 1, MPI_INT, peer, 5, h.inter, &requests[2 * p + 1]);
  }
  std::vector<MPI_Status> statuses(requests.size());
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data());
  for (int peer = 0; peer < h.remote; ++peer) {
    CHECK(got[static_cast<std::size_t>(peer)] == value_of(h.world_of(peer), h.my_world(), 3));
    CHECK(statuses[static_cast<std::size_t>(2 * peer)].MPI_SOURCE == peer);
  }
}

void rooted(const Halves& h, int count) {
  const int evens = h.even ? h.size : h.remote;
  for (int root = 0; root < evens; ++root) {
    const int word = h.root_word(root);
    const bool is_root = word == MPI_ROOT;
    std::vector<int> data(static_cast<std::size_t>(count), is_root ? 7 + root : -1);
    MPI_Bcast(data.data(), count, MPI_INT, word, h.inter);
    for (const int value : data) CHECK(value == (is_root || !h.even ? 7 + root : -1));

    std::vector<int> mine(static_cast<std::size_t>(count), h.my_world());
    std::vector<int> sum(static_cast<std::size_t>(count), -1);
    MPI_Reduce(mine.data(), sum.data(), count, MPI_INT, MPI_SUM, word, h.inter);
    int expected = 0;
    for (int peer = 0; peer < h.remote; ++peer) expected += h.world_of(peer);
    for (const int value : sum) CHECK(value == (is_root ? expected : -1));

    std::vector<int> all(static_cast<std::size_t>(count * h.remote), -1);
    MPI_Gather(mine.data(), count, MPI_INT, all.data(), count, MPI_INT, word, h.inter);
    for (int i = 0; i < count * h.remote; ++i)
      CHECK(all[static_cast<std::size_t>(i)] == (is_root ? h.world_of(i / count) : -1));

    if (is_root)
      for (int i = 0; i < count * h.remote; ++i) all[static_cast<std::size_t>(i)] = 100 + i / count;
    std::vector<int> part(static_cast<std::size_t>(count), -1);
    MPI_Scatter(all.data(), count, MPI_INT, part.data(), count, MPI_INT, word, h.inter);
    for (const int value : part) CHECK(value == (h.even ? -1 : 100 + h.rank));
  }
}

void rooted_blocks(const Halves& h) {
  const int word = h.root_word(0);
  const bool is_root = word == MPI_ROOT;
  std::vector<int> counts, displs;
  int total = 0;
  for (int peer = 0; peer < h.remote; ++peer) {
    counts.push_back(peer % 3);
    displs.push_back(total + peer);  // gaps between
    total += peer % 3;
  }
  std::vector<int> all(static_cast<std::size_t>(total + h.remote + 1), -1);
  std::vector<int> mine(3, h.my_world());
  MPI_Gatherv(mine.data(), h.rank % 3, MPI_INT, all.data(), counts.data(), displs.data(), MPI_INT,
              word, h.inter);
  for (int peer = 0; is_root && peer < h.remote; ++peer)
    for (int i = 0; i < peer % 3; ++i)
      CHECK(all[static_cast<std::size_t>(displs[static_cast<std::size_t>(peer)] + i)] ==
            h.world_of(peer));
  std::vector<int> part(3, -1);
  MPI_Scatterv(all.data(), counts.data(), displs.data(), MPI_INT, part.data(), h.rank % 3, MPI_INT,
               word, h.inter);
  for (int i = 0; i < 3; ++i)
    CHECK(part[static_cast<std::size_t>(i)] == (!h.even && i < h.rank % 3 ? h.my_world() : -1));
}

void to_all(const Halves& h, int count) {
  const auto n = static_cast<std::size_t>(count);
  std::vector<int> mine(n, h.my_world()), got(n, -1);
  int expected = 0;
  for (int peer = 0; peer < h.remote; ++peer) expected += h.world_of(peer);
  MPI_Allreduce(mine.data(), got.data(), count, MPI_INT, MPI_SUM, h.inter);
  for (const int value : got) CHECK(value == expected);

  std::vector<int> all(n * static_cast<std::size_t>(h.remote), -1);
  MPI_Allgather(mine.data(), count, MPI_INT, all.data(), count, MPI_INT, h.inter);
  for (int i = 0; i < count * h.remote; ++i)
    CHECK(all[static_cast<std::size_t>(i)] == h.world_of(i / count));

  std::vector<int> to(all.size());
  for (int i = 0; i < count * h.remote; ++i)
    to[static_cast<std::size_t>(i)] = value_of(h.my_world(), h.world_of(i / count), i % count);
  MPI_Alltoall(to.data(), count, MPI_INT, all.data(), count, MPI_INT, h.inter);
  for (int i = 0; i < count * h.remote; ++i)
    CHECK(all[static_cast<std::size_t>(i)] ==
          value_of(h.world_of(i / count), h.my_world(), i % count));
  MPI_Barrier(h.inter);

  std::vector<int> vector(static_cast<std::size_t>(h.size * h.remote), h.my_world());
  std::vector<int> block(static_cast<std::size_t>(h.remote), -1);
  MPI_Reduce_scatter_block(vector.data(), block.data(), h.remote, MPI_INT, MPI_SUM, h.inter);
  for (const int value : block) CHECK(value == expected);
}

void to_all_blocks(const Halves& h) {
  std::vector<int> counts, displs;
  std::vector<MPI_Datatype> types(static_cast<std::size_t>(h.remote), MPI_INT);
  for (int peer = 0; peer < h.remote; ++peer) {
    counts.push_back(2);
    displs.push_back(2 * (h.remote - 1 - peer));  // last first
  }
  std::vector<int> mine(2, h.my_world()), all(static_cast<std::size_t>(2 * h.remote), -1);
  MPI_Allgatherv(mine.data(), 2, MPI_INT, all.data(), counts.data(), displs.data(), MPI_INT,
                 h.inter);
  for (int peer = 0; peer < h.remote; ++peer)
    CHECK(all[static_cast<std::size_t>(displs[static_cast<std::size_t>(peer)])] ==
          h.world_of(peer));
  std::vector<int> to(all.size()), bytes;
  for (int peer = 0; peer < h.remote; ++peer)
    for (int i = 0; i < 2; ++i)
      to[static_cast<std::size_t>(displs[static_cast<std::size_t>(peer)] + i)] =
          value_of(h.my_world(), h.world_of(peer), i);
  for (const int displ : displs) bytes.push_back(displ * static_cast<int>(sizeof(int)));
  for (const bool typed : {false, true}) {
    std::fill(all.begin(), all.end(), -1);
    if (typed)
      MPI_Alltoallw(to.data(), counts.data(), bytes.data(), types.data(), all.data(), counts.data(),
                    bytes.data(), types.data(), h.inter);
    else
      MPI_Alltoallv(to.data(), counts.data(), displs.data(), MPI_INT, all.data(), counts.data(),
                    displs.data(), MPI_INT, h.inter);
    for (int peer = 0; peer < h.remote; ++peer)
      CHECK(all[static_cast<std::size_t>(displs[static_cast<std::size_t>(peer)] + 1)] ==
            value_of(h.world_of(peer), h.my_world(), 1));
  }
}

// Started, and started over: the same schedules.
void begun(const Halves& h) {
  int mine = h.my_world(), sum = -1, persistent = -1, expected = 0;
  for (int peer = 0; peer < h.remote; ++peer) expected += h.world_of(peer);
  MPI_Request requests[2];
  MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, h.inter, &requests[0]);
  MPI_Ibarrier(h.inter, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(sum == expected);
  MPI_Allreduce_init(&mine, &persistent, 1, MPI_INT, MPI_SUM, h.inter, MPI_INFO_NULL, requests);
  for (int round = 0; round < 3; ++round) {
    persistent = -1;
    MPI_Start(requests);
    MPI_Wait(requests, MPI_STATUS_IGNORE);
    CHECK(persistent == expected);
  }
  MPI_Request_free(requests);
}

int order_of(MPI_Comm comm) {
  int r = -1;
  MPI_Comm_rank(comm, &r);
  return r;
}

void merged(const Halves& h) {
  const int evens = h.even ? h.size : h.remote;
  for (const int high : {0, 1}) {
    MPI_Comm one;
    MPI_Intercomm_merge(h.inter, h.even ? high : 1 - high, &one);
    const int expected = high == 0 ? (h.even ? h.rank : evens + h.rank)
                                   : (h.even ? ranks::size - evens + h.rank : h.rank);
    CHECK(order_of(one) == expected);
    int sum = -1;
    MPI_Allreduce(&ranks::rank, &sum, 1, MPI_INT, MPI_SUM, one);
    CHECK(sum == ranks::size * (ranks::size - 1) / 2);
    MPI_Comm_free(&one);
  }
  MPI_Comm same;
  MPI_Intercomm_merge(h.inter, 1, &same);  // both say high: some order, the same for all
  int n = 0;
  MPI_Comm_size(same, &n);
  CHECK(n == ranks::size);
  MPI_Comm_free(&same);
}

void made_of_one(const Halves& h) {
  MPI_Comm copy, later;
  MPI_Request request;
  MPI_Comm_dup(h.inter, &copy);
  MPI_Comm_idup(h.inter, &later, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  int same = -1;
  MPI_Comm_compare(h.inter, copy, &same);
  CHECK(same == MPI_CONGRUENT);
  int mine = h.my_world(), expected = 0;
  for (int peer = 0; peer < h.remote; ++peer) expected += h.world_of(peer);
  for (MPI_Comm comm : {copy, later}) {
    int sum = -1;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == expected);
    MPI_Comm_free(&comm);
  }
  // Reversed, and in two colors of which the second is in the even group only.
  MPI_Comm part;
  const bool other = h.even && h.rank % 2 == 1;
  MPI_Comm_split(h.inter, other ? 1 : 0, -h.rank, &part);
  CHECK((part == MPI_COMM_NULL) == other);
  if (part != MPI_COMM_NULL) {
    int n = 0, remote = 0;
    MPI_Comm_size(part, &n);
    MPI_Comm_remote_size(part, &remote);
    const int half = ((h.even ? h.size : h.remote) + 1) / 2;
    CHECK(n == (h.even ? half : h.size) && remote == (h.even ? h.remote : half));
    CHECK(order_of(part) == n - 1 - (h.even ? h.rank / 2 : h.rank));
    MPI_Barrier(part);
    MPI_Comm_free(&part);
  }
  MPI_Group group, first;
  MPI_Comm_group(h.inter, &group);
  const int zero = 0;
  MPI_Group_incl(group, 1, &zero, &first);
  MPI_Comm_create(h.inter, first, &part);
  CHECK((part == MPI_COMM_NULL) == (h.rank != 0));
  if (part != MPI_COMM_NULL) {
    int remote = 0, word = h.my_world(), got = -1;
    MPI_Comm_remote_size(part, &remote);
    CHECK(remote == 1);
    MPI_Sendrecv(&word, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, part, MPI_STATUS_IGNORE);
    CHECK(got == h.world_of(0));
    MPI_Comm_free(&part);
  }
  MPI_Group_free(&first);
  MPI_Group_free(&group);
}

// Without a communicator between them: from groups and a word.
void from_groups() {
  MPI_Group world, even, odd;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int evens[1][3] = {{0, size - 1, 2}}, odds[1][3] = {{1, size - 1, 2}};
  MPI_Group_range_incl(world, 1, evens, &even);
  MPI_Group_range_incl(world, 1, odds, &odd);
  const bool is_even = rank % 2 == 0;
  MPI_Comm inter;
  MPI_Intercomm_create_from_groups(is_even ? even : odd, 0, is_even ? odd : even, 0, "halves",
                                   MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &inter);
  int sum = -1, expected = 0;
  for (int r = is_even ? 1 : 0; r < size; r += 2) expected += r;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter);
  CHECK(sum == expected);
  MPI_Comm_free(&inter);
  MPI_Group_free(&even);
  MPI_Group_free(&odd);
  MPI_Group_free(&world);
}

void refusals(const Halves& h) {
  MPI_Comm_set_errhandler(h.inter, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int mine = 1, got = 0;
  int code = MPI_Scan(&mine, &got, 1, MPI_INT, MPI_SUM, h.inter), kind = MPI_SUCCESS;
  MPI_Error_class(code, &kind);
  CHECK(kind == MPI_ERR_COMM);
  code = MPI_Send(&mine, 1, MPI_INT, h.remote, 0, h.inter);
  CHECK(code != MPI_SUCCESS);
  code = MPI_Bcast(&mine, 1, MPI_INT, h.remote, h.inter);
  CHECK(code != MPI_SUCCESS);
  code = MPI_Allreduce(MPI_IN_PLACE, &got, 1, MPI_INT, MPI_SUM, h.inter);
  CHECK(code != MPI_SUCCESS);
  MPI_Barrier(h.inter);
}

}  // namespace

int main() {
  begin();
  if (size > 1) {
    const Halves h;
    shape(h);
    messages(h);
    for (const int count : {1, 1000, 100000}) rooted(h, count);
    rooted_blocks(h);
    for (const int count : {1, 1000, 30000}) to_all(h, count);
    to_all_blocks(h);
    begun(h);
    merged(h);
    made_of_one(h);
    from_groups();
    refusals(h);
  }
  return done();
}
