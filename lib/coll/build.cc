// From a call to this rank's schedule: which slices the emitter works on, then the emitter.
//
// `in` and `out` are as coll.h's RankCall says. The own contribution is copied to where the emitter
// works; the builder puts that copy off and mostly never makes it. In place there is none.
#include "base/check.h"
#include "coll/catalogue.h"

namespace tutti::coll {
namespace {

using sched::Space;

// Binds a call to each form of emitter.
class Binder {
 public:
  Binder(Builder& builder, const RankCall& call) : b_(builder), call_(call), team_(call) {}

  void operator()(BarrierEmitter* emit) { emit(b_, team_, b_.scratch(1)); }

  void operator()(WholeEmitter* emit) {
    const bool only_gives = call_.collective == Collective::exscan && call_.rank == 0;
    if (only_gives && !call_.in_place) return emit(b_, team_, in(call_.count));
    emit(b_, team_, own_into(out(call_.count)));
  }

  void operator()(RootedEmitter* emit) {
    if (call_.collective == Collective::bcast) return emit(b_, team_, call_.root, out(call_.count));
    const bool here = call_.rank == call_.root;
    emit(b_, team_, call_.root, own_into(here ? out(call_.count) : b_.scratch(call_.count)));
  }

  void operator()(SpreadEmitter* emit) {
    const bool gathers =
        call_.collective == Collective::gather || call_.collective == Collective::gatherv;
    const Space there = gathers ? Space::out : Space::in;
    const Space here = gathers ? Space::in : Space::out;
    const Blocks all = blocks(there);
    Slice own{here, 0, call_.count};
    if (call_.rank == call_.root) own.count = all[call_.root].count;
    if (call_.rank == call_.root && call_.in_place) own = all[call_.root];
    emit(b_, team_, call_.root, all, own);
  }

  void operator()(BlockedEmitter* emit) {
    const bool gathers = call_.collective != Collective::reduce_scatter;
    const Blocks all = blocks(Space::out);
    const Slice own = all[call_.rank];
    if (gathers && !call_.in_place) b_.copy(in(own.count), own);
    if (gathers) return emit(b_, team_, all);
    const Slice work = b_.scratch(all.whole().count);
    b_.copy(in(work.count), work);
    const Blocks data(work, call_.counts);
    emit(b_, team_, data);
    b_.copy(data[call_.rank], out(own.count));
  }

  void operator()(AlltoallEmitter* emit) {
    if (call_.collective == Collective::alltoall)
      return emit(b_, team_, blocks(Space::in), blocks(Space::out));
    emit(b_, team_, Blocks(in(sum(call_.send_counts)), call_.send_counts),
         Blocks(out(sum(call_.counts)), call_.counts));
  }

 private:
  static Slice in(Count count) { return {Space::in, 0, count}; }
  static Slice out(Count count) { return {Space::out, 0, count}; }

  Slice own_into(Slice data) {
    if (!call_.in_place) b_.copy(in(call_.count), data);
    return data;
  }

  // One block a rank: equal, or as counts say. Beside the root of a v form counts are unknown
  // and nobody looks.
  Blocks blocks(Space space) const {
    if (call_.counts.empty()) {
      const bool known =
          call_.collective != Collective::gatherv && call_.collective != Collective::scatterv;
      return Blocks(Slice{space, 0, known ? call_.count * call_.size : 0}, call_.size);
    }
    return Blocks(Slice{space, 0, sum(call_.counts)}, call_.counts);
  }

  Builder& b_;
  const RankCall& call_;
  RankTeam team_;
};

Result<void> can_serve(const Algorithm& algorithm, const RankCall& call) {
  const std::string name =
      std::string(name_of(algorithm.collective)) + " by " + std::string(algorithm.name);
  if (algorithm.needs_commutative && !call.commutative)
    return fail(Code::op, name + " does not keep the order of ranks, and the operation is not " +
                              "commutative; choose another algorithm");
  if (algorithm.needs_hosts && call.host_of.size() != static_cast<std::size_t>(call.size))
    return fail(Code::unsupported, name + " needs to know the host of every rank");
  return {};
}

void check_counts(const RankCall& call) {
  const auto p = static_cast<std::size_t>(call.size);
  TUTTI_CHECK(call.rank >= 0 && call.rank < call.size && call.root >= 0 && call.root < call.size,
              "rank or root outside the team");
  TUTTI_CHECK(call.counts.empty() || call.counts.size() == p, "one count a rank");
  TUTTI_CHECK(call.send_counts.empty() || call.send_counts.size() == p, "one send count a rank");
}

}  // namespace

Result<sched::Schedule> build(const Algorithm& algorithm, const RankCall& call) {
  TUTTI_CHECK(algorithm.collective == call.collective, "algorithm of another collective");
  check_counts(call);
  TUTTI_DO(can_serve(algorithm, call));
  Builder builder(algorithm.takes_segments ? call.segment : 0);
  std::visit(Binder(builder, call), emitter_of(algorithm));
  return builder.finish();
}

}  // namespace tutti::coll
