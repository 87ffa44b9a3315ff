// Collectives between two groups (MPI 5.0, 6.2.3): bipartite schedules, one for each collective.
//
// Data crosses once. What a group folds, its leader (first member) has; leaders swap, and hand
// on within their group. Blocks go straight from their owner to whom they are for, everybody
// starting at another peer. Ranks are those of both groups together: the first group's, then
// the second's.
#include <numeric>

#include "base/check.h"
#include "coll/emitters.h"

namespace tutti::coll {
namespace {

using sched::Space;

class Between {
 public:
  Between(Builder& builder, const RankCall& call)
      : b_(builder), call_(call), sides_(call), own_(team_of(sides_.own_first, sides_.own)) {}

  void emit() {
    using enum Collective;
    switch (call_.collective) {
      case barrier:
        barrier_dissemination(b_, RankTeam(call_), b_.scratch(1));
        break;
      case bcast:
        return of_bcast();
      case reduce:
        return of_reduce();
      case allreduce:
        return of_allreduce();
      case gather:
      case gatherv:
        return of_gather();
      case scatter:
      case scatterv:
        return of_scatter();
      case allgather:
      case allgatherv:
        return of_allgather();
      case alltoall:
      case alltoallv:
        return of_alltoall();
      case reduce_scatter:
        return of_reduce_scatter();
      default:
        TUTTI_CHECK(false, "no such collective between groups");
    }
  }

 private:
  RankTeam team_of(int first, int size) const {
    std::vector<int> members(static_cast<std::size_t>(size));
    std::iota(members.begin(), members.end(), first);
    return RankTeam(std::move(members), call_.rank - first);
  }
  static Slice in(Count count) { return {Space::in, 0, count}; }
  static Slice out(Count count) { return {Space::out, 0, count}; }
  bool is_root() const { return call_.rank == call_.root; }
  bool is_idle() const { return call_.root < 0; }
  bool is_leader() const { return own_.rank() == 0; }
  Blocks remote_blocks(Space space, std::span<const Count> counts) const {
    return Blocks(Slice{space, 0, sum(counts)}, counts);
  }
  // The k-th of the other group to turn to, as an index in it; everybody starts elsewhere.
  int turn(int k) const { return (own_.rank() + k) % sides_.other; }
  int remote(int index) const { return sides_.other_first + index; }

  void fold_own(Slice data) {
    if (call_.commutative)
      reduce_binomial(b_, own_, 0, data);
    else
      reduce_in_order(b_, own_, 0, data);
  }

  void of_bcast() {
    if (is_idle()) return;
    // The root, then everybody of the other group.
    const int first = is_root() ? sides_.other_first : sides_.own_first;
    const int size = is_root() ? sides_.other : sides_.own;
    std::vector<int> members{call_.root};
    for (int i = 0; i < size; ++i) members.push_back(first + i);
    bcast_binomial(b_, RankTeam(std::move(members), is_root() ? 0 : own_.rank() + 1), 0,
                   out(call_.count));
  }

  void of_reduce() {
    if (is_idle()) return;
    if (is_root()) return b_.recv(out(call_.count), sides_.other_first);
    const Slice data = b_.scratch(call_.count);
    b_.copy(in(call_.count), data);
    fold_own(data);
    if (is_leader()) b_.send(data, call_.root);
  }

  void of_allreduce() {
    const Slice data = b_.scratch(call_.count);
    b_.copy(in(call_.count), data);
    fold_own(data);
    swap(data, out(call_.count));
    bcast_binomial(b_, own_, 0, out(call_.count));
  }

  // Between the leaders.
  void swap(Slice mine, Slice theirs) {
    if (!is_leader()) return;
    b_.send(mine, sides_.other_first);
    b_.recv(theirs, sides_.other_first);
  }

  void of_gather() {
    if (is_idle()) return;
    if (!is_root()) return b_.send(in(call_.count), call_.root);
    const Blocks blocks = remote_blocks(Space::out, call_.counts);
    for (int i = 0; i < sides_.other; ++i) b_.recv(blocks[i], remote(i));
  }

  void of_scatter() {
    if (is_idle()) return;
    if (!is_root()) return b_.recv(out(call_.count), call_.root);
    const Blocks blocks = remote_blocks(Space::in, call_.counts);
    for (int i = 0; i < sides_.other; ++i) b_.send(blocks[i], remote(i));
  }

  void of_allgather() {
    const Blocks blocks = remote_blocks(Space::out, call_.counts);
    for (int k = 0; k < sides_.other; ++k) b_.recv(blocks[turn(k)], remote(turn(k)));
    for (int k = 0; k < sides_.other; ++k) b_.send(in(call_.count), remote(turn(k)));
  }

  void of_alltoall() {
    const Blocks from = remote_blocks(Space::in, call_.send_counts);
    const Blocks into = remote_blocks(Space::out, call_.counts);
    for (int k = 0; k < sides_.other; ++k) b_.recv(into[turn(k)], remote(turn(k)));
    for (int k = 0; k < sides_.other; ++k) b_.send(from[turn(k)], remote(turn(k)));
  }

  void of_reduce_scatter() {
    const Count all = sum(call_.counts);
    const Slice data = b_.scratch(all);
    b_.copy(in(all), data);
    fold_own(data);
    const Slice theirs = b_.scratch(all);
    swap(data, theirs);
    scatter_linear(b_, own_, 0, Blocks(theirs, call_.counts),
                   out(call_.counts[static_cast<std::size_t>(own_.rank())]));
  }

  Builder& b_;
  const RankCall& call_;
  const GroupSides sides_;
  const RankTeam own_;
};

}  // namespace

GroupSides::GroupSides(const RankCall& call) {
  const bool is_first = call.rank < call.first_group;
  own_first = is_first ? 0 : call.first_group;
  own = is_first ? call.first_group : call.size - call.first_group;
  other_first = is_first ? call.first_group : 0;
  other = call.size - own;
}

Result<sched::Schedule> build_between(const RankCall& call) {
  TUTTI_CHECK(call.first_group > 0 && call.first_group < call.size, "two groups");
  if (call.collective == Collective::scan || call.collective == Collective::exscan)
    return fail(Code::comm, std::string(name_of(call.collective)) +
                                " is not defined between the groups of an intercommunicator");
  Builder builder(call.segment);
  Between(builder, call).emit();
  return builder.finish();
}

}  // namespace tutti::coll
