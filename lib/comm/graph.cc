// Distributed graphs (MPI 5.0, 8.5.4): edges brought to the ranks they touch.
#include <algorithm>
#include <set>

#include "comm/agree.h"
#include "types/handles.h"

namespace tutti::comm {
namespace {

// Everyone's numbers to whom they are for: parts[r] goes to rank r, in the answer come from r.
using Parts = std::vector<std::vector<std::int32_t>>;

Code trade(Communicator& comm, const Parts& out, Parts& in) {
  const auto size = static_cast<std::size_t>(comm.size());
  const types::Datatype* const number = types::predefined_type(types::abi::kInt64);
  const types::Datatype* const word = types::predefined_type(types::abi::kInt32);
  CollCall call;
  call.purpose = watch::Purpose::makes_comm;
  std::vector<Count> sent, received(size), at(size, 0), from(size, 0);
  std::vector<std::int32_t> flat;
  for (const auto& part : out) {
    sent.push_back(static_cast<Count>(part.size()));
    flat.insert(flat.end(), part.begin(), part.end());
  }
  call.collective = coll::Collective::alltoall;
  call.send = sent.data();
  call.recv = received.data();
  call.send_count = call.recv_count = 1;
  call.send_type = call.recv_type = number;
  if (const Code code = run(comm, call); code != Code::ok) return code;
  for (std::size_t r = 1; r < size; ++r) {
    at[r] = at[r - 1] + sent[r - 1];
    from[r] = from[r - 1] + received[r - 1];
  }
  std::vector<std::int32_t> got(static_cast<std::size_t>(from.back() + received.back()));
  call.collective = coll::Collective::alltoallv;
  call.send = flat.data();
  call.recv = got.data();
  call.send_type = call.recv_type = word;
  call.send_counts = sent;
  call.send_displs = at;
  call.recv_counts = received;
  call.recv_displs = from;
  if (const Code code = run(comm, call); code != Code::ok) return code;
  in.clear();
  for (std::size_t r = 0; r < size; ++r)
    in.emplace_back(got.begin() + from[r], got.begin() + from[r] + received[r]);
  return Code::ok;
}

std::vector<std::int32_t> to_words(const Topology& mine) {
  std::vector<std::int32_t> words{mine.weighted, static_cast<std::int32_t>(mine.sources.size()),
                                  static_cast<std::int32_t>(mine.destinations.size())};
  for (const auto* list : {&mine.sources, &mine.destinations}) {
    const auto& weights = list == &mine.sources ? mine.source_weights : mine.destination_weights;
    words.insert(words.end(), list->begin(), list->end());
    for (std::size_t i = 0; i < list->size(); ++i) words.push_back(mine.weighted ? weights[i] : 1);
  }
  return words;
}

Topology from_words(const std::vector<std::int32_t>& words) {
  Topology made;
  made.shape = Topology::Shape::adjacent;
  made.weighted = words[0] != 0;
  auto next = words.begin() + 3;
  const auto take = [&next](std::vector<int>& list, std::int32_t count) {
    list.assign(next, next + count);
    next += count;
  };
  take(made.sources, words[1]);
  take(made.source_weights, words[1]);
  take(made.destinations, words[2]);
  take(made.destination_weights, words[2]);
  return made;
}

Result<CommRef> with_order(Communicator& comm, std::span<const int> order, Topology topology) {
  return create_ordered(comm, order, std::make_shared<const Topology>(std::move(topology)));
}

// Node r of the graph is what rank r said; it goes to whoever becomes rank r.
Result<CommRef> reordered(Communicator& comm, const Topology& mine) {
  const Parts said(static_cast<std::size_t>(comm.size()), to_words(mine));
  Parts all;
  if (const Code code = trade(comm, said, all); code != Code::ok)
    return fail(code, "members could not exchange their neighbours");
  std::vector<Edge> edges;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const Topology its = from_words(all[static_cast<std::size_t>(rank)]);
    for (std::size_t i = 0; i < its.destinations.size(); ++i)
      edges.push_back({rank, its.destinations[i], its.destination_weights[i]});
  }
  TUTTI_TRY(order, near_order(comm, edges, comm.size()));
  const auto me = std::find(order.begin(), order.end(), comm.rank()) - order.begin();
  return with_order(comm, order, from_words(all[static_cast<std::size_t>(me)]));
}

}  // namespace

Result<CommRef> create_adjacent(Communicator& comm, Topology mine, bool reorder) {
  if (reorder && comm.size() > 1) return reordered(comm, mine);
  std::vector<int> order(static_cast<std::size_t>(comm.size()));
  for (std::size_t rank = 0; rank < order.size(); ++rank) order[rank] = static_cast<int>(rank);
  return with_order(comm, order, std::move(mine));
}

Result<CommRef> create_graph(Communicator& comm, std::span<const Edge> edges, bool weighted,
                             bool reorder) {
  Parts out(static_cast<std::size_t>(comm.size())), in;
  for (const Edge& edge : edges)
    for (const int end : std::set{edge.from, edge.to}) {
      auto& part = out[static_cast<std::size_t>(end)];
      part.insert(part.end(), {edge.from, edge.to, edge.weight});
    }
  if (const Code code = trade(comm, out, in); code != Code::ok)
    return fail(code, "members could not exchange the edges of their graph");
  Topology mine;
  mine.shape = Topology::Shape::adjacent;
  mine.weighted = weighted;
  for (const auto& part : in)
    for (std::size_t i = 0; i + 2 < part.size(); i += 3) {
      if (part[i] == comm.rank()) {
        mine.destinations.push_back(part[i + 1]);
        mine.destination_weights.push_back(part[i + 2]);
      }
      if (part[i + 1] == comm.rank()) {
        mine.sources.push_back(part[i]);
        mine.source_weights.push_back(part[i + 2]);
      }
    }
  return create_adjacent(comm, std::move(mine), reorder);
}

}  // namespace tutti::comm
