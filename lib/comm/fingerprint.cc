// Fingerprints of collective calls.
#include "comm/fingerprint.h"

#include "base/fresh.h"
#include "comm/state.h"
#include "types/handles.h"
#include "watch/calls.h"

namespace tutti::comm {
namespace {

// Ranks of the other side give another operation as they like, and their type may be built another
// way: its own members must say these alike, and of the other side only the bytes.
constexpr std::uint32_t kTerms = 0x1fU << 23 | 0x7fU << 16;

bool is_second_side(const Communicator& comm) {
  return comm.is_inter() && !comm.is_first();
}

}  // namespace

std::uint32_t fingerprint_of(coll::Collective collective, const types::Op* op, int root,
                             Count bytes, const types::Datatype* type) {
  watch::Fingerprint print;
  print.collective = static_cast<std::uint32_t>(collective);
  if (op != nullptr)
    print.op = op->is_predefined()
                   ? static_cast<std::uint32_t>(op->handle() - types::abi::kNullOp) & 31U
                   : watch::kUserOp;
  print.root = static_cast<std::uint32_t>(root);
  if (type != nullptr) print.element = static_cast<std::uint32_t>(type->element());
  print.bytes = static_cast<std::uint64_t>(bytes);
  return watch::pack_fingerprint(print);
}

std::uint32_t own_fingerprint(const CollCall& call, int root, Count bytes,
                              const types::Datatype* type) {
  return watch::mark_own(call.purpose, fingerprint_of(call.collective, call.op, root, bytes, type));
}

std::uint32_t terms_of(coll::Collective collective, const types::Op* op,
                       const types::Datatype* type) {
  return fingerprint_of(collective, op, 0, 0, type) & kTerms;
}

// What does not change from call to call is found out in the first one.
[[gnu::noinline, gnu::cold]] static bool keeps_records(Communicator& comm) {
  using Records = Communicator::State::Records;
  Runtime& runtime = comm.runtime();
  Communicator::State& state = comm.state();
  if (state.records == Records::none) return false;
  const bool is_alone = comm.size() == 1 && !comm.is_inter();
  state.records =
      is_alone || runtime.mismatch == Mismatch::overlooked ? Records::none : Records::kept;
  if (state.records == Records::none) return false;
  state.record.birth = runtime.births_above + comm.birth();
  state.record.first = comm.is_inter() ? state.joint.front() : comm.group().at(0);
  state.record.context = comm.coll_context();
  state.record.flags = (comm.is_inter() ? watch::kInter : 0) |
                       (is_second_side(comm) ? watch::kSecondSide : 0) |
                       (runtime.mismatch == Mismatch::told ? watch::kOnlyWarns : 0);
  return true;
}

void remember(Communicator& comm, Communicator::State::Kind kind, const Begun& call, Count bytes) {
  Communicator::State& state = comm.state();
  if (state.records != Communicator::State::Records::kept && !keeps_records(comm)) [[unlikely]]
    return;
  Runtime& runtime = comm.runtime();
  const auto index = static_cast<std::size_t>(kind);
  auto& order = state.order[index];
  ++order.number;
  if (call.root < 0) return;  // of the root's group, but not the root: its arguments say nothing
  wireup::RecentCalls::Kind& kept = runtime.recent.kinds[index];
  wireup::CallRecord& record = watch::open_record(kept);
  record = state.record;
  record.number = order.number;
  record.others = state.order[1 - index].number;
  record.fingerprint = fresh(call.fingerprint);
  record.terms = fresh(call.terms);
  record.bytes = static_cast<std::uint64_t>(bytes);
  record.root = call.root;
  record.flags |= kind == Communicator::State::Kind::blocking ? 0 : watch::kNonblocking;
  // Members of intercommunicators do not all see every call.
  if ((record.flags & watch::kInter) == 0) {
    const auto add = [&order](std::uint32_t word) {
      order.history = (order.history ^ word) * 0x9e3779b1U + 1;
    };
    add(call.fingerprint);
    add(static_cast<std::uint32_t>(bytes));
    add(static_cast<std::uint32_t>(call.root));
  }
  record.history = order.history;
  // relaxed: this rank's own.
  record.function = runtime.watch.function.load(std::memory_order_relaxed);
  watch::close_record(kept);
  if (runtime.tells_every_call) [[unlikely]]
    runtime.wireup.report_use(wireup::Wireup::Use::call,
                              {reinterpret_cast<const char*>(&record), sizeof record});
}

}  // namespace tutti::comm
