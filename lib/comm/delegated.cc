// From user calls to the delegate's words, and which of the two ways down they go.
#include "comm/delegated.h"

#include <algorithm>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

#include "base/blank.h"
#include "comm/agree.h"
#include "comm/fingerprint.h"

namespace tutti::comm {
namespace {

using coll::Collective;

// Into a blank one, and made there: an assignment would read in wide loads what was just stored
// word by word, which waits until that, and all stored before, has left for the cache.
void say_buffer(const Communicator& comm, const void* data, Count count,
                const types::Datatype* type, types::Buffer& to) {
  if (type != nullptr) new (&to) types::Buffer(comm.runtime().devices.whole(data, count, *type));
}

void say_reduction(const CollCall& call, delegate::TeamCall& to) {
  to.type = type_of_reduction(call);
  to.count = call.recv_type != nullptr ? call.recv_count : call.send_count;
  to.op = call.op;
  to.recv = call.recv;
  to.send = call.in_place ? call.recv : call.send;
}

void say_movement(const Communicator& comm, const CollCall& call, delegate::TeamCall& to) {
  const auto bytes_of = [](Count count, const types::Datatype* type) {
    return type == nullptr ? 0 : count * type->size();
  };
  const Count size = comm.size();
  const bool is_root = comm.rank() == call.root;
  const Count sent = bytes_of(call.send_count, call.send_type);
  to.block = bytes_of(call.recv_count, call.recv_type);
  switch (call.collective) {
    case Collective::bcast:
      say_buffer(comm, call.recv, call.recv_count, call.recv_type, to.into);
      break;
    case Collective::gather:
      say_buffer(comm, call.send, call.send_count, call.send_type, to.from);
      if (is_root) say_buffer(comm, call.recv, call.recv_count * size, call.recv_type, to.into);
      if (!is_root) to.block = sent;
      break;
    case Collective::scatter:
      say_buffer(comm, call.recv, call.recv_count, call.recv_type, to.into);
      if (is_root) say_buffer(comm, call.send, call.send_count * size, call.send_type, to.from);
      if (is_root) to.block = sent;
      break;
    default:  // allgather, alltoall
      say_buffer(
          comm, call.send,
          call.collective == Collective::allgather ? call.send_count : call.send_count * size,
          call.send_type, to.from);
      say_buffer(comm, call.recv, call.recv_count * size, call.recv_type, to.into);
      break;
  }
}

bool has_own_sizes(const CollCall& call) {
  return coll::is_v_form(call.collective) || !call.recv_counts.empty();
}

// Of blocks that are alike. Inlined into the way of every short call.
[[gnu::always_inline]] inline void say(const Communicator& comm, const CollCall& call,
                                       delegate::TeamCall& said) {
  said.collective = call.collective;
  said.root = call.root;
  said.in_place = call.in_place;
  if (coll::delegated(call.collective).kind == coll::Delegated::fold) {
    say_reduction(call, said);
    said.block = said.count * said.type->size();
    if (call.collective == Collective::reduce_scatter) said.block *= comm.size();
  } else if (call.collective != Collective::barrier) {
    say_movement(comm, call, said);
  }
  said.fingerprint = fingerprint(call, call.root, said.block, said.type);
}

// Of a reduce_scatter.
void say_counts(const Communicator& comm, const CollCall& call, delegate::TeamCall& to) {
  say_reduction(call, to);
  to.count = call.recv_counts[static_cast<std::size_t>(comm.rank())];
  to.block =
      to.type->size() * std::accumulate(call.recv_counts.begin(), call.recv_counts.end(), Count{0});
}

// Of a v form. `block` is what algorithms are chosen by, as of a schedule.
void say_blocks(const Communicator& comm, const CollCall& call, delegate::TeamCall& to) {
  const bool is_root = comm.rank() == call.root;
  const bool gathers = call.collective != Collective::scatterv;
  if (gathers && !(call.in_place && (is_root || call.collective == Collective::allgatherv)))
    say_buffer(comm, call.send, call.send_count, call.send_type, to.from);
  if (!gathers) say_buffer(comm, call.recv, call.recv_count, call.recv_type, to.into);
  if (call.collective != Collective::allgatherv) return;
  for (int member = 0; member < comm.size(); ++member) to.block += to.uneven->into.bytes(member);
  to.block /= comm.size();
}

bool is_usable(const types::Device* device) {
  return device == nullptr || device->is_usable();
}

bool is_usable(const delegate::BlockList& blocks) {
  for (int member = 0; member < static_cast<int>(blocks.counts.size()); ++member)
    if (!is_usable(blocks.of(member).device)) return false;
  return true;
}

bool is_usable(const delegate::TeamCall& said) {
  return is_usable(said.from.device) && is_usable(said.into.device) &&
         (said.uneven == nullptr || (is_usable(said.uneven->from) && is_usable(said.uneven->into)));
}

// What moves of devices' memory is packed and unpacked by who waits on the spot, and has all others
// wait: so what its caller has given the devices so far is waited for before, while all goes on.
void await_callers(Communicator& comm, const delegate::TeamCall& said) {
  if (comm.runtime().devices.is_queued()) return;  // its queue has reached it
  std::vector<types::Device*> waited;
  const auto await = [&](types::Device* device) {
    if (std::ranges::count(waited, device) > 0) return;
    waited.push_back(device);
    comm.runtime().await_caller(device);
  };
  await(said.from.device);
  await(said.into.device);
  if (said.uneven == nullptr) return;
  for (const delegate::BlockList* const side : {&said.uneven->from, &said.uneven->into})
    for (int member = 0; member < static_cast<int>(side->counts.size()); ++member)
      await(side->of(member).device);
}

[[gnu::noinline]] Code run_among_devices(Communicator& comm, delegate::TeamCall& said,
                                         bool by_parts) {
  if (said.op != nullptr) return reduce_by_parts(comm, said, by_parts);
  const bool is_good = take_to_join(comm, [&] { return is_usable(said); });
  if (is_good) take_to_join(comm, [&] { return await_callers(comm, said), true; });
  if (!is_good) said.fingerprint = delegate::kHasNothing;
  return end_among_devices(comm, is_good, comm.state().team->run(said));
}

// From GPU to GPU.
[[gnu::noinline, gnu::cold]] Code run_past_team(Communicator& comm, const CollCall& call) {
  const auto choice = take_to_join(
      comm, [&] { return choice_for(comm, shape_of(comm, call), Among::schedules_on_gpus); });
  return choice ? run_schedule(comm, call, *choice) : explain_failure(comm, choice.error());
}

// By the team where the model says so.
[[gnu::always_inline]] inline Code serve(Communicator& comm, const CollCall& call,
                                         delegate::TeamCall& said) {
  Communicator::State& state = comm.state();
  const select::Choice* choice = state.quick_choice(call.collective, said.block);
  if (choice == nullptr) [[unlikely]] {
    const auto made = take_to_join(comm, [&] { return choice_of_size(comm, call, said.block); });
    if (!made) {
      comm.runtime().reason = {made.error().text};
      return made.error().code;
    }
    choice = *made;
  }
  if (choice->algorithm != nullptr) return run_schedule(comm, call, choice);
  bool by_parts = false;
  if (state.may_have_gpus) [[unlikely]] {
    const auto way = way_inside_host(comm, call, said);
    if (!way) return explain_failure(comm, way.error());
    if (*way == InsideHost::past_team) return run_past_team(comm, call);
    by_parts = *way == InsideHost::by_parts && said.op != nullptr;
  }
  const bool is_widened = call.said_type != nullptr;
  remember(comm, Communicator::State::Kind::blocking, {said.fingerprint, 0, said.root},
           is_widened ? call.said_count * call.said_type->size() : said.block);
  if (call.failure != Code::ok) [[unlikely]] {
    // Blocks that differ for this rank alone may differ from everybody's: then no form of the team
    // fits all. Nor does one where there is no memory for the vectors. A device's failure leaves
    // the call as the others have it.
    if (is_of_own_part(call.failure) || call.failure == Code::no_mem) {
      state.team->cancel(call.failure);
      return call.failure;
    }
    said.fingerprint = delegate::kHasNothing;
  }
  if (by_parts || !comm.runtime().devices.is_empty()) [[unlikely]]
    return run_among_devices(comm, said, by_parts);
  return state.team->run(said);
}

[[gnu::noinline]] Code run_uneven(Communicator& comm, const CollCall& call) {
  const types::Devices& devices = comm.runtime().devices;
  const delegate::Uneven uneven{
      {const_cast<void*>(call.send), call.send_type, call.send_counts, call.send_displs,
       call.send_types, &devices},
      {call.recv, call.recv_type, call.recv_counts, call.recv_displs, call.recv_types, &devices}};
  delegate::TeamCall said;
  said.collective = call.collective;
  said.root = call.root;
  said.in_place = call.in_place;
  said.uneven = &uneven;
  call.collective == Collective::reduce_scatter ? say_counts(comm, call, said)
                                                : say_blocks(comm, call, said);
  said.fingerprint = fingerprint(call, call.root, said.block, said.type);
  return comm.state().team->takes(said) ? serve(comm, call, said)
                                        : run_schedule(comm, call, nullptr);
}

}  // namespace

Code end_among_devices(Communicator& comm, bool is_good, Code code) {
  if (is_good || code == Code::proc_aborted) return code;
  comm.runtime().reason = {"a buffer lies in memory that cannot be used; see the line above"};
  return Code::buffer;
}

bool is_told(const Communicator& comm, const delegate::TeamCall& said) {
  if (said.count == 0) return false;
  if (said.collective == Collective::exscan) return comm.rank() > 0;
  return said.collective != Collective::reduce || comm.rank() == said.root;
}

bool say_to_team(const Communicator& comm, const CollCall& call, delegate::TeamCall& said) {
  if (!coll::has_gpu_library_form(call.collective) || has_own_sizes(call)) return false;
  say(comm, call, said);
  return true;
}

Code run_inside(Communicator& comm, const CollCall& call) {
  if (has_own_sizes(call)) return run_uneven(comm, call);
  auto said = blank<delegate::TeamCall>();
  say(comm, call, said);
  if (said.op != nullptr && !comm.state().team->takes(said))
    return run_schedule(comm, call, nullptr);
  return serve(comm, call, said);
}

}  // namespace tutti::comm
