// The plan's state: communicators, what is still to be done, and what is said when something is
// wrong.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "random.h"

namespace program {

bool Node::has(int rank) const {
  return std::find(a.begin(), a.end(), rank) != a.end() ||
         std::find(b.begin(), b.end(), rank) != b.end();
}

const Ranks& Node::local(int rank) const {
  return std::find(a.begin(), a.end(), rank) != a.end() ? a : b;
}

const Ranks& Node::remote(int rank) const {
  if (!is_inter) return a;
  return &local(rank) == &a ? b : a;
}

int Node::index(int rank) const {
  const Ranks& side = local(rank);
  return static_cast<int>(std::find(side.begin(), side.end(), rank) - side.begin());
}

// "all", or names; "all,-name" leaves one out.
bool World::on(const char* feature) const {
  const std::string list = "," + features_ + ",";
  const std::string name = feature;
  if (list.find(",-" + name + ",") != std::string::npos) return false;
  return list.find(",all,") != std::string::npos ||
         list.find("," + name + ",") != std::string::npos;
}

World::World(std::uint64_t from, const World& whole, int which)
    : seed(from), episode(whole.episode), features_(whole.features_ + ",-threads") {
  rank = whole.rank;
  size = whole.size;
  thread = which;
  hosts = whole.hosts;
  is_session = whole.is_session;
  session = whole.session;
  counting = whole.counting;
  trace = whole.trace;
  has_threads = true;
  plan = Random(mix(seed, 1));
  mine = Random(mix(seed, static_cast<std::uint64_t>(rank) + 2));
}

Node& World::add(Ranks a, Ranks b, MPI_Comm comm, Handler handler) {
  auto node = std::make_unique<Node>();
  node->id = ++ids_;
  node->is_inter = !b.empty();
  node->a = std::move(a);
  node->b = std::move(b);
  node->comm = comm;
  node->handler = handler;
  nodes.push_back(std::move(node));
  return *nodes.back();
}

Node* World::pick(const std::function<bool(const Node&)>& good) {
  std::vector<Node*> found;
  for (const auto& node : nodes)
    if (good(*node)) found.push_back(node.get());
  const int chosen = plan.below(static_cast<int>(found.size()) + 1000);
  return found.empty() ? nullptr : found[as_size(chosen) % found.size()];
}

Node* World::pick_intra(int at_least) {
  return pick([&](const Node& node) { return !node.is_inter && node.members() >= at_least; });
}

void World::later(Node* node, bool needs_comm, std::function<void()> act, int steps) {
  events_.push_back({step + steps, node, needs_comm, std::move(act)});
}

// Receives first, then ends of what was sent: two ranks may each wait for what the other receives.
void World::run(const std::function<bool(const Event&)>& chosen) {
  for (const bool receives : {true, false}) {
    // What is done may add to the list, at its end.
    for (std::size_t i = 0; i < events_.size();) {
      if (events_[i].needs_comm != receives || !chosen(events_[i])) {
        ++i;
        continue;
      }
      const Event event = std::move(events_[i]);
      events_.erase(events_.begin() + static_cast<std::ptrdiff_t>(i));
      event.act();
    }
  }
}

void World::run_due() {
  run([this](const Event& event) { return event.due <= step; });
}

void World::run_all(const Node* node, bool completions) {
  run([=](const Event& event) {
    return (node == nullptr || event.node == node) && (event.needs_comm || completions);
  });
}

void World::forget(Node& node) {
  const auto at =
      std::find_if(nodes.begin(), nodes.end(), [&](const auto& one) { return one.get() == &node; });
  freed_.push_back(std::move(*at));  // events may still name it
  nodes.erase(at);
}

// It holds what one episode may put there; beyond that a buffered send becomes a plain one. Threads
// share it.
bool World::fits_in_buffer(std::size_t bytes) {
  constexpr std::size_t kOverhead = 2 * MPI_BSEND_OVERHEAD + 64;
  if (buffered + bytes + kOverhead > may_buffer) return false;
  buffered += bytes + kOverhead;
  return true;
}

void World::dawdle() {
  if (!on("late")) return;
  if (mine.one_in(12)) ::usleep(static_cast<useconds_t>(mine.below(3000)));
  if (mine.one_in(300)) ::usleep(static_cast<useconds_t>(mine.below(60000)));
}

void fail(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "%s:%d: rank %d of %d, episode seed %llu, thread %d, step %d, %s: %s\n",
               file, line, world->rank, world->size,
               static_cast<unsigned long long>(world->episode), world->thread, world->step,
               world->doing.c_str(), what.c_str());
  std::fflush(nullptr);
  ::_exit(1);  // the launcher ends the others
}

void begin_act(const char* name) {
  world->doing = name;
  if (world->trace)
    std::fprintf(stderr, "rank %d thread %d step %d %s\n", world->rank, world->thread, world->step,
                 name);
  world->dawdle();
}

int class_of(int code) {
  int kind = MPI_SUCCESS;
  MPI_Error_class(code, &kind);
  return kind;
}

void must(int code, const char* file, int line, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail(file, line, std::string(call) + ": " + text);
}

}  // namespace program
