// random [--seed N] [--seconds S] [--episodes N] [--features LIST] [--sessions] [--threads]
// [--trace]
//
// Random legal programs (and a few deliberate errors) over communicators, one episode after the
// other, each made from a seed of its own: `--seed` of the episode that failed and `--episodes 1`
// repeat it. An episode starts and ends with nothing but the root communicator; some of what it
// made stays until MPI ends. `--sessions`: there is no MPI_Init, all is made from a session;
// `--threads`: MPI_THREAD_MULTIPLE, and acts in which several threads call MPI at once.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "random.h"

namespace program {
namespace {

struct Options {
  std::uint64_t seed = 1;
  double seconds = 0;
  int episodes = 1;
  std::string features = "all";
  bool sessions = false, threads = false, trace = false;
};

struct Act {
  const char* name;  // what --features calls it
  int weight;
  void (*act)();
  bool alone = false;  // it changes what all threads share
};

constexpr Act kActs[] = {
    {"messages", 20, exchange},
    {"messages", 3, burst},
    {"messages", 2, probe_and_cancel},
    {"persistent", 3, persistent_messages},
    {"partitioned", 2, partitioned_messages},
    {"collectives", 22, collective},
    {"collectives", 4, collectives_in_a_row},
    {"neighbours", 3, neighbours},
    {"dup", 5, duplicate},
    {"split", 4, split},
    {"split_type", 2, split_by_type},
    {"create", 3, create_from_subset},
    {"from_groups", 2, create_from_groups},
    {"topology", 2, topology},
    {"inter", 4, make_halves},
    {"two_at_once", 2, make_two_at_once},
    {"merge", 2, merge},
    {"inter_from_groups", 2, make_inter_from_groups},
    {"split_inter", 2, split_inter},
    {"attributes", 3, set_attributes},
    {"attributes", 2, look_at_attributes},
    {"mean_attributes", 2, mean_attributes},
    {"errors", 2, deliberate_errors},
    {"errors", 1, errors_elsewhere, true},
    {"freed_with_receive", 2, freed_with_receive},
    {"given_handler", 1, handlers_of_new},
    {"stale", 1, stale_handles, true},
    {"free", 5, free_one},
    {"disconnect", 3, disconnect_one},
    {"session", 1, session_of_its_own},
    {"threads", 5, threads, true},
};

void count_error(MPI_Comm*, int*, ...) {
  ++world->counted;
}

// Of an episode of long collectives: these, and what grows, most rarely.
int weight_of(const Act& act) {
  const bool may = world->on(act.name) && !(act.alone && world->thread != 0);
  const bool is_often = world->is_long && std::strcmp(act.name, "collectives") == 0;
  return !may ? 0 : is_often ? 15 * act.weight : act.weight;
}

const Act* draw_act() {
  int all = 0;
  for (const Act& act : kActs) all += weight_of(act);
  int left = world->plan.below(all);
  for (const Act& act : kActs) {
    left -= weight_of(act);
    if (left < 0) return &act;
  }
  return nullptr;
}

}  // namespace

void run_steps(int steps) {
  while (++world->step < steps) {
    world->doing = "something left from before";
    world->run_due();
    const Act* act = draw_act();
    begin_act(act->name);
    act->act();
  }
}

// Most communicators are freed, some live on until MPI ends, as users' do.
void free_everything() {
  begin_act("the end");
  world->run_all(nullptr, true);
  while (world->nodes.size() > 1) {
    Node& node = *world->nodes.back();
    const bool stays = world->plan.one_in(8) && world->on("leak");
    if (node.has(world->rank) && !stays) {
      OK(MPI_Comm_free(&node.comm));
      forget_attributes(node);
    }
    world->forget(node);
  }
  close_keys();
}

MPI_Session open_session(MPI_Errhandler handler, bool has_threads) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Session session;
  if (has_threads) {
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE"));
  }
  OK(MPI_Session_init(info, handler, &session));
  if (has_threads) OK(MPI_Info_free(&info));
  return session;
}

namespace {

void close_episode() {
  free_everything();
  void* memory = nullptr;
  int bytes = 0;
  OK(world->is_session ? MPI_Session_detach_buffer(world->session, &memory, &bytes)
                       : MPI_Buffer_detach(&memory, &bytes));
  OK(MPI_Barrier(world->root().comm));
}

struct Process {  // what lives as long as MPI
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Comm root = MPI_COMM_WORLD;
  MPI_Errhandler counting = MPI_ERRHANDLER_NULL;
  std::vector<int> hosts;
  std::vector<char> buffer = std::vector<char>(kBuffer);
  int rank = 0, size = 0;
};

// A communicator that comes from a session uses the session's buffer, and never the process's.
void attach_buffer(Process& process) {
  const int bytes = static_cast<int>(process.buffer.size());
  OK(process.session != MPI_SESSION_NULL
         ? MPI_Session_attach_buffer(process.session, process.buffer.data(), bytes)
         : MPI_Buffer_attach(process.buffer.data(), bytes));
}

void run_episode(const Options& options, std::uint64_t seed, Process& process) {
  World own(seed, options.features);
  world = &own;
  own.trace = options.trace;
  own.rank = process.rank;
  own.size = process.size;
  own.hosts = process.hosts;
  own.counting = process.counting;
  own.is_session = options.sessions;
  own.session = process.session;
  own.has_threads = options.threads;
  own.is_long = own.on("long") && Random(mix(seed, 0)).one_in(3);
  own.plan = Random(mix(seed, 1));
  own.mine = Random(mix(seed, static_cast<std::uint64_t>(process.rank) + 2));
  Ranks all;
  for (int i = 0; i < process.size; ++i) all.push_back(i);
  own.add(all, {}, process.root, Handler::fatal).is_root = true;
  open_keys();
  attach_buffer(process);
  run_steps(own.plan.between(10, 80));
  close_episode();
  world = nullptr;
}

// Everybody sends to one, by ways that are not waited for, and leaves.
void send_and_leave(World& own, Process& process, int to, std::uint64_t seed) {
  const int words = Random(seed).between(1, 500000);
  auto* const out = new Data(words, Data::words);  // must live until MPI has ended
  out->fill(mix(own.seed, static_cast<std::uint64_t>(own.rank)));
  const int way = Random(seed + 1).below(3);
  if (way == 0) {
    MPI_Request request;
    OK(MPI_Isend(out->memory.data(), words, MPI_UINT32_T, to, 9, process.root, &request));
    OK(MPI_Request_free(&request));
    return;
  }
  if (way == 1)
    OK(MPI_Comm_attach_buffer(process.root, MPI_BUFFER_AUTOMATIC, 0));
  else
    attach_buffer(process);
  OK(MPI_Bsend(out->memory.data(), words, MPI_UINT32_T, to, 9, process.root));
  out->spoil();
}

// What is handed over when MPI ends is delivered, though its receiver looks when all others left.
void last_words(const Options& options, Process& process) {
  World own(mix(options.seed, 99), options.features);
  world = &own;
  own.rank = process.rank;
  own.size = process.size;
  own.doing = "last words";
  const int late = Random(options.seed + 2).below(own.size);
  const bool says = own.size > 1 && own.on("last_words");
  OK(MPI_Errhandler_free(&process.counting));
  if (says && own.rank != late) send_and_leave(own, process, late, options.seed);
  if (says && own.rank == late) {
    ::usleep(300000);
    const int words = Random(options.seed).between(1, 500000);
    for (int from = 0; from < own.size; ++from) {
      if (from == late) continue;
      Data in(words, Data::words);
      OK(MPI_Recv(in.memory.data(), words, MPI_UINT32_T, from, 9, process.root, MPI_STATUS_IGNORE));
      RIGHT(in.holds(mix(own.seed, static_cast<std::uint64_t>(from)), words));
    }
  }
  if (options.sessions) {
    OK(MPI_Comm_free(&process.root));
    OK(MPI_Session_finalize(&process.session));
  } else {
    OK(MPI_Finalize());
  }
}

void open_process(const Options& options, Process& process) {
  if (options.sessions) {
    MPI_Group group;
    process.session = open_session(MPI_ERRORS_ARE_FATAL, options.threads);
    OK(MPI_Group_from_session_pset(process.session, "mpi://WORLD", &group));
    OK(MPI_Comm_create_from_group(group, "random", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                                  &process.root));
    OK(MPI_Group_free(&group));
  } else {
    const int wanted = options.threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    int provided = MPI_THREAD_SINGLE;
    OK(MPI_Init_thread(nullptr, nullptr, wanted, &provided));
    RIGHT(provided >= wanted);
  }
  OK(MPI_Comm_rank(process.root, &process.rank));
  OK(MPI_Comm_size(process.root, &process.size));
  OK(MPI_Comm_create_errhandler(count_error, &process.counting));
  MPI_Comm host;
  OK(MPI_Comm_split_type(process.root, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
  int lowest = process.rank;
  OK(MPI_Bcast(&lowest, 1, MPI_INT, 0, host));
  OK(MPI_Comm_free(&host));
  process.hosts.resize(as_size(process.size));
  OK(MPI_Allgather(&lowest, 1, MPI_INT, process.hosts.data(), 1, MPI_INT, process.root));
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--sessions") options.sessions = true;
    if (word == "--threads") options.threads = true;
    if (word == "--trace") options.trace = true;
    if (word == "--seed") options.seed = std::strtoull(value, nullptr, 10);
    if (word == "--seconds") options.seconds = std::strtod(value, nullptr);
    if (word == "--episodes") options.episodes = std::atoi(value);
    if (word == "--features") options.features = value;
  }
  return options;
}

}  // namespace
}  // namespace program

int main(int argc, char** argv) {
  using namespace program;  // NOLINT(google-build-using-namespace): a program of this namespace
  const Options options = parse(argc, argv);
  Process process;
  World first(options.seed, options.features);
  world = &first;
  first.doing = "the start";
  open_process(options, process);
  const auto started = std::chrono::steady_clock::now();
  std::uint64_t seed = options.seed;
  for (int done = 1, more = 1; more != 0; ++done, seed = mix(seed, 7)) {
    run_episode(options, seed, process);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
    more = options.seconds > 0 ? took.count() < options.seconds : done < options.episodes;
    world = &first;
    OK(MPI_Bcast(&more, 1, MPI_INT, 0, process.root));
    if (more == 0 && process.rank == 0) std::printf("%d episodes\n", done);
  }
  last_words(options, process);
  return 0;
}
