// From GPU to GPU: calls that go past the team of their host.
//
// The team folds, and passes on, in host memory. Where the buffers of all members lie on GPUs that
// read each other's memory, long calls go by a schedule instead: its messages are read from GPU to
// GPU, or packed for that where they have gaps or lie in memory that nobody else opens; its scratch
// is there, too, and folds are kernels, so that nothing passes through host memory.
//
// Where a buffer is only its member knows. So members tell each other, in a call of a few bytes;
// whether they do rests on what they know alike: the bytes, and what came of it before. Of gatherv,
// scatterv and alltoallv nobody knows the others' bytes: these are told in the same call, and where
// they were few the next calls do not ask.
#include <algorithm>
#include <bit>
#include <new>

#include "base/log.h"
#include "base/text.h"
#include "comm/agree.h"
#include "comm/delegated.h"
#include "comm/gpu/calls.h"
#include "comm/scheduled.h"
#include "comm/state.h"

namespace tutti::comm {
namespace {

using delegate::TeamCall;

// What keeps a member from it; the greatest of all counts.
enum class Hindrance : std::uint8_t {
  none,
  host_memory,
  layout,
  operation,
  not_readable,
  not_read
};
constexpr const char* kHindrances[] = {
    "",
    "has buffers in host memory",
    "has buffers on two GPUs, or one in several memories",
    "has an operation, type or place that its GPU does not fold",
    "has buffers that neighbours cannot read, nor its GPU pack for them now",
    "cannot read the GPU memory of a neighbour",
};

// The buffers of this member, seen one by one.
class Buffers {
 public:
  explicit Buffers(Communicator& comm) : comm_(comm) {}
  // A schedule cuts it in so many parts at most.
  void see(const types::Buffer& buffer, int parts = 1) {
    if (buffer.bytes == 0) return;
    types::Device* const device = buffer.device;
    on_gpu_ |= device != nullptr;
    if (device == nullptr || !device->is_usable()) return note(Hindrance::host_memory);
    const bool is_of_one = device_ == nullptr || device == device_;
    if (!is_of_one || device->kind() == MemoryKind::host) return note(Hindrance::layout);
    device_ = device;
    if (worst_ == Hindrance::none && !is_readable(buffer, parts)) note(Hindrance::not_readable);
  }
  void see(const types::Buffer& buffer, const types::Op& op) {
    if (buffer.bytes > 0 && engine::folding_device(buffer, op) == nullptr)
      note(Hindrance::operation);
    see(buffer, comm_.size());
  }
  bool on_gpu() const { return on_gpu_; }
  Hindrance found() const {
    if (worst_ != Hindrance::none || device_ == nullptr) return worst_;
    for (int member = 0; member < comm_.size(); ++member)
      if (member != comm_.rank() &&
          !comm_.runtime().endpoint.reads_devices(comm_.peer(member), device_->kind()))
        return Hindrance::not_read;
    return Hindrance::none;
  }

 private:
  void note(Hindrance hindrance) { worst_ = std::max(worst_, hindrance); }
  // Where it lies, or packed. A part that is too short to be packed passes the host: a block that
  // is short itself may, beside long ones.
  bool is_readable(const types::Buffer& buffer, int parts) {
    p2p::Endpoint& endpoint = comm_.runtime().endpoint;
    const int other = comm_.peer(comm_.rank() == 0 ? 1 : 0);
    const auto bytes = static_cast<std::uint64_t>(buffer.bytes);
    if (bytes <= packed_ || endpoint.lets_read(other, buffer)) return true;
    if (bytes / static_cast<std::uint64_t>(parts) < p2p::Endpoint::kPackedFrom) return parts == 1;
    if (!endpoint.lets_read_packed(other, *device_, bytes)) return false;
    packed_ = bytes;
    return true;
  }

  Communicator& comm_;
  types::Device* device_ = nullptr;
  std::uint64_t packed_ = 0;  // bytes of a buffer that it packs
  bool on_gpu_ = false;       // any, be it as it may
  Hindrance worst_ = Hindrance::none;
};

Buffers buffers_of(Communicator& comm, const TeamCall& said) {
  Buffers buffers(comm);
  const auto whole = [&](const void* data, Count count) {
    return comm.runtime().devices.whole(data, count, *said.type);
  };
  if (said.op != nullptr) {
    const bool scatters = said.collective == coll::Collective::reduce_scatter;
    buffers.see(whole(said.send, scatters ? said.block / said.type->size() : said.count), *said.op);
    if (is_told(comm, said) && said.recv != said.send)
      buffers.see(whole(said.recv, said.count), *said.op);
  } else if (said.uneven == nullptr) {
    const int parts = said.collective == coll::Collective::bcast ? comm.size() : 1;
    buffers.see(said.from, parts);
    buffers.see(said.into, parts);
  } else {
    for (const delegate::BlockList* const side : {&said.uneven->from, &said.uneven->into})
      for (int member = 0; member < static_cast<int>(side->counts.size()); ++member)
        buffers.see(side->of(member));
    buffers.see(said.from);
    buffers.see(said.into);
  }
  return buffers;
}

Count greatest_block(const TeamCall& said) {
  Count greatest = std::max(said.from.bytes, said.into.bytes);
  for (const delegate::BlockList* const side : {&said.uneven->from, &said.uneven->into})
    for (int member = 0; member < static_cast<int>(side->counts.size()); ++member)
      greatest = std::max(greatest, side->bytes(member));
  return greatest;
}

bool is_length_alike(const TeamCall& said) {
  return said.uneven == nullptr || said.op != nullptr ||
         said.collective == coll::Collective::allgatherv;
}

void explain(Communicator& comm, const TeamCall& said, Count length, Hindrance worst, int who) {
  constexpr std::uint64_t kPastTeam = std::uint64_t{1} << 40;
  const auto bytes = static_cast<std::uint64_t>(length);
  const std::uint64_t key = kPastTeam | static_cast<std::uint64_t>(said.collective) << 8 |
                            std::bit_width(bytes) | static_cast<std::uint64_t>(worst) << 16;
  if (!log::explains() || comm.rank() != 0 || !comm.state().gpu_calls->said.insert(key).second)
    return;
  const std::string line =
      std::string(coll::name_of(said.collective)) + ", " + text::format_bytes(bytes) + ": ";
  explain_gpus(comm, worst == Hindrance::none
                         ? line + "every buffer lies on a GPU that the others read: from GPU to GPU"
                         : line + "through host memory: rank " + std::to_string(who) + " " +
                               kHindrances[static_cast<std::size_t>(worst)]);
}

}  // namespace

Result<InsideHost> way_inside_host(Communicator& comm, const CollCall& call, const TeamCall& said) {
  const bool is_alike = is_length_alike(said);
  if (is_alike && !is_long(said.block)) return InsideHost::by_team;
  Communicator::State& state = comm.state();
  const auto wish = take_to_join(comm, [&] {
    if (state.gpu_calls == nullptr) state.gpu_calls = std::make_unique<GpuCalls>();
    return wish_of(comm, call.collective);
  });
  if (wish == GpuCalls::Wish::never) return InsideHost::by_parts;  // nobody asks where memory is
  GpuCalls::Refusals& refusals =
      state.gpu_calls->by_team[static_cast<std::size_t>(call.collective)];
  if (refusals.passes()) return refusals.on_gpus ? InsideHost::by_parts : InsideHost::by_team;
  const auto fingerprint = static_cast<std::int64_t>(said.fingerprint);
  const Buffers mine = take_to_join(comm, [&] { return buffers_of(comm, said); });
  const Hindrance worst_here = mine.found();
  std::int64_t words[] = {static_cast<std::int64_t>(worst_here) << 32 | comm.rank(), fingerprint,
                          -fingerprint, is_alike ? said.block : greatest_block(said),
                          mine.on_gpu() ? 1 : 0};
  if (const Code code = allreduce_max(comm, words); code != Code::ok)
    return fail(code, "members could not agree on how to make a call of GPU memory");
  if (words[1] != -words[2]) return InsideHost::by_team;  // which says who calls something else
  const auto worst = static_cast<Hindrance>(words[0] >> 32);
  refusals.on_gpus = words[4] != 0;
  if (worst == Hindrance::none && !is_long(words[3])) {
    refusals.note_short();
    return InsideHost::by_team;
  }
  refusals.note(worst != Hindrance::none);
  if (is_long(words[3])) try {
      explain(comm, said, words[3], worst, static_cast<int>(words[0] & 0xffffffff));
    } catch (const std::bad_alloc&) {  // then it is not said
    }
  if (worst == Hindrance::none) return InsideHost::past_team;
  return refusals.on_gpus ? InsideHost::by_parts : InsideHost::by_team;
}

}  // namespace tutti::comm
