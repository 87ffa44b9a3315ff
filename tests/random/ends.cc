// How communicators end: freed with operations under way, disconnected with messages in flight.
#include <unistd.h>

#include "random.h"

namespace program {

void free_one() {
  Node* node = world->pick([](const Node& one) { return !one.is_root; });
  const bool with_pending = world->plan.one_in(2);
  if (node == nullptr) return;
  world->run_all(node, !with_pending);
  if (node->has(world->rank)) {
    OK(MPI_Comm_free(&node->comm));
    RIGHT(node->comm == MPI_COMM_NULL);
    forget_attributes(*node);
  }
  world->forget(*node);
}

// Above all tags of exchange(): who comes early must not be taken for one of its messages, which
// may be received from any source.
constexpr int kLast = 31998;

// Freed sends are delivered before MPI_Comm_disconnect returns: their memory may be used again.
void disconnect_one() {
  Node* node = world->pick([](const Node& one) { return !one.is_root; });
  const int words = world->plan.one_in(2) ? 300000 : 1 + random_count(world->plan);
  const bool buffers = world->plan.one_in(3);
  const std::uint64_t id = world->id();
  if (node == nullptr) return;
  world->run_all(node, true);
  world->forget(*node);
  const int me = world->rank;
  if (!node->has(me)) return;
  std::vector<std::unique_ptr<Data>> sent;
  const Ranks& peers = node->remote(me);
  const int from = peers[as_size(node->index(me) + 1) % peers.size()];
  for (const int to : peers) {
    // Each sends to those who take from it: i takes from i + 1, modulo.
    const Ranks& back = node->remote(to);
    if (back[as_size(node->index(to) + 1) % back.size()] != me) continue;
    sent.push_back(std::make_unique<Data>(words, Data::words));
    sent.back()->fill(mix(id, static_cast<std::uint64_t>(me)));
    MPI_Request request;
    const void* const data = sent.back()->memory.data();
    if (buffers && world->fits_in_buffer(as_size(words) * 4)) {
      OK(MPI_Bsend(data, words, MPI_UINT32_T, node->index(to), kLast, node->comm));
      continue;
    }
    OK(MPI_Isend(data, words, MPI_UINT32_T, node->index(to), kLast, node->comm, &request));
    OK(MPI_Request_free(&request));
  }
  if (world->on("late") && world->is_mean(3)) ::usleep(2000);
  Data data(words, Data::words);
  MPI_Request request;
  OK(MPI_Irecv(data.memory.data(), words, MPI_UINT32_T, node->index(from), kLast, node->comm,
               &request));
  const bool late = world->is_mean(2);
  if (!late) wait_for(request);
  if (late) OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Comm_disconnect(&node->comm));
  RIGHT(node->comm == MPI_COMM_NULL);
  for (auto& one : sent) one->spoil();
  RIGHT(data.holds(mix(id, static_cast<std::uint64_t>(from)), words));
  forget_attributes(*node);
}

// A session beside the others: its communicator ends with messages under way, then it does.
void session_of_its_own() {
  const std::string name = "random/" + std::to_string(world->id());
  const std::uint64_t id = world->id();
  const int words = 1 + random_count(world->plan) % 100000;
  const bool self = world->plan.one_in(4);
  const bool buffers = world->is_mean(2);
  MPI_Group group;
  MPI_Comm comm;
  MPI_Session session = open_session(MPI_ERRORS_RETURN, world->has_threads);
  OK(MPI_Group_from_session_pset(session, self ? "mpi://SELF" : "mpi://WORLD", &group));
  OK(MPI_Comm_create_from_group(group, name.c_str(), MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
  OK(MPI_Group_free(&group));
  int size = 0, rank = 0;
  OK(MPI_Comm_size(comm, &size));
  OK(MPI_Comm_rank(comm, &rank));
  RIGHT(self ? size == 1 : size == world->size && rank == world->rank);
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  auto out = std::make_shared<Data>(words, Data::words);
  Data in(words, Data::words);
  out->fill(mix(id, static_cast<std::uint64_t>(self ? 0 : rank)));
  MPI_Request request;
  if (buffers) {
    OK(MPI_Session_attach_buffer(session, MPI_BUFFER_AUTOMATIC, 0));
    OK(MPI_Bsend(out->memory.data(), words, MPI_UINT32_T, to, 1, comm));
    out->spoil();
  } else {
    OK(MPI_Isend(out->memory.data(), words, MPI_UINT32_T, to, 1, comm, &request));
    OK(MPI_Request_free(&request));
    world->kept.push_back(out);
  }
  world->dawdle();
  OK(MPI_Recv(in.memory.data(), words, MPI_UINT32_T, from, 1, comm, MPI_STATUS_IGNORE));
  RIGHT(in.holds(mix(id, static_cast<std::uint64_t>(self ? 0 : from)), words));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Session_finalize(&session));
}

}  // namespace program
