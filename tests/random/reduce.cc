// Reductions and barriers, in all forms; and the choice of a collective.
#include "job.h"

namespace program {
namespace {

// An operation that does not commute: a pair (a, b) stands for x -> a x + b, modulo 2^32.
void compose(void* in, void* inout, int* count, MPI_Datatype*) {
  const auto* first = static_cast<const std::uint32_t*>(in);
  auto* second = static_cast<std::uint32_t*>(inout);
  for (int i = 0; i < *count; ++i, first += 2, second += 2) {
    second[1] = first[0] * second[1] + first[1];
    second[0] = first[0] * second[0];
  }
}

enum Kind { sum, most, exclusive, user, kinds };

// The operation, its elements, and what it does to words. On an intercommunicator each side may
// have its own: what a side gives is folded in its way.
struct Reduction {
  Kind kind;
  Kind theirs;  // of those whose words come out here
  MPI_Op op = MPI_SUM;
  MPI_Datatype type = MPI_UINT32_T;
  int width = 1;

  Reduction(Kind mine, Kind of_others) : kind(mine), theirs(of_others) {
    if (kind == most) op = MPI_MAX;
    if (kind == exclusive) op = MPI_BXOR;
    if (kind != user) return;
    width = 2;
    OK(MPI_Op_create(compose, 0, &op));
    OK(MPI_Type_contiguous(2, MPI_UINT32_T, &type));
    OK(MPI_Type_commit(&type));
  }
  // Freed at once, also under an operation that goes on.
  void drop() {
    if (kind != user) return;
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&type));
  }
  // left = left op right
  void fold(std::vector<std::uint32_t>& left, std::vector<std::uint32_t> right) const {
    if (theirs == user) {
      int count = static_cast<int>(left.size()) / 2;
      compose(left.data(), right.data(), &count, nullptr);
      left = std::move(right);
      return;
    }
    for (std::size_t i = 0; i < left.size(); ++i)
      left[i] = theirs == sum    ? left[i] + right[i]
                : theirs == most ? std::max(left[i], right[i])
                                 : left[i] ^ right[i];
  }
  std::vector<std::uint32_t> over(const Job& job, const Ranks& ranks, int words) const {
    std::vector<std::uint32_t> all;
    for (const int from : ranks) {
      std::vector<std::uint32_t> part = job.words_of(from, words);
      if (all.empty())
        all = std::move(part);
      else
        fold(all, std::move(part));
    }
    return all;
  }
};

void reduce(const std::shared_ptr<Job>& job, Reduction& r) {
  const Rooted at(*job);
  const Junk junk;
  const int words = job->n * r.width;
  job->room(words, at.is_root ? words : 0);
  const bool in_place = job->in_place && at.is_root && !job->node->is_inter;
  job->fill = [&to = *job, r, at, words, in_place] {
    to.put(to.in, 0, to.me, 0, words);
    if (at.is_root) to.want.copy(r.over(to, to.other, words));
    if (in_place) to.put(to.out, 0, to.me, 0, words);
  };
  const bool sends = at.gives && !in_place;
  const void* from = in_place ? MPI_IN_PLACE : sends ? job->in.address() : junk.pointer();
  void* to = at.is_root ? job->out.address() : junk.pointer();
  const int count = at.absent ? junk.count() : job->n;
  const MPI_Datatype type = at.absent ? junk.type() : r.type;
  const MPI_Op op = r.op;
  const MPI_Comm comm = job->node->comm;
  IN_ITS_FORM(job, Reduce, reduce, from, to, count, type, op, at.argument, comm);
}

// Allreduce, scan and exscan.
void reduce_for_all(const std::shared_ptr<Job>& job, Reduction& r, int which) {
  const int words = job->n * r.width;
  job->room(words, words);
  const bool in_place = job->in_place && !job->node->is_inter;
  Ranks givers = job->other;
  if (which != 0) givers.resize(as_size(job->index() + (which == 1 ? 1 : 0)));
  job->fill = [&to = *job, r, words, in_place, givers] {
    to.put(to.in, 0, to.me, 0, words);
    if (in_place) to.put(to.out, 0, to.me, 0, words);
    to.want.copy(r.over(to, givers, words));
    if (givers.empty()) to.want.all = to.out.all;  // rank 0 of exscan: what it gets is not said
  };
  const void* from = in_place ? MPI_IN_PLACE : job->in.address();
  void* to = job->out.address();
  const int count = job->n;
  const MPI_Datatype type = r.type;
  const MPI_Op op = r.op;
  const MPI_Comm comm = job->node->comm;
  if (which == 0) {
    IN_ITS_FORM(job, Allreduce, allreduce, from, to, count, type, op, comm);
  } else if (which == 1) {
    IN_ITS_FORM(job, Scan, scan, from, to, count, type, op, comm);
  } else {
    IN_ITS_FORM(job, Exscan, exscan, from, to, count, type, op, comm);
  }
}

// As many in all: each gives a part of its words, perhaps all of them, to another.
void make_uneven(Job& job) {
  for (int i = 0; i < job.p(); ++i) {
    const std::uint64_t drawn = mix(job.id, static_cast<std::uint64_t>(i) + 977);
    int& from = job.out_counts[as_size(i)];
    int& to = job.out_counts[(drawn >> 8) % job.out_counts.size()];
    const int moved = drawn % 3 == 0 ? from : drawn % 3 == 1 ? from / 2 : 0;
    from -= moved;
    to += moved;
  }
}

// Both reduce_scatters: on an intercommunicator both sides reduce as many words.
void reduce_scatter(const std::shared_ptr<Job>& job, Reduction& r, bool block) {
  const int remote = job->node->is_inter ? job->q() : 1;
  const int total = job->n * job->p() * remote;
  job->out_counts.assign(job->own.size(), job->n * remote);
  if (!block) make_uneven(*job);
  int before = 0;
  for (int i = 0; i < job->index(); ++i) before += job->out_counts[as_size(i)];
  const int mine = job->out_counts[as_size(job->index())];
  const bool in_place = job->in_place && !job->node->is_inter;
  job->room(total * r.width, (in_place ? total : mine) * r.width);
  if (in_place) job->checked = as_size(mine * r.width);  // what lies behind is not said
  job->fill = [&to = *job, r, total, before, mine, in_place] {
    to.put(to.in, 0, to.me, 0, total * r.width);
    if (in_place) to.put(to.out, 0, to.me, 0, total * r.width);
    const auto all = r.over(to, to.other, total * r.width);
    const auto first = all.begin() + before * r.width;
    to.want.copy({first, first + mine * r.width});
  };
  const void* from = in_place ? MPI_IN_PLACE : job->in.address();
  void* to = job->out.address();
  const MPI_Datatype type = r.type;
  const MPI_Op op = r.op;
  const MPI_Comm comm = job->node->comm;
  if (block) {
    IN_ITS_FORM(job, Reduce_scatter_block, reduce_scatter_block, from, to, mine, type, op, comm);
  } else {
    IN_ITS_FORM(job, Reduce_scatter, reduce_scatter, from, to, job->out_counts.data(), type, op,
                comm);
  }
}

void barrier(const std::shared_ptr<Job>& job) {
  job->room(0, 0);
  const MPI_Comm comm = job->node->comm;
  IN_ITS_FORM(job, Barrier, barrier, comm);
}

}  // namespace

void reduce_somehow(const std::shared_ptr<Job>& job, int which) {
  const auto drawn = static_cast<Kind>(mix(job->id, 5) % kinds);
  // A root's operation is that of all; the user's own is of pairs, and both sides give as much.
  const bool differ = job->node->is_inter && which != 0 && drawn != user;
  const Kind second = differ ? static_cast<Kind>((drawn + 1) % user) : drawn;
  const bool is_first = job->own == job->node->a;
  Reduction r(is_first ? drawn : second, is_first && job->node->is_inter ? second : drawn);
  if (which == 0) reduce(job, r);
  if (which == 1) reduce_for_all(job, r, 0);
  if (which == 2 || which == 3) reduce_scatter(job, r, which == 2);
  if (which >= 4) reduce_for_all(job, r, which - 3);
  r.drop();
}

namespace {

// One on this communicator; members take part.
void collective_on(Node& node) {
  Random& plan = world->plan;
  auto job = std::make_shared<Job>();
  job->node = &node;
  job->id = world->id();
  const int family = plan.below(16);
  const int which = plan.below(6);
  job->form = static_cast<Form>(plan.below(3));
  job->delay = plan.between(1, 8);
  job->in_place = plan.one_in(4);
  job->in_bytes = plan.one_in(4);
  draw_size(*job, family > 10);
  const bool from_b = node.is_inter && plan.one_in(2);
  const Ranks& side = from_b ? node.b : node.a;
  job->root = side[as_size(plan.below(static_cast<int>(side.size())))];
  const int other = plan.below(static_cast<int>(side.size()));
  job->chosen = side[as_size(plan.one_in(2) ? 0 : other)];  // who chooses the way, most often
  if (!node.has(world->rank)) return;
  job->me = world->rank;
  job->own = node.local(job->me);
  job->other = node.remote(job->me);
  if (family == 0) return barrier(job);
  if (family > 10) return reduce_somehow(job, node.is_inter ? which % 4 : which);
  job->in.draw(job->grain, job->in_bytes);
  job->out.draw(job->grain, job->in_bytes);
  family <= 5 ? move_to_or_from_root(job, which % 5) : move_among_all(job, which % 5);
}

Node& any_node() {
  return *world->pick([](const Node& node) { return world->on("inter_coll") || !node.is_inter; });
}

}  // namespace

void collective() {
  collective_on(any_node());
}

// What one call leaves to the next, of another kind.
void collectives_in_a_row() {
  Node& node = any_node();
  for (int n = world->plan.between(2, 12); n > 0; --n) collective_on(node);
}

}  // namespace program
