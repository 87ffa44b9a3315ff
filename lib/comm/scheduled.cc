// From user calls to runs of schedules.
#include "comm/scheduled.h"

#include <algorithm>
#include <new>
#include <vector>

#include "comm/fingerprint.h"

namespace tutti::comm {
namespace {

using Kind = Communicator::State::Kind;

Result<std::shared_ptr<Prepared>> prepare_inside(Communicator& comm, const CallShape& shape,
                                                 const select::Choice* chosen) {
  if (auto latest = find_latest(comm, shape, chosen)) return latest;
  const select::Choice* choice = chosen;
  if (choice == nullptr) {
    TUTTI_TRY(among_schedules, choice_for(comm, shape, Among::schedules));
    choice = among_schedules;
  }
  TUTTI_TRY(prepared, prepare(comm, shape, *choice));
  keep_latest(comm, shape, chosen, prepared);
  return prepared;
}

constexpr CallSetting kInside{&shape_of, &prepare_inside, &bind_spaces,
                              [](const CollCall& call, const CallShape& shape) {
                                return fingerprint(call, shape.root, shape.bytes, shape.type);
                              }};

const CallSetting& setting_of(const Communicator& comm, const CollCall& call) {
  if (call.neighbours) return kNeighbours;
  return comm.is_inter() ? kBetween : kInside;
}

const void* place_of(const engine::Block& block) {
  const Count lead = block.type == nullptr ? 0 : block.type->true_lower_bound();
  const bool has_bytes = block.count > 0 && (block.type == nullptr || block.type->size() > 0);
  return has_bytes ? static_cast<std::byte*>(block.data) + lead : nullptr;
}

// Whose memory a space lies in, block by block. Where it cannot be used the others are told so
// before they wait for it.
void find_devices(const types::Devices& devices, engine::SpaceMemory& space, Code* failure) {
  const auto keep = [&](engine::Block& block, const void* place, types::Device* device) {
    const bool is_absolute = block.data == nullptr || space.are_absolute;
    if (is_absolute && block.type != nullptr && place != nullptr)
      block.device = devices.whole(block.data, block.count, *block.type, true).device;
    else if (place != nullptr)
      block.device = device;
    if (block.device != nullptr && !block.device->is_usable()) *failure = block.device->refusal();
  };
  const void* const whole = place_of(space.whole);
  keep(space.whole, whole, whole == nullptr ? nullptr : devices.owner_of(whole));
  if (space.blocks.empty()) return;
  std::vector<const void*> places(space.blocks.size());
  std::ranges::transform(space.blocks, places.begin(), place_of);
  std::vector<types::Device*> owners(places.size());
  devices.owners_of(places, owners);
  for (std::size_t i = 0; i < owners.size(); ++i) keep(space.blocks[i], places[i], owners[i]);
}

// For the daemon: what the user said, whatever the type that it is reduced in.
void remember(Communicator& comm, const CollCall& call, const PreparedCall& prepared, Kind kind) {
  const CallShape& shape = prepared.shape;
  const bool is_widened = call.said_type != nullptr;
  const std::uint32_t terms =
      comm.is_inter() ? terms_of(call.collective, call.op, is_widened ? call.said_type : shape.type)
                      : 0;
  remember(comm, kind, {prepared.fingerprint, terms, shape.root},
           is_widened ? call.said_count * call.said_type->size() : shape.bytes);
}

}  // namespace

PreparedCall::PreparedCall(const Communicator& comm, const CollCall& call)
    : setting(&setting_of(comm, call)), shape(setting->shape(comm, call)) {}

Result<PreparedCall> prepare_call(Communicator& comm, const CollCall& call, Kind kind,
                                  const select::Choice* chosen) {
  Result<PreparedCall> made(tl::in_place, comm, call);  // here it stays
  auto prepared = made->setting->prepare(comm, made->shape, chosen);
  if (!prepared) [[unlikely]] {
    made = tl::unexpected<Error>(std::move(prepared).error());
    return made;
  }
  made->prepared = std::move(*prepared);
  made->fingerprint = made->setting->fingerprint(call, made->shape);
  made->tag = comm.state().next_tag(kind);
  remember(comm, call, *made, kind);
  return made;
}

void bind_call(Communicator& comm, const CollCall& call, const PreparedCall& prepared,
               BoundCall& bound) {
  bound.prepared = prepared.prepared;
  bound.bytes = prepared.shape.bytes;
  bound.run = take_to_join(comm, [&] { return take_run(comm, *bound.prepared); });
  engine::Binding& binding = bound.run->rebind();
  binding.context = comm.coll_context();
  binding.tag = prepared.tag;
  binding.peers = comm.group().members();
  binding.rank = comm.rank();
  binding.fingerprint = prepared.fingerprint;
  binding.outlives_failure = !comm.errors_end_job;
  try {
    if (call.failure != Code::no_mem)  // then its vectors are not there
      prepared.setting->bind(comm, call, prepared.shape, binding, bound.temporary);
    if (const types::Devices& devices = comm.runtime().devices; !devices.is_empty()) [[unlikely]] {
      find_devices(devices, binding.in, &binding.failure);
      find_devices(devices, binding.out, &binding.failure);
    }
  } catch (const std::bad_alloc&) {  // the others are told
    binding.failure = Code::no_mem;
  }
  if (call.failure != Code::ok) [[unlikely]] {
    binding.failure = call.failure;
    bound.own_part = own_part(comm, call);
  }
}

Reason reason_of(const engine::Run& run) {
  const p2p::MessageFailure& failure = run.failure();
  return {failure.text, failure.is_mismatch, failure.is_theirs};
}

Code end_call(Runtime& runtime, BoundCall& bound, std::unique_ptr<Reason>& why) {
  Code code = bound.run->code();
  if (code != Code::ok) [[unlikely]]
    why = std::make_unique<Reason>(reason_of(*bound.run));
  const bool is_own = code == bound.run->binding().failure && is_of_own_part(code);
  if (bound.widened != nullptr) code = std::exchange(bound.widened, nullptr)->end(code);
  give_run(*bound.prepared, std::move(bound.run));
  bound.prepared.reset();
  if (bound.temporary.at != nullptr) runtime.scratch.give(std::exchange(bound.temporary, {}));
  if (is_own) *why = {own_part_words(bound.own_part)};
  return code;
}

Code run_schedule(Communicator& comm, const CollCall& call, const select::Choice* chosen) {
  Runtime& runtime = comm.runtime();
  const auto prepared =
      take_to_join(comm, [&] { return prepare_call(comm, call, Kind::blocking, chosen); });
  if (!prepared) {
    runtime.reason = {prepared.error().text};
    return prepared.error().code;
  }
  BoundCall bound;
  bind_call(comm, call, *prepared, bound);
  bound.run->begin();
  engine::wait(runtime.endpoint, *bound.run);
  std::unique_ptr<Reason> why;
  const Code code = end_call(runtime, bound, why);
  if (why) runtime.reason = std::move(*why);
  return code;
}

}  // namespace tutti::comm
