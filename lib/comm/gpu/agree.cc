// The words of members that a call of GPU memory begins with.
#include "comm/gpu/agree.h"

#include <algorithm>
#include <thread>

#include "comm/agree.h"
#include "comm/fingerprint.h"
#include "comm/state.h"

namespace tutti::comm {
namespace {

using delegate::GpuCall;

constexpr const char* kObstacles[] = {
    "",
    "has streams",
    "has buffers in host memory",
    "moves nothing, and has chosen no GPU",
    "has buffers in a context that the program has made, not in the GPU's primary context",
    "has buffers with gaps, on two GPUs, or in place where blocks would lie over each other",
    "has buffers on another GPU than in the calls before",
    "makes a call by the library on another communicator, in another thread",
    "has calls in streams under way",
    "has nothing to give: its call was refused",
    "has a stream whose maker has not promised that buffers lie on its GPU",
    "has another communicator whose calls in a stream go by the library",
    "cannot open the library (its TUTTI_EXPLAIN says why)",
    "could not join the others, or failed (its TUTTI_EXPLAIN says why)",
};

Count moved_by(const GpuCall& said) {
  Count gives = 0, takes = 0;
  for (const GpuCall::Piece& piece : said.gives) gives += piece.bytes;
  for (const GpuCall::Piece& piece : said.takes) takes += piece.bytes;
  return std::max(gives, takes);
}

Result<Agreed> agree_once(Communicator& comm, const GpuCall& said, Obstacle mine) {
  const auto fingerprint = static_cast<std::int64_t>(said.said.fingerprint);
  std::int64_t words[] = {static_cast<std::int64_t>(mine) << 32 | comm.rank(), fingerprint,
                          -fingerprint, known_bytes(comm, said).value_or(moved_by(said)),
                          comm.state().gpu_calls->last.ns};
  if (const Code code = allreduce_max(comm, words); code != Code::ok)
    return fail(code, "members could not agree on how to make a call of GPU memory");
  Agreed agreed;
  agreed.obstacle = static_cast<Obstacle>(words[0] >> 32);
  agreed.who = static_cast<int>(words[0] & 0xffffffff);
  agreed.is_alike = words[1] == -words[2];
  agreed.bytes = words[3];
  agreed.last_ns = words[4];
  return agreed;
}

}  // namespace

const char* text_of(Obstacle obstacle) {
  return kObstacles[static_cast<std::size_t>(obstacle)];
}

GpuTurn::GpuTurn(Runtime& runtime) : runtime_(runtime) {
  const std::thread::id me = std::this_thread::get_id();
  is_outermost_ = runtime.gpu_turn.whose == std::thread::id();
  is_mine_ = is_outermost_ || runtime.gpu_turn.whose == me;
  if (is_outermost_) runtime.gpu_turn.whose = me;
}

GpuTurn::~GpuTurn() {
  if (!is_outermost_) return;
  if (runtime_.gpu_turn.rests) runtime_.devices.enqueued()->end_rest();
  runtime_.gpu_turn = {};
}

Obstacle GpuTurn::obstacle() const {
  if (!is_mine_) return Obstacle::another_call;
  const types::Enqueued* const enqueued = runtime_.devices.enqueued();
  if (enqueued == nullptr || runtime_.gpu_turn.rests) return Obstacle::none;
  return enqueued->is_under_way() ? Obstacle::calls_in_streams : Obstacle::has_streams;
}

bool GpuTurn::rest() {
  types::Enqueued* const enqueued = runtime_.devices.enqueued();
  if (enqueued == nullptr || runtime_.gpu_turn.rests) return true;
  return runtime_.gpu_turn.rests = enqueued->begin_rest();
}

Result<Agreed> agree(Communicator& comm, const GpuCall& said, Obstacle mine, GpuTurn& turn) {
  auto agreed = agree_once(comm, said, mine);
  if (!agreed || agreed->obstacle != Obstacle::has_streams) return agreed;
  return agree_once(comm, said, turn.rest() ? Obstacle::none : Obstacle::calls_in_streams);
}

}  // namespace tutti::comm
