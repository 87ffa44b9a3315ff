// From two-byte floats to float32 and back, around a reduction.
#include "comm/widened.h"

#include <algorithm>
#include <limits>
#include <new>
#include <numeric>
#include <utility>

#include "comm/gpu/calls.h"
#include "comm/runtime.h"
#include "comm/shape.h"
#include "comm/state.h"

namespace tutti::comm {
namespace {

using coll::Collective;

Count count_of(const CollCall& call) {
  return call.recv_type != nullptr ? call.recv_count : call.send_count;
}

// Elements of the whole vector.
Count whole_of(const Communicator& comm, const CollCall& call) {
  if (call.collective != Collective::reduce_scatter) return count_of(call);
  if (call.recv_counts.empty()) return count_of(call) * comm.size();
  return std::accumulate(call.recv_counts.begin(), call.recv_counts.end(), Count{0});
}

// Those that this rank contributes.
Count given_by(const Communicator& comm, const CollCall& call) {
  const bool only_takes = comm.is_inter() && call.collective == Collective::reduce && call.root < 0;
  return only_takes ? 0 : whole_of(comm, call);
}

// Those of the result that this rank gets.
Count taken_by(const Communicator& comm, const CollCall& call) {
  switch (call.collective) {
    case Collective::reduce:
      return call.root == (comm.is_inter() ? kRoot : comm.rank()) ? count_of(call) : 0;
    case Collective::exscan:
      return comm.rank() > 0 ? count_of(call) : 0;
    case Collective::reduce_scatter:
      if (call.recv_counts.empty()) return count_of(call);
      return call.recv_counts[static_cast<std::size_t>(comm.rank())];
    default:
      return count_of(call);
  }
}

// One buffer serves where the result may stand in the contribution's place.
bool may_be_in_place(const Communicator& comm, const CollCall& call) {
  if (comm.is_inter()) return false;
  return call.collective == Collective::allreduce || call.collective == Collective::scan ||
         (call.collective == Collective::reduce && call.root == comm.rank());
}

void* moved(const void* address, Count bytes) {
  return address == nullptr ? nullptr : static_cast<std::byte*>(const_cast<void*>(address)) + bytes;
}

// Calls of this collective in a row that members will not ask about: alike.
bool are_passed(const Communicator& comm, const CollCall& call) {
  const auto& calls = comm.state().gpu_calls;
  return calls != nullptr && calls->by_team[static_cast<std::size_t>(call.collective)].to_pass > 0;
}

constexpr Count kMostOnGpu = Count{128} << 20;  // bytes of result and contribution

}  // namespace

const types::Datatype* wider_type(const Communicator& comm, const CollCall& call) {
  if (call.op == nullptr) return nullptr;  // no reduction
  const types::Datatype* const type = type_of_reduction(call);
  if (type == nullptr || (!comm.is_inter() && comm.size() <= 2)) return nullptr;
  return call.op->accumulator(*type);
}

CollCall in_wider(const Communicator& comm, const CollCall& call, const types::Datatype& wider) {
  CollCall wide = call;
  wide.said_type = type_of_reduction(call);
  if (call.said_count == 0) wide.said_count = whole_of(comm, call);
  wide.in_place = call.in_place || may_be_in_place(comm, call);
  if (call.send_type != nullptr) wide.send_type = &wider;
  if (call.recv_type != nullptr) wide.recv_type = &wider;
  return wide;
}

Count part_for(const Communicator& comm, const CollCall& call) {
  constexpr Count kInCaches = 64 << 10, kOnGpus = 1 << 20;  // each of these takes launches
  constexpr Count kBetweenHosts = 16 << 20;
  const bool may_have_gpus = comm.state().may_have_gpus;
  if (comm.state().team == nullptr) return may_have_gpus ? kBetweenHosts : Count{1} << 62;
  return may_have_gpus && !are_passed(comm, call) ? kOnGpus : kInCaches;
}

bool goes_to_team(const Communicator& comm, const CollCall& call, const types::Datatype& wider) {
  if (comm.state().team == nullptr) return false;
  const Count elements = std::min(whole_of(comm, call), kMostOnGpu);
  return !is_long(elements * wider.size()) || are_passed(comm, call);
}

CollCall part_of(const CollCall& call, Count from, Count most) {
  const Count bytes = from * type_of_reduction(call)->size();
  const Count count = std::min(most, count_of(call) - from);
  CollCall part = call;
  part.said_count = count_of(call);
  part.send = moved(call.send, bytes);
  part.recv = moved(call.recv, bytes);
  if (call.send_type != nullptr) part.send_count = count;
  if (call.recv_type != nullptr) part.recv_count = count;
  return part;
}

Count parts_of(const CollCall& call, Count most) {
  const bool cuts =
      call.collective == Collective::allreduce || call.collective == Collective::reduce;
  return cuts && count_of(call) > most ? (count_of(call) - 1) / most + 1 : 1;
}

void await_callers(Communicator& comm, const CollCall& call) {
  Runtime& runtime = comm.runtime();
  const types::Devices& devices = runtime.devices;
  if (devices.is_empty() || devices.is_queued()) [[likely]]
    return;
  const auto await = [&](const void* data, Count count) {
    if (count > 0)
      runtime.await_caller(devices.whole(data, count, *type_of_reduction(call)).device);
  };
  await(call.in_place ? call.recv : call.send, given_by(comm, call));
  await(call.recv, taken_by(comm, call));
}

WidenedReduction::WidenedReduction(Communicator& comm, const CollCall& call,
                                   const types::Datatype& wider, bool by_host)
    : pool_(comm.runtime().scratch),
      devices_(comm.runtime().devices),
      type_(*type_of_reduction(call)),
      wider_(wider),
      taken_(taken_by(comm, call)),
      wide_(in_wider(comm, call, wider)) {
  // Whose memory it is is asked now: at the end no call begins, which would wait for the default
  // stream, and that perhaps for us.
  if (taken_ > 0) result_ = devices_.whole(call.recv, taken_, type_);
  const auto take_all = [&] {
    take_contribution(comm, call, by_host);
    return true;
  };
  try {
    comm.runtime().reserve.help(take_all, [] {});
  } catch (const std::bad_alloc&) {  // the others are told
    wide_.failure = failure_ = Code::no_mem;
  }
}

// The GPU that works for this member: that of all its buffers. Null: the processor does.
types::Device* WidenedReduction::worker_on(const types::Buffer& said) const {
  types::Device* const device = said.bytes > 0 ? said.device : result_.device;
  if (device == nullptr || !device->is_usable()) return nullptr;
  const bool converts = (said.bytes == 0 || device->widens(said)) &&
                        (taken_ == 0 || (result_.device == device && device->widens(result_)));
  return converts ? device : nullptr;
}

void WidenedReduction::take_contribution(const Communicator& comm, const CollCall& call,
                                         bool by_host) {
  constexpr Count kAligned = 64;         // elements
  pool_.give(std::exchange(room_, {}));  // what an attempt before had taken
  const Count given = given_by(comm, call);
  const Count received = wide_.in_place ? std::max(given, taken_) : taken_;
  Count behind = 0, all = received;
  if (!wide_.in_place &&
      (__builtin_add_overflow(received, kAligned - received % kAligned, &behind) ||
       __builtin_add_overflow(behind, given, &all)))
    all = std::numeric_limits<Count>::max();  // there is never so much
  const types::Buffer said = devices_.whole(call.in_place ? call.recv : call.send, given, type_);
  types::Device* const worker =
      by_host || all > kMostOnGpu / wider_.size() ? nullptr : worker_on(said);
  std::byte* const room = engine::take_elements(pool_, all, wider_, room_, worker);
  wide_.recv = received > 0 ? room : nullptr;
  std::byte* const contribution = room + behind * wider_.extent();
  if (!wide_.in_place) wide_.send = given > 0 ? contribution : nullptr;
  if (given > 0) take(said, contribution);
}

void WidenedReduction::take(const types::Buffer& said, void* contribution) {
  if (said.device == nullptr) return types::widen(type_, said.data, contribution, said.count);
  if (room_.device != nullptr) {
    types::Buffer wide = types::Buffer::whole(contribution, said.count, wider_);
    wide.device = room_.device;
    types::convert_on_device(said, wide);
    wide_.failure = failure_ = types::failure_of(said.device);
    return;
  }
  engine::ScratchPool::Piece here;
  void* const elements = engine::take_elements(pool_, said.count, type_, here);
  types::copy(said, types::Buffer::whole(elements, said.count, type_));
  wide_.failure = failure_ = types::failure_of(said.device);
  types::widen(type_, elements, contribution, said.count);
  pool_.give(std::move(here));
}

// The result, rounded.
void WidenedReduction::hand_over() {
  if (result_.device == nullptr) return types::narrow(type_, wide_.recv, result_.data, taken_);
  if (room_.device != nullptr) {
    types::Buffer wide = types::Buffer::whole(wide_.recv, taken_, wider_);
    wide.device = room_.device;
    types::convert_on_device(wide, result_);
    failure_ = types::failure_of(result_.device);
    return;
  }
  engine::ScratchPool::Piece here;
  void* const elements = engine::take_elements(pool_, taken_, type_, here);
  types::narrow(type_, wide_.recv, elements, taken_);
  types::copy(types::Buffer::whole(elements, taken_, type_), result_);
  failure_ = types::failure_of(result_.device);
  pool_.give(std::move(here));
}

Code WidenedReduction::end(Code code) {
  if (code == Code::ok && failure_ == Code::ok && taken_ > 0) hand_over();
  pool_.give(std::exchange(room_, {}));
  return failure_ == Code::ok || code == Code::proc_aborted ? code : failure_;
}

}  // namespace tutti::comm
