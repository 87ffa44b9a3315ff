// Fingerprints of collective calls.
#include "comm/fingerprint.h"

#include "comm/state.h"
#include "watch/calls.h"

namespace tutti::comm {
namespace {

constexpr Handle kFirstOp = 0x20;  // MPI_OP_NULL in the standard ABI

// Members of both groups in the order that is alike for all.
std::uint32_t hash_members(const Communicator& comm) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const int member : comm.is_inter() ? comm.state().joint : comm.group().members())
    hash = (hash ^ static_cast<std::uint32_t>(member)) * 16777619U;
  return hash | 1U;
}

}  // namespace

bool has_root(coll::Collective collective) {
  return watch::has_root(static_cast<std::uint32_t>(collective));
}

std::uint32_t fingerprint_of(coll::Collective collective, const types::Op* op, int root,
                             Count bytes, const types::Datatype* type) {
  watch::Print print;
  print.collective = static_cast<std::uint32_t>(collective);
  if (op != nullptr)
    print.op = op->is_predefined() ? static_cast<std::uint32_t>(op->handle() - kFirstOp) & 31U
                                   : watch::kUserOp;
  print.root = static_cast<std::uint32_t>(root);
  if (type != nullptr) print.element = static_cast<std::uint32_t>(type->element());
  print.bytes = static_cast<std::uint64_t>(bytes);
  return watch::pack_print(print);
}

std::uint32_t neighbour_fingerprint(coll::Collective collective) {
  return watch::neighbour_print(static_cast<std::uint32_t>(collective));
}

std::string describe_fingerprint(std::uint32_t fingerprint) {
  return watch::describe_print(fingerprint);
}

void remember(Communicator& comm, Communicator::State::Kind kind, const Begun& call) {
  if (comm.size() == 1 && !comm.is_inter()) return;
  Communicator::State& state = comm.state();
  if (state.members_hash == 0) [[unlikely]]
    state.members_hash = hash_members(comm);
  auto& order = state.order[static_cast<std::size_t>(kind)];
  wireup::CallRecord record{};
  record.context = comm.coll_context();
  record.group = state.members_hash;
  record.number = ++order.number;
  record.others = state.order[1 - static_cast<std::size_t>(kind)].number;
  if (kind != Communicator::State::Kind::blocking) record.number |= watch::kNonblocking;
  if (call.root < 0) return;  // of the root's group, but not the root: its arguments say nothing
  record.fingerprint = call.fingerprint;
  record.bytes = static_cast<std::uint64_t>(call.bytes);
  record.root = call.root;
  // Members of intercommunicators do not all see every call.
  if (!comm.is_inter()) {
    for (const std::uint32_t word : {call.fingerprint, static_cast<std::uint32_t>(call.bytes),
                                     static_cast<std::uint32_t>(call.root)})
      order.history = (order.history ^ word) * 0x9e3779b1U + 1;
  }
  record.history = order.history;
  World& world = comm.world();
  // relaxed: this rank's own.
  record.function = world.watch.function.load(std::memory_order_relaxed);
  watch::remember(world.recent, record);
}

}  // namespace tutti::comm
