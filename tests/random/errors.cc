// Deliberate errors under handlers that return: the right class, the right handler, and life goes
// on.
#include "job.h"

namespace program {
namespace {

// A communicator of the same members for errors only; its handler returns or counts.
struct Apart {
  MPI_Comm comm = MPI_COMM_NULL;
  bool counts;
  Apart(const Node& node, bool is_counting) : counts(is_counting) {
    OK(MPI_Comm_dup(node.comm, &comm));
    OK(MPI_Comm_set_errhandler(comm, counts ? world->counting : MPI_ERRORS_RETURN));
    world->counted = 0;
  }
  ~Apart() {
    if (comm != MPI_COMM_NULL) OK(MPI_Comm_free(&comm));
  }
  Apart(const Apart&) = delete;
  Apart& operator=(const Apart&) = delete;
  void expect(int code, int wanted) {
    if (class_of(code) != wanted)
      fail(__FILE__, __LINE__,
           "class " + std::to_string(class_of(code)) + ", not " + std::to_string(wanted));
    RIGHT(world->counted == (counts ? 1 : 0));
    world->counted = 0;
  }
};

void local_errors(Apart& apart, const Node& node) {
  const int beyond = static_cast<int>(node.remote(world->rank).size()) + 3;
  int place = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  const MPI_Comm comm = apart.comm;
  apart.expect(MPI_Send(&place, 1, MPI_INT, beyond, 0, comm), MPI_ERR_RANK);
  apart.expect(MPI_Isend(&place, 1, MPI_INT, 0, -7, comm, &request), MPI_ERR_TAG);
  apart.expect(MPI_Recv(&place, -1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
  apart.expect(MPI_Irecv(&place, 1, MPI_DATATYPE_NULL, 0, 0, comm, &request), MPI_ERR_TYPE);
  apart.expect(MPI_Bcast(&place, 1, MPI_INT, -77, comm), MPI_ERR_ROOT);
  apart.expect(MPI_Allreduce(&place, &place + 1, 1, MPI_INT, MPI_OP_NULL, comm), MPI_ERR_OP);
}

// More arrives than the receive takes; the next message is received as if nothing had been.
void truncation(Apart& apart, const Node& node, std::uint64_t id, int words) {
  const int me = world->rank;
  const int from = node.a.front();
  const int to = node.remote(from).back();
  if (me == from) {
    for (int i = 0; i < 2; ++i) {
      Data data(words, Data::words);
      data.fill(mix(id, static_cast<std::uint64_t>(i)));
      MPI_Request request;
      OK(MPI_Isend(data.memory.data(), words, MPI_UINT32_T, node.index(to), 5, apart.comm,
                   &request));
      if (me != to) OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      if (me != to) continue;
      world->kept.push_back(std::make_shared<std::vector<std::uint32_t>>(std::move(data.memory)));
      OK(MPI_Request_free(&request));
    }
  }
  if (me != to) return;
  Data small(words / 2, Data::words), whole(words, Data::words);
  apart.expect(MPI_Recv(small.memory.data(), words / 2, MPI_UINT32_T, node.index(from), 5,
                        apart.comm, MPI_STATUS_IGNORE),
               MPI_ERR_TRUNCATE);
  RIGHT(small.memory.back() == 0xA5A5A5A5U);
  OK(MPI_Recv(whole.memory.data(), words, MPI_UINT32_T, node.index(from), 5, apart.comm,
              MPI_STATUS_IGNORE));
  RIGHT(whole.holds(mix(id, 1), words));
}

}  // namespace

void deliberate_errors() {
  Node* node = world->pick([](const Node&) { return true; });
  const bool counts = world->plan.one_in(2);
  const bool cuts = world->plan.one_in(2);
  const int words = 2 + random_count(world->plan) % 60000;
  const std::uint64_t id = world->id();
  if (!node->has(world->rank)) return;
  Apart apart(*node, counts);
  local_errors(apart, *node);
  if (cuts) truncation(apart, *node, id, words);
  OK(MPI_Barrier(apart.comm));
}

// The communicator is freed while its receive is pending; the handler it had still decides.
void freed_with_receive() {
  Node* node = world->pick([](const Node&) { return true; });
  const bool counts = world->plan.one_in(2);
  const int words = 2 + random_count(world->plan) % 60000;
  const bool cuts = world->plan.one_in(2);
  const std::uint64_t id = world->id();
  if (!node->has(world->rank)) return;
  Apart apart(*node, counts);
  const int from = node->a.front();
  const int to = node->remote(from).back();
  Data in(words, Data::words), out(words, Data::words);
  const int room = cuts ? words / 2 : words;
  std::vector<MPI_Request> requests(2, MPI_REQUEST_NULL);
  if (world->rank == to)
    OK(MPI_Irecv(in.memory.data(), room, MPI_UINT32_T, node->index(from), 5, apart.comm,
                 &requests[0]));
  world->dawdle();
  if (world->rank == from) {
    out.fill(id);
    OK(MPI_Isend(out.memory.data(), words, MPI_UINT32_T, node->index(to), 5, apart.comm,
                 &requests[1]));
  }
  OK(MPI_Comm_free(&apart.comm));
  if (world->rank == to) {
    if (cuts) apart.expect(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    if (!cuts) RIGHT(in.holds(id, words));
  }
  OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
}

// Communicators made from groups have the handler they were given, from the first error on.
void handlers_of_new() {
  const auto handler = world->plan.one_in(2) ? Handler::returns : Handler::counts;
  const std::string name = "random/" + std::to_string(world->id());
  const int me = world->rank;
  MPI_Group group = group_of(world->root().a);
  MPI_Comm made = MPI_COMM_NULL;
  OK(MPI_Comm_create_from_group(group, name.c_str(), MPI_INFO_NULL, handle_of(handler), &made));
  OK(MPI_Group_free(&group));
  world->counted = 0;
  RIGHT(class_of(MPI_Send(&group, 1, MPI_BYTE, world->size + me, 0, made)) == MPI_ERR_RANK);
  RIGHT(world->counted == (handler == Handler::counts ? 1 : 0));
  OK(MPI_Comm_free(&made));
  // What goes wrong while it is made is told to that handler as well.
  world->counted = 0;
  const int code = MPI_Comm_create_from_group(MPI_GROUP_NULL, name.c_str(), MPI_INFO_NULL,
                                              handle_of(handler), &made);
  RIGHT(class_of(code) == MPI_ERR_GROUP);
  RIGHT(world->counted == (handler == Handler::counts ? 1 : 0));
}

// Errors of calls without a communicator go to MPI_COMM_SELF's handler, in a session too, where
// MPI_Finalize is one of them.
void errors_elsewhere() {
  const bool counts = world->is_mean(2);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, counts ? world->counting : MPI_ERRORS_RETURN));
  for (int n = world->mine.between(1, 4); n > 0; --n) {
    int size = 0, wanted = MPI_SUCCESS, code = MPI_SUCCESS;
    world->counted = 0;
    switch (world->mine.below(world->is_session ? 5 : 4)) {
      case 0:
        wanted = MPI_ERR_TYPE;
        code = MPI_Type_size(MPI_DATATYPE_NULL, &size);
        break;
      case 1:
        wanted = MPI_ERR_GROUP;
        code = MPI_Group_size(MPI_GROUP_NULL, &size);
        break;
      case 2:
        wanted = MPI_ERR_COMM;
        code = MPI_Comm_size(MPI_COMM_NULL, &size);
        break;
      case 3:
        wanted = MPI_ERR_OP;
        code = MPI_Op_commutative(MPI_OP_NULL, &size);
        break;
      default:
        wanted = MPI_ERR_OTHER;
        code = MPI_Finalize();
    }
    RIGHT(class_of(code) == wanted);
    RIGHT(world->counted == (counts ? 1 : 0));
  }
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

// A freed handle in another call: an error of its class.
void stale_handles() {
  Node* node = world->pick([](const Node&) { return true; });
  const int which = world->plan.below(3);
  if (!node->has(world->rank) || world->is_session) return;
  MPI_Errhandler before, before_self;
  OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before));
  OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &before_self));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MPI_Comm made;
  OK(MPI_Comm_dup(node->comm, &made));
  const MPI_Comm stale = made;
  OK(MPI_Comm_free(&made));
  int size = 0;
  if (which == 0) RIGHT(class_of(MPI_Comm_size(stale, &size)) == MPI_ERR_COMM);
  if (which == 1) RIGHT(class_of(MPI_Barrier(stale)) == MPI_ERR_COMM);
  MPI_Datatype type, gone;
  OK(MPI_Type_contiguous(3, MPI_INT, &type));
  gone = type;
  OK(MPI_Type_free(&type));
  if (which == 2) RIGHT(class_of(MPI_Type_size(gone, &size)) == MPI_ERR_TYPE);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, before));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, before_self));
  OK(MPI_Errhandler_free(&before));
  OK(MPI_Errhandler_free(&before_self));
}

}  // namespace program
