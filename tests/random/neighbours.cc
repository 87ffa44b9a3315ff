// Topologies, what each of them says of itself, and collectives among neighbours.
#include "job.h"

namespace program {
namespace {

// One rank alone asks where it would be put: no other takes part.
void maps_alone(const Node& node) {
  const int dims[] = {node.members()};
  const int periods[] = {1};
  int place = -2;
  OK(MPI_Cart_map(node.comm, 1, dims, periods, &place));
  RIGHT(place == MPI_UNDEFINED || (place >= 0 && place < node.members()));
  const int index[] = {1, 2}, edges[] = {1, 0};
  if (node.members() < 2) return;
  OK(MPI_Graph_map(node.comm, 2, index, edges, &place));
  RIGHT(place == MPI_UNDEFINED || (place >= 0 && place < 2));
}

MPI_Comm grid(const Node& node, Ranks& members) {
  int dims[] = {0, 0};
  const int periods[] = {1, 0};
  OK(MPI_Dims_create(static_cast<int>(members.size()), 2, dims));
  MPI_Comm made = MPI_COMM_NULL;
  if (node.has(world->rank)) OK(MPI_Cart_create(node.comm, 2, dims, periods, 0, &made));
  return made;
}

// A row of grid points out of a grid that lives for this only.
MPI_Comm rows(const Node& node, std::vector<Ranks>& all) {
  int dims[] = {0, 0};
  const int periods[] = {0, 0}, keep[] = {0, 1};
  OK(MPI_Dims_create(node.members(), 2, dims));
  for (int row = 0; row < dims[0]; ++row)
    all.emplace_back(node.a.begin() + row * dims[1], node.a.begin() + (row + 1) * dims[1]);
  MPI_Comm made = MPI_COMM_NULL, whole;
  if (!node.has(world->rank)) return made;
  OK(MPI_Cart_create(node.comm, 2, dims, periods, 0, &whole));
  OK(MPI_Cart_sub(whole, keep, &made));
  OK(MPI_Comm_free(&whole));
  return made;
}

}  // namespace

void topology() {
  Node* node = world->pick_intra();
  const int what = world->plan.below(4);
  const int who = node->a[as_size(world->plan.below(node->members()))];
  if (what == 0 && who == world->rank && world->on("maps_alone")) maps_alone(*node);
  if (what == 0 || is_big_enough()) return;
  if (what == 1) {
    std::vector<Ranks> all;
    const MPI_Comm made = rows(*node, all);
    for (const Ranks& row : all) adopt(row, {}, made, node->handler);
    return;
  }
  if (what == 2) {
    Ranks members = node->a;
    const MPI_Comm made = grid(*node, members);
    adopt(members, {}, made, node->handler);
    return;
  }
  MPI_Comm made = MPI_COMM_NULL;
  std::vector<int> index, edges;  // a ring, each knowing its right neighbour
  for (int i = 0; i < node->members(); ++i) {
    index.push_back(i + 1);
    edges.push_back((i + 1) % node->members());
  }
  if (node->has(world->rank))
    OK(MPI_Graph_create(node->comm, node->members(), index.data(), edges.data(), 0, &made));
  adopt(node->a, {}, made, node->handler);
}

// A random graph, made and freed here; each edge carries words of its own.
void neighbours() {
  Node* node = world->pick_intra();
  auto job = std::make_shared<Job>();
  job->node = node;
  job->id = world->id();
  draw_size(*job, false);
  job->form = static_cast<Form>(world->plan.below(3));
  const bool one_for_all = world->plan.one_in(2);
  const int density = world->plan.between(1, 4);
  if (!node->has(world->rank)) return;
  job->me = world->rank;
  Ranks sources, targets;  // as ranks of the job, then of the communicator
  const auto is_edge = [&](int from, int to) {
    return mix(job->id, static_cast<std::uint64_t>(from * 641 + to)) %
               static_cast<std::uint64_t>(density) ==
           0;
  };
  for (const int peer : node->a) {
    if (is_edge(peer, job->me)) sources.push_back(peer);
    if (is_edge(job->me, peer)) targets.push_back(peer);
  }
  const int in = static_cast<int>(sources.size()), out = static_cast<int>(targets.size());
  const int blocks = one_for_all ? 1 : out;
  job->in.draw(job->grain, false);
  job->out.draw(job->grain, false);
  job->room(job->n * blocks, job->n * in);
  job->fill = [&to = *job, sources, targets, one_for_all, blocks] {
    for (int i = 0; i < blocks; ++i)
      to.put(to.in, i * to.n, to.me, one_for_all ? 0 : targets[as_size(i)], to.n);
    for (int i = 0; i < static_cast<int>(sources.size()); ++i)
      to.put(to.want, i * to.n, sources[as_size(i)], one_for_all ? 0 : to.me, to.n);
  };
  for (int& peer : sources) peer = node->index(peer);
  for (int& peer : targets) peer = node->index(peer);
  MPI_Comm comm;
  OK(MPI_Dist_graph_create_adjacent(node->comm, in, sources.data(), MPI_UNWEIGHTED, out,
                                    targets.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
  const void* from = job->in.address();
  void* to = job->out.address();
  const int sent = job->in.scale(job->n), got = job->out.scale(job->n);
  const MPI_Datatype from_type = job->in.type(), to_type = job->out.type();
  if (one_for_all) {
    IN_ITS_FORM(job, Neighbor_allgather, neighbor_allgather, from, sent, from_type, to, got,
                to_type, comm);
  } else {
    IN_ITS_FORM(job, Neighbor_alltoall, neighbor_alltoall, from, sent, from_type, to, got, to_type,
                comm);
  }
  OK(MPI_Comm_free(&comm));  // under a nonblocking one that goes on
}

}  // namespace program
