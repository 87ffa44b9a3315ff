// Two or three threads of each rank, each with a program of its own, at the same time.
//
// The root of each is a copy of the whole program's, made beforehand, or by the thread itself while
// the others make theirs: from one communicator, told apart by tag. What it grows from that root is
// used by this thread alone, as is what the episode's own thread left under way: it goes on by what
// these do.
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "random.h"

namespace program {
namespace {

struct Plan {
  std::uint64_t seed = 0;
  int steps = 0;
  bool made_before = false;
};

MPI_Comm root_of(const World& whole, int thread) {
  MPI_Comm made;
  MPI_Group group;
  OK(MPI_Comm_group(whole.nodes.front()->comm, &group));
  // Tags that differ in their upper bits only.
  OK(MPI_Comm_create_group(whole.nodes.front()->comm, group, 500 + (thread << 27), &made));
  OK(MPI_Group_free(&group));
  return made;
}

void run_thread(World& own, const World& whole, const Plan& plan, MPI_Comm root) {
  world = &own;
  own.doing = "the start of a thread";
  if (own.on("late") && own.mine.one_in(3)) ::usleep(static_cast<useconds_t>(own.mine.below(5000)));
  if (!plan.made_before) root = root_of(whole, own.thread);
  own.add(whole.nodes.front()->a, {}, root, Handler::fatal).is_root = true;
  open_keys();
  run_steps(plan.steps);
  free_everything();
  OK(MPI_Comm_free(&own.root().comm));
  world = nullptr;
}

}  // namespace

void threads() {
  World& whole = *world;
  const int number = whole.plan.between(2, 3);
  std::vector<Plan> plans(as_size(number));
  for (Plan& plan : plans) {
    plan.seed = whole.id();
    plan.steps = whole.plan.between(3, 25);
    plan.made_before = whole.plan.one_in(2);
  }
  if (!whole.has_threads) return;
  std::vector<std::unique_ptr<World>> worlds;
  std::vector<std::thread> running;
  std::vector<MPI_Comm> roots(plans.size(), MPI_COMM_NULL);
  const std::size_t left = whole.may_buffer - std::min(whole.may_buffer, whole.buffered);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    worlds.push_back(std::make_unique<World>(plans[i].seed, whole, static_cast<int>(i) + 1));
    worlds.back()->may_buffer = left / plans.size();
    if (plans[i].made_before) OK(MPI_Comm_dup(whole.root().comm, &roots[i]));
  }
  for (std::size_t i = 0; i < plans.size(); ++i)
    running.emplace_back([&, i] { run_thread(*worlds[i], whole, plans[i], roots[i]); });
  for (std::thread& one : running) one.join();
  for (auto& one : worlds) {
    whole.buffered += one->buffered;
    for (auto& memory : one->kept) whole.kept.push_back(std::move(memory));
  }
}

}  // namespace program
