// Intercommunicators: made by leaders, two at once under one tag, from groups; merged and split.
#include <algorithm>

#include "job.h"

namespace program {
namespace {

bool is_in(const Ranks& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

// Two or three disjoint sets out of a communicator's members, each of at least one.
std::vector<Ranks> draw_parts(const Node& node, int parts) {
  const Ranks all = shuffled(node.a);
  const int spare = static_cast<int>(all.size()) - parts;
  std::vector<Ranks> out(as_size(parts));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const int part =
        static_cast<int>(i) < parts ? static_cast<int>(i) : world->plan.below(parts + 1);
    if (part < parts) out[as_size(part)].push_back(all[i]);
  }
  RIGHT(spare >= 0);
  return out;
}

struct Leaders {
  int left, right;  // indices within their sides
};

Leaders draw_leaders(const Ranks& left, const Ranks& right) {
  Leaders leaders{};
  leaders.left = world->plan.below(static_cast<int>(left.size()));
  leaders.right = world->plan.below(static_cast<int>(right.size()));
  return leaders;
}

// Intercomm_create by a member of `own`, whose communicator is `local`.
MPI_Comm join(MPI_Comm local, int leader, const Node& peer, int remote, int tag) {
  int me = 0;
  MPI_Comm made;
  OK(MPI_Comm_rank(local, &me));
  const Junk junk;
  OK(MPI_Intercomm_create(local, leader, me == leader ? peer.comm : junk.comm(),
                          me == leader ? remote : junk.count(), tag, &made));
  return made;
}

Handler fresh_handler(const Node& parent) {
  return parent.handler;
}

}  // namespace

void make_halves() {
  Node* parent = world->pick_intra(2);
  if (parent == nullptr || is_big_enough()) return;
  const auto sides = draw_parts(*parent, 2);
  const Leaders leaders = draw_leaders(sides[0], sides[1]);
  const int tag = (world->tag() << 16) + static_cast<int>(world->id() % 65536);
  const bool keep_locals = world->plan.one_in(4);
  const bool left = is_in(sides[0], world->rank), right = is_in(sides[1], world->rank);
  MPI_Comm local = MPI_COMM_NULL, made = MPI_COMM_NULL;
  if (left || right) {
    local = local_comm(*parent, left ? sides[0] : sides[1], 77);
    const int remote = left ? sides[1][as_size(leaders.right)] : sides[0][as_size(leaders.left)];
    world->dawdle();
    made = join(local, left ? leaders.left : leaders.right, *parent, parent->index(remote), tag);
    if (!keep_locals) OK(MPI_Comm_free(&local));
  }
  adopt(sides[0], sides[1], made, fresh_handler(*parent));
  if (!keep_locals) return;
  adopt(sides[0], {}, local, fresh_handler(*parent));
  adopt(sides[1], {}, local, fresh_handler(*parent));
}

// A master makes one with each of two groups, under one tag; either group may be there first.
void make_two_at_once() {
  Node* parent = world->pick_intra(3);
  if (parent == nullptr || is_big_enough()) return;
  auto parts = draw_parts(*parent, 3);
  const Ranks master{parts[0].front()};
  const Leaders leaders = draw_leaders(parts[1], parts[2]);
  const int me = world->rank;
  MPI_Comm with_first = MPI_COMM_NULL, with_second = MPI_COMM_NULL;
  if (me == master[0]) {
    MPI_Comm own = local_comm(*parent, master, 78);
    with_first = join(own, 0, *parent, parent->index(parts[1][as_size(leaders.left)]), 99);
    with_second = join(own, 0, *parent, parent->index(parts[2][as_size(leaders.right)]), 99);
    OK(MPI_Comm_free(&own));
  } else if (is_in(parts[1], me) || is_in(parts[2], me)) {
    const bool first = is_in(parts[1], me);
    MPI_Comm own = local_comm(*parent, first ? parts[1] : parts[2], 79);
    world->dawdle();
    MPI_Comm& made = first ? with_first : with_second;
    made = join(own, first ? leaders.left : leaders.right, *parent, parent->index(master[0]), 99);
    OK(MPI_Comm_free(&own));
  }
  adopt(master, parts[1], with_first, fresh_handler(*parent));
  adopt(master, parts[2], with_second, fresh_handler(*parent));
}

void merge() {
  Node* node = world->pick([](const Node& one) { return one.is_inter; });
  const int high = world->plan.below(3);  // 2: both alike, and the order is the library's choice
  if (node == nullptr || is_big_enough()) return;
  MPI_Comm made = MPI_COMM_NULL;
  if (node->has(world->rank)) {
    const bool in_a = is_in(node->a, world->rank);
    OK(MPI_Intercomm_merge(node->comm, high == 2 ? 1 : in_a == (high == 1), &made));
    if (high == 2) {
      int size = 0;
      OK(MPI_Comm_size(made, &size));
      RIGHT(size == node->members());
      OK(MPI_Comm_free(&made));
    }
  }
  if (high == 2) return;
  Ranks ranks = high == 1 ? node->b : node->a;
  const Ranks& last = high == 1 ? node->a : node->b;
  ranks.insert(ranks.end(), last.begin(), last.end());
  adopt(ranks, {}, made, node->handler);
}

void make_inter_from_groups() {
  const Node& root = world->root();
  const std::string name = "random/" + std::to_string(world->id());
  if (root.members() < 2 || is_big_enough()) return;
  const auto sides = draw_parts(root, 2);
  const Leaders leaders = draw_leaders(sides[0], sides[1]);
  const auto handler = static_cast<Handler>(world->plan.below(3));
  const bool left = is_in(sides[0], world->rank), right = is_in(sides[1], world->rank);
  MPI_Comm made = MPI_COMM_NULL;
  if (left || right) {
    const int mine = left ? leaders.left : leaders.right;
    const int theirs = left ? leaders.right : leaders.left;
    const bool leads = sides[left ? 0 : 1][as_size(mine)] == world->rank;
    MPI_Group own = group_of(left ? sides[0] : sides[1]);
    MPI_Group other = leads ? group_of(left ? sides[1] : sides[0]) : MPI_GROUP_NULL;
    OK(MPI_Intercomm_create_from_groups(own, mine, other, leads ? theirs : -5, name.c_str(),
                                        MPI_INFO_NULL, handle_of(handler), &made));
    OK(MPI_Group_free(&own));
    if (leads) OK(MPI_Group_free(&other));
  }
  adopt(sides[0], sides[1], made, handler);
}

// Comm_create of an intercommunicator: some of each side.
void split_inter() {
  Node* node = world->pick([](const Node& one) { return one.is_inter; });
  if (node == nullptr || is_big_enough()) return;
  const Ranks left = subset(node->a, 1), right = subset(node->b, 1);
  MPI_Comm made = MPI_COMM_NULL;
  if (node->has(world->rank)) {
    MPI_Group group = group_of(is_in(node->a, world->rank) ? left : right);
    OK(MPI_Comm_create(node->comm, group, &made));
    OK(MPI_Group_free(&group));
  }
  const Node& one = adopt(left, right, made, node->handler);
  RIGHT(one.has(world->rank) || made == MPI_COMM_NULL);
}

}  // namespace program
