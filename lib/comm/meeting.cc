// Meetings: single schedules, run by the engine over a list of job ranks.
#include "comm/meeting.h"

#include <algorithm>

#include "base/check.h"
#include "comm/fingerprint.h"
#include "comm/scheduled.h"
#include "types/handles.h"

namespace tutti::comm {
namespace {

// Above the numbers of communicators, below p2p's own (p2p/channel.h).
constexpr std::uint32_t kAmong = 0x4000'0000U;

std::uint64_t hash_of(std::uint64_t hash, std::uint64_t word) {
  return (hash ^ word) * 0x100'0000'01b3U;  // FNV-1a
}
constexpr std::uint64_t kNothingYet = 0xcbf2'9ce4'8422'2325U;

std::uint64_t hash_of(std::uint64_t hash, std::span<const int> members) {
  for (const int member : members) hash = hash_of(hash, static_cast<std::uint32_t>(member));
  return hash;
}

std::uint32_t context_of(std::uint64_t hash) {
  return kAmong | (static_cast<std::uint32_t>(hash >> 32) & (kAmong - 1)) | 1U;  // a collective's
}

}  // namespace

MeetingPoint place_of(std::uint32_t known_context, int tag, std::span<const int> members) {
  return {context_of(hash_of(hash_of(kNothingYet, known_context), members)), tag};
}

MeetingPoint place_of(std::string_view text, std::span<const int> members) {
  std::uint64_t hash = kNothingYet;
  for (const char c : text) hash = hash_of(hash, static_cast<unsigned char>(c));
  hash = hash_of(hash_of(hash, kMeetingContext), members);
  return {context_of(hash), static_cast<int>(hash & 0x7fff'ffffU)};
}

Meeting::Meeting(Runtime& runtime, std::span<const int> members, const MeetingPoint& place,
                 watch::Purpose purpose)
    : runtime_(runtime), members_(members), place_(place), purpose_(purpose) {
  const auto me = std::find(members.begin(), members.end(), runtime.rank());
  if (me != members.end()) rank_ = static_cast<int>(me - members.begin());
}

// The schedules are of the catalogue and serve any team: building cannot fail.
Meeting::Planned Meeting::plan(coll::RankCall call, const char* algorithm,
                               const Words& words) const {
  call.rank = rank_;
  call.size = size();
  call.in_place = call.collective != coll::Collective::bcast;
  auto schedule = coll::build(*coll::find(call.collective, algorithm), call);
  TUTTI_CHECK(schedule.has_value(), "a meeting without a schedule");
  auto run =
      std::make_unique<engine::Run>(runtime_.endpoint, runtime_.scratch,
                                    std::make_shared<const engine::Program>(std::move(*schedule)));
  engine::Binding& binding = run->rebind();
  if (words.reduces) {
    binding.type = types::predefined_type(types::abi::kInt64);
    binding.op = types::predefined_op(types::abi::kMax);
  }
  binding.out.whole = {words.data, words.count, binding.type};
  binding.context = place_.context;
  binding.tag = place_.tag;
  const Count bytes = binding.type == nullptr ? words.count : words.count * binding.type->size();
  binding.fingerprint = watch::mark_own(
      purpose_, fingerprint_of(call.collective, binding.op, call.root, bytes, binding.type));
  binding.rank = rank_;
  binding.peers = members_;
  return run;
}

Code Meeting::run(Planned planned) const {
  planned->begin();
  const Code code = engine::wait(runtime_.endpoint, *planned);
  if (code != Code::ok) runtime_.reason = reason_of(*planned);
  return code;
}

Meeting::Planned Meeting::plan_allreduce_max(std::span<std::int64_t> values) const {
  coll::RankCall call;
  call.collective = coll::Collective::allreduce;
  call.count = static_cast<Count>(values.size());
  return plan(call, "recursive_doubling", {values.data(), call.count, true});
}

Meeting::Planned Meeting::plan_bcast(std::span<std::byte> word, int from) const {
  coll::RankCall call;
  call.collective = coll::Collective::bcast;
  call.count = static_cast<Count>(word.size());
  call.root = from;
  return plan(call, "binomial", {word.data(), call.count, false});
}

Code Meeting::allreduce_max(std::span<std::int64_t> values) const {
  return size() == 1 ? Code::ok : run(plan_allreduce_max(values));
}

Code Meeting::bcast(std::span<std::byte> word, int from) const {
  return size() == 1 ? Code::ok : run(plan_bcast(word, from));
}

Code Meeting::allgather(std::span<std::byte> all) const {
  if (size() == 1) return Code::ok;
  coll::RankCall call;
  call.collective = coll::Collective::allgather;
  call.count = static_cast<Count>(all.size()) / size();
  return run(plan(call, "bruck", {all.data(), static_cast<Count>(all.size()), false}));
}

namespace {

// Pairs share contexts with collectives, whose messages say places in their teams.
p2p::Envelope word_of(int speaker, const MeetingPoint& at) {
  return {at.context, p2p::as_job_rank(speaker), at.tag, 0};
}

types::Buffer words_at(std::span<const std::byte> bytes) {
  return types::Buffer::plain(const_cast<std::byte*>(bytes.data()),
                              static_cast<Count>(bytes.size()));
}

p2p::Pending* send_word(Runtime& runtime, int peer, const MeetingPoint& at,
                        std::span<const std::byte> mine) {
  return runtime.endpoint.send(p2p::Mode::standard, peer, word_of(runtime.rank(), at),
                               words_at(mine));
}

Code end_of(Runtime& runtime, p2p::Pending* request) {
  if (!request->done) runtime.endpoint.wait(request);
  const Code code = request->status.code;
  runtime.endpoint.release(request);
  return code;
}

}  // namespace

Code swap_words(Runtime& runtime, int peer, const MeetingPoint& at, std::span<const std::byte> mine,
                std::span<std::byte> theirs) {
  p2p::Pending* const received = runtime.endpoint.recv(peer, word_of(peer, at), words_at(theirs));
  p2p::Pending* const sent = send_word(runtime, peer, at, mine);
  const Code heard = end_of(runtime, received);
  const Code said = end_of(runtime, sent);
  return heard != Code::ok ? heard : said;
}

Code hear_word(Runtime& runtime, int peer, const MeetingPoint& at, std::span<std::byte> theirs) {
  return end_of(runtime, runtime.endpoint.recv(peer, word_of(peer, at), words_at(theirs)));
}

void say_word(Runtime& runtime, int peer, const MeetingPoint& at, std::span<const std::byte> mine) {
  const auto& kept = runtime.last_words.emplace_back(mine.begin(), mine.end());
  runtime.endpoint.release(send_word(runtime, peer, at, kept));
}

void give_up_word(Runtime& runtime, int peer, const MeetingPoint& at) {
  p2p::Envelope word = word_of(runtime.rank(), at);
  word.gave_up = p2p::GaveUp::failed;
  runtime.endpoint.release(
      runtime.endpoint.send(p2p::Mode::standard, peer, word, types::Buffer::plain(nullptr, 0)));
}

}  // namespace tutti::comm
