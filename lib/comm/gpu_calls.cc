// Who decides: where a member's memory is, only that member knows. So members first tell each
// other, in a call of a few bytes, whether they can, and go by what the worst says. Whether they
// ask rests on what they know alike: collective, bytes, type, operation, knobs.
//
//   wanted()    alike: is it worth asking
//   obstacle()  this member's own: what keeps it from it
//   agree()     the greatest obstacle of all
//   team_of()   at the first call that all can make: an NCCL communicator, or never one here
#include "comm/gpu_calls.h"

#include "base/log.h"
#include "base/text.h"
#include "comm/agree.h"
#include "comm/delegated.h"
#include "comm/fingerprint.h"
#include "comm/meeting.h"
#include "comm/state.h"

namespace tutti::comm {
namespace {

using coll::Collective;
using delegate::GpuLibrary;

// Below it our own are ahead: NCCL's start of a kernel on every GPU takes longer.
constexpr Count kPays = Count{64} << 10;

// In the order of how much stands in the way; from `no_library` on it will not be otherwise later.
enum class Obstacle : std::uint8_t { none, host_memory, layout, another_gpu, no_library, no_team };
constexpr const char* kObstacles[] = {
    "",
    "has buffers in host memory",
    "has buffers with gaps, or on two GPUs",
    "has buffers on another GPU than in the calls before",
    "cannot open the library (its TUTTI_EXPLAIN says why)",
    "could not join the others (its TUTTI_EXPLAIN says why)",
};

Count bytes_of(const Communicator& comm, const delegate::TeamCall& said) {
  const bool is_blocks = coll::delegated(said.collective).kind == coll::Delegated::blocks;
  return is_blocks ? said.block * comm.size() : said.block;
}

GpuCalls::Wish wish_of(Communicator& comm, Collective collective) {
  GpuCalls::Wish& wish = comm.state().gpu_calls->wishes[static_cast<std::size_t>(collective)];
  if (wish != GpuCalls::Wish::unknown) return wish;
  const std::string forced = select::forced_algorithm(
      collective, forced_name(comm.forced(), collective), comm.runtime().knobs);
  return wish = forced.empty()                    ? GpuCalls::Wish::when_it_pays
                : forced == coll::kGpuLibraryName ? GpuCalls::Wish::always
                                                  : GpuCalls::Wish::never;
}

bool wanted(Communicator& comm, const delegate::TeamCall& said) {
  if (said.collective == Collective::barrier || said.block == 0) return false;
  const GpuCalls::Wish wish = wish_of(comm, said.collective);
  return wish == GpuCalls::Wish::always ||
         (wish == GpuCalls::Wish::when_it_pays && bytes_of(comm, said) >= kPays);
}

// The GPU of this member's buffers.
class Where {
 public:
  explicit Where(const types::Devices& devices) : devices_(devices) {}
  void see(const void* address) { note(devices_.owner_of(address)); }
  void see(const types::Buffer& buffer) {
    if (buffer.bytes == 0) return;
    is_one_run_ = is_one_run_ && buffer.is_one_run();
    note(buffer.device);
  }
  Obstacle obstacle() const {
    if (on_host_ || device_ < 0) return Obstacle::host_memory;
    return on_two_ || !is_one_run_ ? Obstacle::layout : Obstacle::none;
  }
  int device() const { return device_; }

 private:
  void note(const types::Device* device) {
    if (device == nullptr) {
      on_host_ = true;
      return;
    }
    on_two_ = on_two_ || (device_ >= 0 && device_ != device->number());
    device_ = device->number();
  }
  const types::Devices& devices_;
  bool on_host_ = false, on_two_ = false, is_one_run_ = true;
  int device_ = -1;
};

Where where_is(const Communicator& comm, const delegate::TeamCall& said) {
  Where where(comm.runtime().devices);
  if (said.op == nullptr) {
    where.see(said.from);
    where.see(said.into);
    return where;
  }
  where.see(said.send);
  const bool is_told = said.collective != Collective::reduce || comm.rank() == said.root;
  if (is_told && said.recv != said.send) where.see(said.recv);
  return where;
}

void explain(const Communicator& comm, const std::string& what) {
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
      log::explain("NCCL is not used: " + opened.error().text);
  }
  return runtime.gpu_library.get();
}

Obstacle obstacle(const Communicator& comm, const Where& where) {
  if (const Obstacle found = where.obstacle(); found != Obstacle::none) return found;
  if (library_of(comm.runtime()) == nullptr) return Obstacle::no_library;
  const GpuCalls& calls = *comm.state().gpu_calls;
  return calls.team != nullptr && calls.device != where.device() ? Obstacle::another_gpu
                                                                 : Obstacle::none;
}

struct Agreed {
  Obstacle obstacle = Obstacle::none;
  int who = 0;
};

// The greatest, and the last of the members that say so.
Result<Agreed> agree(Communicator& comm, Obstacle mine) {
  std::int64_t word = static_cast<std::int64_t>(mine) << 32 | comm.rank();
  if (const Code code = greatest(comm, word); code != Code::ok)
    return fail(code, "members could not agree on how to make a call of GPU memory");
  return Agreed{static_cast<Obstacle>(word >> 32), static_cast<int>(word & 0xffffffff)};
}

struct Introduction {
  GpuLibrary::Id id{};
  bool is_good = false;
};

// Alike on all members: errors of one are those of all.
Result<Agreed> make_team(Communicator& comm, int device) {
  Runtime& runtime = comm.runtime();
  GpuCalls& calls = *comm.state().gpu_calls;
  Introduction word;
  std::string why = "the first member could not make an id";
  if (comm.rank() == 0) {
    const auto made = runtime.gpu_library->make_id();
    if (made)
      word = {*made, true};
    else
      why = made.error().text;
  }
  if (const Code code = meeting_on(comm).tell(std::as_writable_bytes(std::span(&word, 1)));
      code != Code::ok)
    return fail(code, "members could not meet for a call of GPU memory");
  GpuLibrary::Place place;
  place.members.assign(comm.group().members().begin(), comm.group().members().end());
  place.me = comm.rank();
  place.device = device;
  place.id = word.id;
  if (word.is_good) {
    auto made = runtime.gpu_library->make_team(runtime.wireup, place, runtime.waiting());
    if (made)
      calls.team = std::move(*made);
    else
      why = made.error().text;
  }
  calls.device = device;
  if (calls.team == nullptr) explain(comm, runtime.gpu_library->name() + " is not used: " + why);
  return agree(comm, calls.team == nullptr ? Obstacle::no_team : Obstacle::none);
}

void explain(Communicator& comm, const delegate::TeamCall& said, const Agreed& agreed) {
  GpuCalls& calls = *comm.state().gpu_calls;
  const auto bytes = static_cast<std::uint64_t>(bytes_of(comm, said));
  const std::uint64_t key = static_cast<std::uint64_t>(said.collective) |
                            static_cast<std::uint64_t>(agreed.obstacle) << 8 |
                            static_cast<std::uint64_t>(std::bit_width(bytes)) << 16;
  if (!log::explains() || comm.rank() != 0 || !calls.said.insert(key).second) return;
  const std::string call =
      std::string(coll::name_of(said.collective)) + ", " + text::format_bytes(bytes) + ": ";
  if (agreed.obstacle == Obstacle::none)
    explain(comm, call + comm.runtime().gpu_library->name() +
                      (wish_of(comm, said.collective) == GpuCalls::Wish::always
                           ? "; forced, and every buffer lies on a GPU"
                           : "; every buffer lies on a GPU, from 64 KiB on it is ahead"));
  else
    explain(comm, call + "not NCCL: rank " + std::to_string(agreed.who) + " " +
                      kObstacles[static_cast<std::size_t>(agreed.obstacle)]);
}

// Members that cannot now, or never can. What an error ends the call with, it ends it with on all.
std::optional<Code> give_up(Communicator& comm, const Error& error) {
  comm.runtime().reason = {error.text};
  return error.code;
}

}  // namespace

std::optional<Code> run_on_gpus(Communicator& comm, const CollCall& call) {
  delegate::TeamCall said;
  if (call.neighbours || !say_to_team(comm, call, said) || !delegate::serves_on_gpus(said))
    return std::nullopt;
  Communicator::State& state = comm.state();
  if (state.gpu_calls == nullptr) state.gpu_calls = std::make_unique<GpuCalls>();
  if (!wanted(comm, said)) return std::nullopt;
  const Where where = where_is(comm, said);
  auto agreed = agree(comm, obstacle(comm, where));
  if (!agreed) return give_up(comm, agreed.error());
  if (agreed->obstacle == Obstacle::none && state.gpu_calls->team == nullptr) {
    agreed = make_team(comm, where.device());
    if (!agreed) return give_up(comm, agreed.error());
  }
  explain(comm, said, *agreed);
  if (agreed->obstacle >= Obstacle::no_library) {
    state.asks_gpus = false;
    state.gpu_calls->team.reset();
  }
  if (agreed->obstacle != Obstacle::none) return std::nullopt;
  remember(comm, Communicator::State::Kind::blocking,
           {said.fingerprint, 0, said.root, said.block, call.is_last});
  return state.gpu_calls->team->run(said);
}

}  // namespace tutti::comm
