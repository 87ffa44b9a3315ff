// The ways to serve calls of GPU memory come to be: NCCL for all members, or by levels.
//
//   1. Members show each other a card: which GPU, which version of the library.
//   2. Where nothing speaks against it they join one NCCL communicator. Where it would refuse those
//      who share a GPU it is not asked (record 0081).
//   3. Where they could not, but groups of them can, they are divided (gpu/levels.cc); so they are
//      over several hosts, where either may be the quicker.
#include <algorithm>
#include <map>
#include <tuple>

#include "base/log.h"
#include "comm/agree.h"
#include "comm/gpu/calls.h"
#include "comm/meeting.h"
#include "comm/state.h"

namespace tutti::comm {
namespace {

using delegate::GpuLibrary;
using Way = GpuCalls::Way;

constexpr int kFailedTag = -77;  // of the messages that say so: no user's, and no collective's

struct Card {
  GpuLibrary::Seat seat;
  std::int32_t has_seat = 0;
  std::int32_t version = 0;
};

struct Introduction {
  GpuLibrary::Id id{};
  bool is_good = false;
};

// The beginning of NCCL's id is in the messages: a number of a context may come again.
constexpr std::size_t kMark = 16;

void tell_others(Communicator& comm, const GpuLibrary::Id& id) {
  Runtime& runtime = comm.runtime();
  const p2p::Envelope envelope{comm.coll_context(), comm.rank(), kFailedTag, 0};
  for (int other = 0; other < comm.size(); ++other) {
    const int peer = comm.peer(other);
    if (other == comm.rank() || runtime.wireup.is_gone(peer)) continue;
    if (runtime.endpoint.try_send(peer, envelope, id.data(), kMark) != 0) continue;
    // It stays until it has left, whatever becomes of the communicator.
    const auto& kept = runtime.farewells.emplace_back(id);
    runtime.endpoint.release(runtime.endpoint.send(
        p2p::Mode::standard, peer, envelope,
        types::Buffer::plain(const_cast<std::byte*>(kept.data()), static_cast<Count>(kMark))));
  }
}

// Who says so is of no account: whoever knows the id is a member.
bool has_heard(Communicator& comm, const GpuLibrary::Id& id) {
  p2p::Endpoint& endpoint = comm.runtime().endpoint;
  const p2p::Envelope wanted{comm.coll_context(), p2p::kAnySource, kFailedTag, 0};
  p2p::Status status;
  while (p2p::KeptMessage* const message = endpoint.take(p2p::kAnySource, wanted, &status)) {
    std::array<std::byte, kMark> mark{};
    p2p::Pending* const received = endpoint.recv_taken(
        message, types::Buffer::plain(mark.data(), static_cast<Count>(mark.size())));
    if (!received->done) endpoint.wait(received);
    const Code code = received->status.code;
    endpoint.release(received);
    if (code == Code::ok && std::equal(mark.begin(), mark.end(), id.begin())) return true;
  }
  return false;  // or somebody is gone, who is looked for elsewhere
}

// By rank; all members', alike.
Result<std::vector<Card>> show_cards(Communicator& comm, int device) {
  Runtime& runtime = comm.runtime();
  std::vector<Card> cards(static_cast<std::size_t>(comm.size()));
  Card& mine = cards[static_cast<std::size_t>(comm.rank())];
  if (const auto seat = runtime.gpu_library->seat_of(device))
    mine.seat = *seat, mine.has_seat = 1;
  else
    explain_gpus(comm, "GPU " + std::to_string(device) + ": " + seat.error().text);
  mine.version = runtime.gpu_library->version();
  if (const Code code = meeting_on(comm, watch::Purpose::asks)
                            .allgather(std::as_writable_bytes(std::span(cards)));
      code != Code::ok)
    return fail(code, "members could not meet for a call of GPU memory");
  return cards;
}

// Who shares a GPU, to the library; in groups by the order of their first members.
std::vector<int> groups_by_gpu(const Communicator& comm, const std::vector<Card>& cards) {
  std::map<std::tuple<int, bool, std::uint64_t, std::array<std::byte, 16>>, int> known;
  std::vector<int> groups;
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    const GpuLibrary::Seat& seat = cards[rank].seat;
    const int unknown =
        cards[rank].has_seat != 0 ? -1 : static_cast<int>(rank);  // shares with none
    const bool is_named = seat.has_host_id != 0;
    const auto host = static_cast<std::uint64_t>(comm.state().host_of[rank]);
    const std::tuple place(unknown, is_named, is_named ? seat.host_id : host, seat.gpu);
    groups.push_back(known.try_emplace(place, static_cast<int>(known.size())).first->second);
  }
  return groups;
}

std::unique_ptr<delegate::GpuTeam> join(Communicator& comm, int device, const Introduction& word,
                                        std::string* why) {
  Runtime& runtime = comm.runtime();
  if (!word.is_good) return nullptr;
  GpuLibrary::Place place;
  place.members.assign(comm.group().members().begin(), comm.group().members().end());
  place.me = comm.rank();
  place.device = device;
  place.id = word.id;
  place.tell_others = [&comm, id = word.id] { tell_others(comm, id); };
  place.has_heard = [&comm, id = word.id] { return has_heard(comm, id); };
  auto made = runtime.gpu_library->make_team(runtime.wireup, place, runtime.waiting());
  if (made) return std::move(*made);
  *why = made.error().text;
  return nullptr;
}

// Whose own part failed, says so; who failed for another's sake, only explains.
void tell_failure(const Communicator& comm, const std::string& line) {
  if (line.ends_with(delegate::kAnotherFailed)) return explain_gpus(comm, line);
  log::warn(line + "; our own algorithms serve (TUTTI_GPU_SUPPORT=no asks for no GPU at all)");
}

// One NCCL communicator for all. Alike on all members: errors of one are those of all.
Result<void> join_all(Communicator& comm, int device) {
  Runtime& runtime = comm.runtime();
  GpuCalls& calls = *comm.state().gpu_calls;
  Introduction word;
  std::string why;
  if (comm.rank() == 0) {
    const auto made = runtime.gpu_library->make_id();
    if (made)
      word = {*made, true};
    else
      why = made.error().text;
  }
  if (const Code code =
          meeting_on(comm, watch::Purpose::asks).bcast(std::as_writable_bytes(std::span(&word, 1)));
      code != Code::ok)
    return fail(code, "members could not meet for a call of GPU memory");
  calls.team = join(comm, device, word, &why);
  for (types::Vendor* const vendor : runtime.devices.vendors()) vendor->settle_kernels();
  std::int64_t failed = calls.team == nullptr ? 1 : 0;
  if (!why.empty())
    tell_failure(comm, runtime.gpu_library->name() + " is not used on GPU " +
                           std::to_string(device) + log::in_call() + ": " + why);
  if (const Code code = allreduce_max(comm, std::span(&failed, 1)); code != Code::ok)
    return fail(code, "members could not agree on how to make a call of GPU memory");
  if (failed == 0) return {};
  if (calls.team != nullptr) calls.team->abandon();
  calls.team.reset();
  calls.can[Way::library] = false;
  return {};
}

// Between hosts NCCL speaks by sockets of its own, which nothing protects.
bool may_join_all(const Communicator& comm, const std::vector<Card>& cards, bool shares) {
  const bool is_protected = comm.runtime().knobs.text("TUTTI_LINK_SECURITY") != "none";
  if (comm.state().facts.hosts > 1 && is_protected) {
    explain_gpus(comm, "not NCCL between hosts: TUTTI_LINK_SECURITY asks for what it has not");
    return false;
  }
  if (!shares || std::ranges::all_of(cards, [](const Card& card) { return card.seat.may_share; }))
    return true;
  explain_gpus(comm, "not NCCL between all members: some share a GPU");
  return false;
}

Result<void> divide(Communicator& comm, const std::vector<int>& by_gpu, bool shares) {
  Communicator::State& state = comm.state();
  GpuCalls& calls = *state.gpu_calls;
  if (!calls.can[Way::library] && shares) return make_levels(comm, by_gpu, false);
  if (state.facts.hosts > 1 && state.facts.largest_host > 1)
    return make_levels(comm, state.host_of, true);
  return {};
}

// Who forces it is told by one rank a host.
void tell_no_library(const Runtime& runtime, const std::string& why) {
  const std::string knob = select::library_forced_by(runtime.knobs);
  const std::string line = "NCCL is not used: " + why;
  if (knob.empty() || runtime.wireup.local_rank() > 0) return log::explain(line);
  log::warn(line + "; " + knob + " forces it");
}

Result<void> make_ways(Communicator& comm, int device) {
  GpuCalls& calls = *comm.state().gpu_calls;
  TUTTI_TRY(cards, show_cards(comm, device));
  if (std::ranges::any_of(cards,
                          [&](const Card& card) { return card.version != cards[0].version; })) {
    explain_gpus(comm, "NCCL is not used: members have different versions of it");
    calls.can[Way::library] = false;
    return {};
  }
  const std::vector<int> by_gpu = groups_by_gpu(comm, cards);
  const bool shares = *std::ranges::max_element(by_gpu) + 1 < comm.size();
  if (may_join_all(comm, cards, shares)) {
    TUTTI_DO(join_all(comm, device));
  } else {
    calls.can[Way::library] = false;
  }
  return divide(comm, by_gpu, shares);
}

}  // namespace

void explain_gpus(const Communicator& comm, const std::string& what) {
  log::explain("communicator " + std::to_string(comm.context()) +
               (comm.name.empty() ? "" : " (" + comm.name + ")") + ": " + what);
}

// Opened once a process, when a member's buffers first lie on a GPU.
GpuLibrary* library_of(Runtime& runtime) {
  if (!runtime.gpu_library_tried) {
    runtime.gpu_library_tried = true;
    auto opened = delegate::open_gpu_library();
    if (opened)
      runtime.gpu_library = std::move(*opened);
    else
      tell_no_library(runtime, opened.error().text);
  }
  return runtime.gpu_library.get();
}

// Calls that it makes itself ask nobody.
Result<void> plan(Communicator& comm, int device) {
  Communicator::State& state = comm.state();
  state.gpu_calls->is_planned = true;
  state.gpu_calls->device = device;
  const bool asks = std::exchange(state.asks_gpus, false);
  auto made = make_ways(comm, device);
  state.asks_gpus = asks;
  return made;
}

}  // namespace tutti::comm
