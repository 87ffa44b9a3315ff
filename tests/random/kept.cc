// Messages in order under one tag; probes and cancelled receives; persistent and partitioned ones.
#include <algorithm>

#include "random.h"

namespace program {
namespace {

struct Pair {
  int from, to;
};

Pair draw_pair(const Node& node) {
  Random& plan = world->plan;
  const bool from_b = node.is_inter && plan.one_in(2);
  const Ranks& side = from_b ? node.b : node.a;
  Pair pair{};
  pair.from = side[as_size(plan.below(static_cast<int>(side.size())))];
  const Ranks& other = node.remote(pair.from);
  pair.to = other[as_size(plan.below(static_cast<int>(other.size())))];
  return pair;
}

Node* any() {
  return world->pick([](const Node&) { return true; });
}

}  // namespace

// Several messages of one sender under one tag arrive in order, whatever their sizes.
void burst() {
  Node* node = any();
  const Pair pair = draw_pair(*node);
  const std::uint64_t id = world->id();
  const int tag = world->tag();
  std::vector<int> counts(as_size(world->plan.between(2, 30)));
  for (int& count : counts) count = std::min(random_count(world->plan), 60000);
  const bool any_tag = world->plan.one_in(2) && world->quiet(*node);
  const int me = world->rank;
  std::vector<MPI_Request> requests;
  std::vector<std::unique_ptr<Data>> sent;
  if (me == pair.from) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      sent.push_back(std::make_unique<Data>(counts[i], Data::words));
      sent.back()->fill(mix(id, i));
      requests.emplace_back();
      OK(MPI_Isend(sent.back()->memory.data(), counts[i], MPI_UINT32_T, node->index(pair.to), tag,
                   node->comm, &requests.back()));
    }
  }
  if (me == pair.to) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      Data data(counts[i], Data::words);
      MPI_Status status;
      OK(MPI_Recv(data.memory.data(), counts[i], MPI_UINT32_T, node->index(pair.from),
                  any_tag ? MPI_ANY_TAG : tag, node->comm, &status));
      RIGHT(status.MPI_TAG == tag);
      RIGHT(data.holds(mix(id, i), counts[i]));
    }
  }
  wait_for_all(requests);
}

// A receive that nobody answers is cancelled; nothing is found where nothing was sent.
void probe_and_cancel() {
  Node* node = any();
  const Pair pair = draw_pair(*node);
  if (world->rank != pair.to) return;
  std::uint32_t place = 7;
  MPI_Request request;
  MPI_Status status;
  int flag = 0;
  OK(MPI_Iprobe(node->index(pair.from), 31999, node->comm, &flag, MPI_STATUS_IGNORE));
  RIGHT(flag == 0);
  OK(MPI_Irecv(&place, 1, MPI_UINT32_T, world->is_mean(2) ? MPI_ANY_SOURCE : node->index(pair.from),
               31999, node->comm, &request));
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &flag));
  RIGHT(flag != 0 && place == 7);
}

namespace {

struct Kept {
  Pair pair;
  std::uint64_t id;
  int tag, words, mode;
};

using Init = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
constexpr Init kInits[] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init};

// One round of persistent requests: all started, in one call or one by one, and all ended.
void run_round(std::vector<MPI_Request>& requests) {
  if (world->is_mean(2))
    OK(MPI_Startall(static_cast<int>(requests.size()), requests.data()));
  else
    for (MPI_Request& request : requests) OK(MPI_Start(&request));
  const std::vector<MPI_Request> copies = requests;
  for (MPI_Request& request : requests) wait_for(request);
  RIGHT(requests == copies);
}

}  // namespace

void persistent_messages() {
  Node* node = any();
  std::vector<Kept> all;
  for (int n = world->plan.between(1, 5); n > 0; --n) {
    Kept one{draw_pair(*node), world->id(), world->tag(), 0, world->plan.below(3)};
    one.words = std::min(random_count(world->plan), 40000);
    all.push_back(one);
  }
  const int rounds = world->plan.between(1, 4);
  const int me = world->rank;
  if (!node->has(me)) return;
  std::vector<MPI_Request> requests;
  std::vector<std::unique_ptr<Data>> in, out;
  for (const Kept& one : all) {
    in.push_back(std::make_unique<Data>(one.words, Data::words));
    out.push_back(std::make_unique<Data>(one.words, Data::words));
    if (me == one.pair.to) {
      requests.emplace_back();
      OK(MPI_Recv_init(in.back()->memory.data(), one.words, MPI_UINT32_T,
                       node->index(one.pair.from), one.tag, node->comm, &requests.back()));
    }
    if (me == one.pair.from) {
      requests.emplace_back();
      const std::size_t bytes = as_size(one.words * rounds) * 4;
      const int mode = one.mode == 2 && !world->fits_in_buffer(bytes) ? 0 : one.mode;
      OK(kInits[mode](out.back()->memory.data(), one.words, MPI_UINT32_T, node->index(one.pair.to),
                      one.tag, node->comm, &requests.back()));
    }
  }
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      out[i]->fill(mix(all[i].id, static_cast<std::uint64_t>(round)));
      std::fill(in[i]->memory.begin(), in[i]->memory.end(), 0xA5A5A5A5U);
    }
    run_round(requests);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (me == all[i].pair.to)
        RIGHT(in[i]->holds(mix(all[i].id, static_cast<std::uint64_t>(round)), all[i].words));
  }
  for (MPI_Request& request : requests) OK(MPI_Request_free(&request));
}

void partitioned_messages() {
  Node* node = any();
  const Pair pair = draw_pair(*node);
  const std::uint64_t id = world->id();
  const int tag = world->tag();
  const int parts = world->plan.between(1, 9);
  const int each = world->plan.between(1, 3000);
  const int rounds = world->plan.between(1, 3);
  const int me = world->rank;
  if (me != pair.from && me != pair.to) return;
  const int whole = parts * each;
  Data out(whole, Data::words), in(whole, Data::words);
  std::vector<MPI_Request> requests(2, MPI_REQUEST_NULL);
  if (me == pair.from)
    OK(MPI_Psend_init(out.memory.data(), parts, each, MPI_UINT32_T, node->index(pair.to), tag,
                      node->comm, MPI_INFO_NULL, &requests[0]));
  if (me == pair.to)
    OK(MPI_Precv_init(in.memory.data(), parts, each, MPI_UINT32_T, node->index(pair.from), tag,
                      node->comm, MPI_INFO_NULL, &requests[1]));
  for (int round = 0; round < rounds; ++round) {
    out.fill(mix(id, static_cast<std::uint64_t>(round)));
    std::fill(in.memory.begin(), in.memory.end(), 0xA5A5A5A5U);
    if (me == pair.to) OK(MPI_Start(&requests[1]));
    if (me == pair.from) {
      OK(MPI_Start(&requests[0]));
      const int first = world->mine.below(parts);
      for (int i = 0; i < parts; ++i) OK(MPI_Pready((first + i) % parts, requests[0]));
    }
    if (me == pair.to) {
      int flag = 0;
      while (flag == 0) OK(MPI_Parrived(requests[1], world->mine.below(parts), &flag));
      OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
      RIGHT(in.holds(mix(id, static_cast<std::uint64_t>(round)), whole));
    }
    if (me == pair.from) OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  }
  for (MPI_Request& request : requests)
    if (request != MPI_REQUEST_NULL) OK(MPI_Request_free(&request));
}

}  // namespace program
