// A random program over communicators: what its parts share.
//
// Every rank draws the same decisions from the same seed (`plan`), so each knows what all others
// do: which communicators there are, who sends what to whom, and what every result must be. It then
// does its own part. An act draws all its decisions before it looks at which rank it is; what may
// differ from rank to rank (delays, garbage, how to wait) comes from `mine`.
//
// Every act ends, given that all acts before it do: whatever waits, waits for something that its
// partner does in the same act or in an earlier one. Nonblocking things end at a later step.
//
// A thread that runs beside others (threads.cc) has a world of its own: a plan, a root that is a
// copy of the first one's, and what grows from it. So threads share no state but MPI's.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace program {

using Ranks = std::vector<int>;

class Random {
 public:
  explicit Random(std::uint64_t seed = 0) : state_(seed) {}
  std::uint64_t next() {  // splitmix64
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  int below(int limit) { return static_cast<int>(next() % static_cast<std::uint64_t>(limit)); }
  bool one_in(int n) { return below(n) == 0; }
  int between(int low, int high) { return low + below(high - low + 1); }

 private:
  std::uint64_t state_;
};

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return Random(a * 0x100000001B3ULL + b).next();
}
// Word `at` of what `id` stands for: a message, or a rank's part of a collective.
inline std::uint32_t word(std::uint64_t id, std::size_t at) {
  return static_cast<std::uint32_t>((id + at) * 2654435761U + (id >> 7));
}
inline std::size_t as_size(int n) {
  return static_cast<std::size_t>(n);
}

constexpr std::size_t kBuffer = 16U << 20;  // for buffered sends

enum class Handler { fatal, returns, counts };

// A communicator that the plan knows. `comm` is this rank's handle, where it is a member.
struct Node {
  int id = 0;
  bool is_inter = false;
  bool is_root = false;  // never freed
  Ranks a, b;            // members as ranks of the job; b: an intercommunicator's other side
  MPI_Comm comm = MPI_COMM_NULL;
  Handler handler = Handler::fatal;
  int quiet_from = 0;  // from this step on every message sent on it is received

  bool has(int rank) const;
  const Ranks& local(int rank) const;   // the side this rank is on
  const Ranks& remote(int rank) const;  // the ranks that its messages go to
  int index(int rank) const;            // within local()
  int members() const { return static_cast<int>(a.size() + b.size()); }
};

// Something this rank does at a later step. What needs the communicator is done before it is freed.
struct Event {
  int due = 0;
  Node* node = nullptr;
  bool needs_comm = false;
  std::function<void()> act;
};

class World {
 public:
  World(std::uint64_t from, const std::string& features)
      : seed(from), episode(from), features_(features) {}
  World(std::uint64_t from, const World& whole, int which);  // of a thread

  bool on(const char* feature) const;
  Node& add(Ranks a, Ranks b, MPI_Comm comm, Handler handler);
  Node* pick(const std::function<bool(const Node&)>& good);
  Node* pick_intra(int at_least = 1);
  void later(Node* node, bool needs_comm, std::function<void()> act, int steps);
  void run_due();
  void run_all(const Node* node, bool completions);  // what still needs this node; nullptr: all
  void forget(Node& node);                           // freed: not to be used by the plan
  void dawdle();                                     // early and late ranks
  bool fits_in_buffer(std::size_t bytes);            // of MPI_Buffer_attach: then it counts as used
  bool is_mean(int n) { return mine.one_in(n); }
  std::uint64_t id() { return mix(seed, static_cast<std::uint64_t>(++ids_)); }
  int tag() { return ids_ % 30000; }
  bool quiet(const Node& node) const { return node.quiet_from < step; }
  Node& root() { return *nodes.front(); }

  std::uint64_t seed;
  std::uint64_t episode;  // the seed that repeats it
  int rank = 0, size = 1;
  int thread = 0;  // 0: the only one, or the one that the others belong to
  int step = 0;
  Random plan, mine;
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<std::shared_ptr<void>> kept;  // buffers that must live until everyone is done
  std::vector<int> hosts;                   // of each rank: the lowest rank that shares its memory
  bool is_session = false;                  // there is no MPI_COMM_WORLD
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Errhandler counting = MPI_ERRHANDLER_NULL;
  int counted = 0;           // errors that went to it
  std::size_t buffered = 0;  // bytes that this rank, or thread, gave to the attached buffer
  std::size_t may_buffer = kBuffer / 2;
  bool has_threads = false;  // MPI lets several call at once
  bool is_long = false;      // an episode of few communicators and long collectives
  std::string doing;
  bool trace = false;

 private:
  void run(const std::function<bool(const Event&)>& chosen);

  std::string features_;
  std::vector<Event> events_;
  std::vector<std::unique_ptr<Node>> freed_;
  int ids_ = 0;
};

inline thread_local World* world = nullptr;  // this thread's program

[[noreturn]] void fail(const char* file, int line, const std::string& what);
void begin_act(const char* name);
void must(int code, const char* file, int line, const char* call);
int class_of(int code);

// --- messages.cc: contents, and ways to wait --------------------------------------------------
struct Data {
  enum Layout { words, pairs, spread, bytes };
  Data(int count, Layout layout);
  ~Data();
  Data(const Data&) = delete;
  Data& operator=(const Data&) = delete;
  void fill(std::uint64_t id);
  void spoil();
  void drop_type();  // legal as soon as an operation with it has begun
  bool holds(std::uint64_t id, int count) const;

  int count;  // of type
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::vector<std::uint32_t> memory;
  std::size_t stride = 1;
  bool is_derived = false;
};
int random_count(Random& random);
void wait_for(MPI_Request& request, MPI_Status* status = MPI_STATUS_IGNORE);
void wait_for_all(std::vector<MPI_Request>& requests);

// --- grow.cc: a communicator that was made is what the plan says, and joins it
// --------------------
Node& adopt(Ranks a, Ranks b, MPI_Comm comm, Handler handler);
void look_at(const Node& node);
void set_handler(Node& node, Handler handler);
MPI_Errhandler handle_of(Handler handler);
bool is_big_enough();  // enough communicators: nothing is made now
Ranks shuffled(Ranks ranks);
Ranks subset(const Ranks& ranks, int at_least);
MPI_Group group_of(const Ranks& ranks);                                  // of ranks of the job
MPI_Comm local_comm(const Node& parent, const Ranks& members, int tag);  // by its members only

// --- main.cc ----------------------------------------------------------------------------------
void run_steps(int steps);
void free_everything();  // but the root, and some that live on until MPI ends
MPI_Session open_session(MPI_Errhandler handler, bool has_threads);

// --- acts -------------------------------------------------------------------------------------
void exchange();
void burst();
void probe_and_cancel();
void persistent_messages();
void partitioned_messages();

void collective();
void collectives_in_a_row();
void neighbours();

void duplicate();
void split();
void split_by_type();
void create_from_subset();
void create_from_groups();
void topology();

void make_halves();
void make_two_at_once();
void merge();
void make_inter_from_groups();
void split_inter();

void set_attributes();
void look_at_attributes();
void copied_attributes(const Node& from, Node& made);
void taken_attributes(Node& made);
void forget_attributes(const Node& node);
void mean_attributes();
void open_keys();
void close_keys();

void deliberate_errors();
void freed_with_receive();
void handlers_of_new();
void errors_elsewhere();
void stale_handles();

void free_one();
void disconnect_one();
void session_of_its_own();

void threads();

}  // namespace program

#define OK(call) ::program::must((call), __FILE__, __LINE__, #call)
#define RIGHT(condition) \
  ((condition) ? void() : ::program::fail(__FILE__, __LINE__, "not true: " #condition))
