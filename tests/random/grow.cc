// Making intracommunicators, in every way, and topologies on them.
#include <algorithm>
#include <map>

#include "job.h"

namespace program {

bool is_big_enough() {
  return world->nodes.size() > 14;
}

Ranks shuffled(Ranks ranks) {
  for (std::size_t i = ranks.size(); i > 1; --i)
    std::swap(ranks[i - 1], ranks[as_size(world->plan.below(static_cast<int>(i)))]);
  return ranks;
}

Ranks subset(const Ranks& ranks, int at_least) {
  Ranks chosen = shuffled(ranks);
  chosen.resize(as_size(world->plan.between(at_least, static_cast<int>(ranks.size()))));
  return chosen;
}

MPI_Group group_of(const Ranks& ranks) {
  MPI_Group all, some;
  OK(MPI_Comm_group(world->root().comm, &all));
  OK(MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some));
  OK(MPI_Group_free(&all));
  return some;
}

MPI_Comm local_comm(const Node& parent, const Ranks& members, int tag) {
  MPI_Group group = group_of(members);
  MPI_Comm made;
  OK(MPI_Comm_create_group(parent.comm, group, tag, &made));
  OK(MPI_Group_free(&group));
  return made;
}

MPI_Errhandler handle_of(Handler handler) {
  if (handler == Handler::fatal) return MPI_ERRORS_ARE_FATAL;
  return handler == Handler::returns ? MPI_ERRORS_RETURN : world->counting;
}

void set_handler(Node& node, Handler handler) {
  node.handler = handler;
  if (node.has(world->rank)) OK(MPI_Comm_set_errhandler(node.comm, handle_of(handler)));
}

namespace {

void check_group(MPI_Group group, const Ranks& ranks) {
  MPI_Group expected = group_of(ranks);
  int same = MPI_UNEQUAL;
  OK(MPI_Group_compare(group, expected, &same));
  RIGHT(same == MPI_IDENT);
  OK(MPI_Group_free(&expected));
  OK(MPI_Group_free(&group));
}

}  // namespace

void look_at(const Node& node) {
  int inter = 0, size = 0, rank = 0;
  OK(MPI_Comm_test_inter(node.comm, &inter));
  RIGHT((inter != 0) == node.is_inter);
  OK(MPI_Comm_size(node.comm, &size));
  OK(MPI_Comm_rank(node.comm, &rank));
  RIGHT(rank == node.index(world->rank));
  RIGHT(as_size(size) == node.local(world->rank).size());
  MPI_Group group;
  OK(MPI_Comm_group(node.comm, &group));
  check_group(group, node.local(world->rank));
  if (node.is_inter) {
    OK(MPI_Comm_remote_group(node.comm, &group));
    check_group(group, node.remote(world->rank));
  }
  MPI_Errhandler handler;
  OK(MPI_Comm_get_errhandler(node.comm, &handler));
  RIGHT(handler == handle_of(node.handler));
  OK(MPI_Errhandler_free(&handler));
}

Node& adopt(Ranks a, Ranks b, MPI_Comm comm, Handler handler) {
  Node& node = world->add(std::move(a), std::move(b), comm, handler);
  if (node.has(world->rank)) {
    RIGHT(comm != MPI_COMM_NULL);
    look_at(node);
  } else {
    node.comm = MPI_COMM_NULL;
  }
  return node;
}

void duplicate() {
  Node* node = world->pick([](const Node&) { return true; });
  const int form = world->plan.below(4);
  const int delay = world->plan.between(1, 6);
  if (is_big_enough()) return;
  MPI_Comm made = MPI_COMM_NULL;
  if (form < 2) {
    if (node->has(world->rank))
      OK(form == 0 ? MPI_Comm_dup(node->comm, &made)
                   : MPI_Comm_dup_with_info(node->comm, MPI_INFO_NULL, &made));
    copied_attributes(*node, adopt(node->a, node->b, made, node->handler));
    return;
  }
  // The new one joins the plan when it is ready, on all ranks at the same step.
  struct Pending {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  auto pending = std::make_shared<Pending>();
  if (node->has(world->rank))
    OK(form == 2
           ? MPI_Comm_idup(node->comm, &pending->comm, &pending->request)
           : MPI_Comm_idup_with_info(node->comm, MPI_INFO_NULL, &pending->comm, &pending->request));
  const Handler handler = node->handler;
  world->later(
      node, true,
      [node, pending, handler] {
        if (node->has(world->rank)) wait_for(pending->request);
        taken_attributes(adopt(node->a, node->b, pending->comm, handler));
      },
      delay);
}

namespace {

struct Choice {
  int color, key;
};

std::vector<Choice> draw_choices(std::size_t members) {
  std::vector<Choice> all(members);
  const int colors = world->plan.between(1, 3);
  for (Choice& one : all) {
    one.color = world->plan.one_in(6) ? MPI_UNDEFINED : world->plan.below(colors);
    one.key = world->plan.below(4) - 1;
  }
  return all;
}

// Members of each color, in the order of keys, then of ranks.
std::map<int, Ranks> sort_out(const Ranks& ranks, const std::vector<Choice>& choices,
                              std::size_t first) {
  std::map<int, Ranks> sides;
  for (int key = -1; key < 3; ++key)
    for (std::size_t i = 0; i < ranks.size(); ++i)
      if (choices[first + i].key == key && choices[first + i].color != MPI_UNDEFINED)
        sides[choices[first + i].color].push_back(ranks[i]);
  return sides;
}

Choice mine_of(const Node& node, const std::vector<Choice>& choices) {
  const bool in_b = node.is_inter && &node.local(world->rank) == &node.b;
  return choices[as_size(node.index(world->rank)) + (in_b ? node.a.size() : 0)];
}

}  // namespace

void split() {
  Node* node =
      world->pick([](const Node& one) { return !one.is_inter || world->on("split_inter"); });
  const auto choices = draw_choices(as_size(node->members()));
  if (is_big_enough()) return;
  MPI_Comm made = MPI_COMM_NULL;
  if (node->has(world->rank)) {
    const Choice own = mine_of(*node, choices);
    OK(MPI_Comm_split(node->comm, own.color, own.key, &made));
  }
  const auto left = sort_out(node->a, choices, 0);
  const auto right = sort_out(node->b, choices, node->a.size());
  bool got = false;
  for (const auto& [color, ranks] : left) {
    if (node->is_inter && right.count(color) == 0) continue;
    const Node& one = adopt(ranks, node->is_inter ? right.at(color) : Ranks{}, made, node->handler);
    got = got || one.has(world->rank);
  }
  RIGHT(got || made == MPI_COMM_NULL);
}

// By host, as asked for in several ways; and by what the plan does not know: that is only made.
void split_by_type() {
  Node* node = world->pick_intra();
  auto choices = draw_choices(as_size(node->members()));
  const int way = world->plan.below(world->on("guided") ? 3 : 1);
  if (is_big_enough()) return;
  for (std::size_t i = 0; i < choices.size(); ++i)
    if (choices[i].color != MPI_UNDEFINED) choices[i].color = world->hosts[as_size(node->a[i])];
  MPI_Comm made = MPI_COMM_NULL;
  if (node->has(world->rank)) {
    const Choice own = mine_of(*node, choices);
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory"));
    const int type = way == 0   ? MPI_COMM_TYPE_SHARED
                     : way == 1 ? MPI_COMM_TYPE_HW_GUIDED
                                : MPI_COMM_TYPE_HW_UNGUIDED;
    OK(MPI_Comm_split_type(node->comm, own.color == MPI_UNDEFINED ? MPI_UNDEFINED : type, own.key,
                           way == 1 ? info : MPI_INFO_NULL, &made));
    OK(MPI_Info_free(&info));
    if (own.color == MPI_UNDEFINED) RIGHT(made == MPI_COMM_NULL);
    if (way == 2 && made != MPI_COMM_NULL) OK(MPI_Comm_free(&made));
  }
  if (way == 2) return;
  for (const auto& [host, ranks] : sort_out(node->a, choices, 0))
    adopt(ranks, {}, made, node->handler);
}

// Comm_create: disjoint groups at once; Comm_create_group: by its members alone.
void create_from_subset() {
  Node* node = world->pick_intra();
  const bool by_members = world->plan.one_in(2);
  const Ranks first = subset(node->a, 1);
  Ranks rest;
  for (const int rank : node->a)
    if (std::find(first.begin(), first.end(), rank) == first.end()) rest.push_back(rank);
  if (is_big_enough()) return;
  const int tag = world->tag() * 70001 % 1000003;
  const bool in_first = std::find(first.begin(), first.end(), world->rank) != first.end();
  const Ranks& own = in_first ? first : rest;
  MPI_Comm made = MPI_COMM_NULL;
  if (node->has(world->rank)) {
    MPI_Group group = group_of(own);
    OK(by_members ? MPI_Comm_create_group(node->comm, group, tag, &made)
                  : MPI_Comm_create(node->comm, group, &made));
    OK(MPI_Group_free(&group));
  }
  adopt(first, {}, made, node->handler);
  if (!rest.empty()) adopt(rest, {}, made, node->handler);
}

void create_from_groups() {
  const Ranks members = subset(world->root().a, 1);
  const std::string name = "random/" + std::to_string(world->id());
  const auto handler = static_cast<Handler>(world->plan.below(3));
  if (is_big_enough()) return;
  MPI_Comm made = MPI_COMM_NULL;
  if (std::find(members.begin(), members.end(), world->rank) != members.end()) {
    MPI_Group group = group_of(members);
    OK(MPI_Comm_create_from_group(group, name.c_str(), MPI_INFO_NULL, handle_of(handler), &made));
    OK(MPI_Group_free(&group));
  }
  adopt(members, {}, made, handler);
}

}  // namespace program
