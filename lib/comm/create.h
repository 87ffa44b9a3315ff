// Making communicators (MPI 5.0, 7.4 and 7.6). Part of comm's door.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "comm/group.h"
#include "comm/topology.h"

namespace tutti::comm {

class Communicator;
class Request;
class Runtime;
using CommRef = Ref<Communicator>;

// Collective over `comm`. An empty ref means "not a member" (MPI_COMM_NULL).
Result<CommRef> dup(Communicator& comm);
Result<CommRef> split(Communicator& comm, int color, int key);
Result<CommRef> create(Communicator& comm, const Group& group);  // collective over comm
Result<CommRef> create_group(Communicator& comm, const Group& group, int tag);  // over group
// Over the group, without a parent; concurrent calls differ by the text.
Result<CommRef> create_from_group(Runtime& runtime, const Group& group, std::string_view text);
// Nonblocking: `made` may be used when the request is done.
Result<Request*> start_dup(Communicator& comm, CommRef* made);
// Intercommunicators. Collective over both local groups; the leader's rank in the remote group
// and the communicator or group that names it matter at the local leader only.
struct Bridge {
  int local_leader;
  Communicator* peer_comm;
  int remote_leader;
  int tag;
};
Result<CommRef> create_inter(Communicator& local, const Bridge& bridge);
struct GroupBridge {
  int local_leader;
  const Group* remote;
  int remote_leader;
  std::string_view text;
};
Result<CommRef> create_inter_from_groups(Runtime& runtime, const Group& local,
                                         const GroupBridge& bridge);
Result<CommRef> merge(Communicator& inter, bool high);
// The same ranks with a topology; ranks[i]: rank in `comm` of the new rank i.
Result<CommRef> create_ordered(Communicator& comm, std::span<const int> ranks,
                               std::shared_ptr<const Topology> topology);
// Distributed graphs: every rank its own neighbours, or edges of anyone's. `reorder`: who talks
// much with whom may come to sit nearer.
Result<CommRef> create_adjacent(Communicator& comm, Topology mine, bool reorder);
Result<CommRef> create_graph(Communicator& comm, std::span<const Edge> edges, bool weighted,
                             bool reorder);
// By what each member wants: to be with nobody, with those of its color, with those who share its
// resource of that level (with nobody where it is not bound to one), or of the outermost level at
// which those who want it differ (`found`; empty: there is none).
struct SplitWish {
  enum class By : std::uint8_t { nobody, color, level, inside } by = By::nobody;
  int color = 0;
  std::optional<Level> level{};
};
Result<CommRef> split_by(Communicator& comm, const SplitWish& wish, int key,
                         std::optional<Level>* found = nullptr);

}  // namespace tutti::comm
