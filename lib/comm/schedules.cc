// Choosing and keeping schedules.
//
// Everything a choice depends on must be alike on all members: facts are settled when the
// communicator is made, and sizes enter as powers of two, so that a choice does not depend on
// which call came first.
#include <bit>
#include <cmath>

#include "base/log.h"
#include "base/text.h"
#include "comm/state.h"

namespace tutti::comm {
namespace {

constexpr std::uint64_t kMayDelegate = 1U << 8;  // in the key of a choice

Count class_floor(Count value) {
  return value <= 0 ? 0 : static_cast<Count>(std::bit_floor(static_cast<std::uint64_t>(value)));
}

std::uint64_t width(Count value) {
  return static_cast<std::uint64_t>(std::bit_width(static_cast<std::uint64_t>(value)));
}

// The communicator's word on this collective: "allreduce=ring,bcast=binomial".
std::string forced_name(const std::string& list, coll::Collective collective) {
  for (const std::string& entry : text::split(list, ',')) {
    const auto equals = entry.find('=');
    if (equals != std::string::npos && text::trim(entry.substr(0, equals)) == name_of(collective))
      return std::string(text::trim(entry.substr(equals + 1)));
  }
  return {};
}

bool is_commutative(const Shape& shape) {
  return shape.op == nullptr || shape.op->is_commutative();
}

void explain(const Communicator& comm, const select::Question& question,
             const select::Choice& choice) {
  std::string line(coll::name_of(question.collective));
  line += " on communicator " + std::to_string(comm.context());
  if (!comm.name.empty()) line += " (" + comm.name + ")";
  line += ", " + text::format_bytes(static_cast<std::uint64_t>(question.bytes)) + ": ";
  line += choice.algorithm == nullptr ? "shm" : choice.algorithm->name;
  if (choice.segment_bytes > 0)
    line +=
        " in segments of " + text::format_bytes(static_cast<std::uint64_t>(choice.segment_bytes));
  log::explain(line + "; " + choice.why);
}

}  // namespace

Result<const select::Choice*> choice_for(Communicator& comm, const Shape& shape, bool delegates) {
  Communicator::State& state = comm.state();
  select::Question question;
  question.collective = shape.collective;
  question.bytes = class_floor(shape.bytes);
  question.count = class_floor(shape.count);
  if (has_counts(shape.collective)) question.count = question.bytes;
  question.commutative = is_commutative(shape);
  question.predefined_op = shape.op == nullptr || !shape.op->is_user();
  delegates = delegates && state.team != nullptr;
  const std::uint64_t key =
      static_cast<std::uint64_t>(shape.collective) | (delegates ? kMayDelegate : 0) |
      std::uint64_t{question.commutative} << 9 | std::uint64_t{question.predefined_op} << 10 |
      width(question.bytes) << 16 | width(question.count) << 24;
  if (const auto found = state.choices.find(key); found != state.choices.end())
    return &found->second;
  question.forced = forced_name(comm.forced(), shape.collective);
  // Over several hosts a forced "shm" is an error; elsewhere it gives way call by call.
  question.may_delegate = delegates || state.facts.hosts > 1;
  TUTTI_TRY(choice, select::choose(question, state.facts, comm.runtime().knobs, log::explains()));
  // Asked again without the delegate, because a schedule was better anyway: said before.
  const auto before = state.choices.find(key | kMayDelegate);
  const bool is_new = before == state.choices.end() || before->second.algorithm != choice.algorithm;
  if (log::explains() && is_new && comm.rank() == 0) explain(comm, question, choice);
  return &state.choices.emplace(key, std::move(choice)).first->second;
}

namespace {

Result<std::shared_ptr<Prepared>> build(const Communicator& comm, const Shape& shape,
                                        const coll::Algorithm& algorithm, Count segment) {
  coll::Call call;
  call.collective = shape.collective;
  call.rank = comm.rank();
  call.size = comm.size();
  call.root = shape.root;
  call.count = shape.count;
  call.counts = shape.counts;
  call.send_counts = shape.send_counts;
  call.in_place = shape.in_place;
  call.commutative = is_commutative(shape);
  call.segment = segment;
  call.host_of = comm.state().host_of;
  TUTTI_TRY(schedule, coll::build(algorithm, call));
  auto prepared = std::make_shared<Prepared>();
  prepared->program = std::make_shared<const engine::Program>(std::move(schedule));
  return prepared;
}

// The one that is kept under this key, else one that `make` makes, which is kept from now on.
template <class Key, class Make>
Result<std::shared_ptr<Prepared>> kept(Communicator::State::Schedules<Key>& schedules, Key key,
                                       const Make& make) {
  if (const auto found = schedules.find(key); found != schedules.end()) return found->second;
  TUTTI_TRY(prepared, make());
  // Any victim serves: a program that needs more than this many shapes reuses none of them.
  if (schedules.size() >= Communicator::State::kMostPrepared) schedules.erase(schedules.begin());
  schedules.emplace(std::move(key), prepared);
  return prepared;
}

}  // namespace

Result<std::shared_ptr<Prepared>> prepare(Communicator& comm, const Shape& shape,
                                          const select::Choice& choice) {
  Communicator::State& state = comm.state();
  const Count unit = shape.reduces ? std::max<Count>(1, shape.type->size()) : 1;
  const Count segment =
      choice.segment_bytes > 0 ? std::max<Count>(1, choice.segment_bytes / unit) : 0;
  const ScheduleKey key{choice.algorithm, shape.count,    segment,
                        shape.root,       shape.in_place, is_commutative(shape)};
  const auto make = [&] { return build(comm, shape, *choice.algorithm, segment); };
  if (!has_counts(shape.collective)) return kept(state.prepared, key, make);
  return kept(state.prepared_by_counts, CountsKey{key, shape.counts, shape.send_counts}, make);
}

std::unique_ptr<engine::Run> take_run(Communicator& comm, Prepared& prepared) {
  if (prepared.idle.empty()) {
    Runtime& runtime = comm.runtime();
    return engine::make_run(runtime.endpoint, runtime.scratch, prepared.program);
  }
  auto run = std::move(prepared.idle.back());
  prepared.idle.pop_back();
  run->on_done = nullptr;
  run->owner = nullptr;
  return run;
}

void give_run(Prepared& prepared, std::unique_ptr<engine::Run> run) {
  if (prepared.idle.size() < Communicator::State::kMostIdle)
    prepared.idle.push_back(std::move(run));
}

}  // namespace tutti::comm
