// Meetings: single schedules, run by the engine over a list of job ranks.
#include "comm/meeting.h"

#include <algorithm>

#include "base/check.h"
#include "comm/fingerprint.h"

namespace tutti::comm {
namespace {

constexpr Handle kInt64 = 0x258;  // MPI_INT64_T, MPI_MAX of the standard ABI
constexpr Handle kMax = 0x23;
constexpr int kLeaders = -0x40000003;  // below the tags of create_group
constexpr int kTexts = -3;             // in the context of meetings, which has no other tags

}  // namespace

int group_tag(int tag) {
  return -3 - (tag & 0x3fffffff);
}
int leader_tag(int tag) {
  return kLeaders - (tag & 0x3ffffff);
}
int text_tag(std::string_view text) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return kTexts - static_cast<int>(hash & 0x3fffffffU);
}

int tag_among(int tag, std::span<const int> members) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const int member : members) hash = (hash ^ static_cast<std::uint32_t>(member)) * 16777619U;
  return -3 - ((-3 - tag) ^ static_cast<int>(hash & 0x3fffffffU));
}

Meeting::Meeting(World& world, std::span<const int> members, std::uint32_t context, int tag)
    : world_(world), members_(members), context_(context), tag_(tag) {
  const auto me = std::find(members.begin(), members.end(), world.rank());
  if (me != members.end()) rank_ = static_cast<int>(me - members.begin());
}

// The schedules are of the catalogue and serve any team: building cannot fail.
Meeting::Planned Meeting::plan(coll::Call call, const char* algorithm, const Words& words) const {
  call.rank = rank_;
  call.size = size();
  call.in_place = call.collective != coll::Collective::bcast;
  auto schedule = coll::build(*coll::find(call.collective, algorithm), call);
  TUTTI_CHECK(schedule.has_value(), "a meeting without a schedule");
  Planned planned;
  engine::Binding& binding = planned.binding;
  if (words.reduces) {
    binding.type = types::predefined_type(kInt64);
    binding.op = types::predefined_op(kMax);
  }
  binding.out.whole = {words.data, words.count, binding.type};
  binding.context = context_;
  binding.tag = tag_;
  binding.fingerprint = fingerprint_of(call.collective, binding.op, 0, 0);
  binding.rank = rank_;
  binding.peers = members_;
  planned.run = engine::make_run(world_.endpoint, world_.scratch,
                                 std::make_shared<const engine::Program>(std::move(*schedule)));
  return planned;
}

Code Meeting::run(Planned planned) const {
  planned.run->begin(std::move(planned.binding));
  return engine::wait(world_.endpoint, *planned.run);
}

Meeting::Planned Meeting::plan_maximum(std::span<std::int64_t> values) const {
  coll::Call call;
  call.collective = coll::Collective::allreduce;
  call.count = static_cast<Count>(values.size());
  return plan(call, "recursive_doubling", {values.data(), call.count, true});
}

Meeting::Planned Meeting::plan_tell(std::span<std::byte> word, int from) const {
  coll::Call call;
  call.collective = coll::Collective::bcast;
  call.count = static_cast<Count>(word.size());
  call.root = from;
  return plan(call, "binomial", {word.data(), call.count, false});
}

Code Meeting::maximum(std::span<std::int64_t> values) const {
  return size() == 1 ? Code::ok : run(plan_maximum(values));
}

Code Meeting::tell(std::span<std::byte> word, int from) const {
  return size() == 1 ? Code::ok : run(plan_tell(word, from));
}

Code Meeting::gather(std::span<std::byte> all) const {
  if (size() == 1) return Code::ok;
  coll::Call call;
  call.collective = coll::Collective::allgather;
  call.count = static_cast<Count>(all.size()) / size();
  return run(plan(call, "bruck", {all.data(), static_cast<Count>(all.size()), false}));
}

Code swap_words(World& world, int peer, const Meeting& at, std::span<const std::byte> mine,
                std::span<std::byte> theirs) {
  const p2p::Envelope envelope{at.context(), 0, at.tag(), 0};
  const auto plain = [](std::span<const std::byte> bytes) {
    return types::Buffer::plain(const_cast<std::byte*>(bytes.data()),
                                static_cast<Count>(bytes.size()));
  };
  p2p::Request* const received = world.endpoint.recv(peer, envelope, plain(theirs));
  p2p::Request* const sent = world.endpoint.send(p2p::Mode::standard, peer, envelope, plain(mine));
  Code code = Code::ok;
  for (p2p::Request* request : {received, sent}) {
    if (!request->done) world.endpoint.wait(request);
    if (code == Code::ok) code = request->status.code;
    world.endpoint.release(request);
  }
  return code;
}

}  // namespace tutti::comm
