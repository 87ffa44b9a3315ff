// Choosing and keeping schedules.
//
// Everything a choice depends on must be alike on all members: facts are settled when the
// communicator is made, and sizes enter as powers of two, so that a choice does not depend on
// which call came first.
#include <bit>
#include <cmath>
#include <new>

#include "base/log.h"
#include "base/text.h"
#include "comm/state.h"

namespace tutti::comm {
namespace {

constexpr int kAmongAt = 8;  // in the key of a choice
std::uint64_t key_of(Among among) {
  return static_cast<std::uint64_t>(among) << kAmongAt;
}

Count class_floor(Count value) {
  return value <= 0 ? 0 : static_cast<Count>(std::bit_floor(static_cast<std::uint64_t>(value)));
}

std::uint64_t width(Count value) {
  return static_cast<std::uint64_t>(std::bit_width(static_cast<std::uint64_t>(value)));
}

}  // namespace

std::string forced_name(const std::string& list, coll::Collective collective) {
  for (const std::string& entry : text::split(list, ',')) {
    const auto equals = entry.find('=');
    if (equals != std::string::npos &&
        text::trim(entry.substr(0, equals)) == coll::name_of(collective))
      return std::string(text::trim(entry.substr(equals + 1)));
  }
  return {};
}

namespace {

bool is_commutative(const CallShape& shape) {
  return shape.op == nullptr || shape.op->is_commutative();
}

void explain(const Communicator& comm, const select::Question& question,
             const select::Choice& choice) {
  std::string line(coll::name_of(question.collective));
  line += " on communicator " + std::to_string(comm.context());
  if (!comm.name.empty()) line += " (" + comm.name + ")";
  line += ", " + text::format_bytes(static_cast<std::uint64_t>(question.bytes)) + ": ";
  line += choice.algorithm == nullptr ? coll::kDelegateName : choice.algorithm->name;
  if (choice.segment_bytes > 0)
    line +=
        " in segments of " + text::format_bytes(static_cast<std::uint64_t>(choice.segment_bytes));
  log::explain(line + "; " + choice.why);
}

}  // namespace

Result<const select::Choice*> choice_for(Communicator& comm, const CallShape& shape, Among among) {
  Communicator::State& state = comm.state();
  select::Question question;
  question.collective = shape.collective;
  question.bytes = class_floor(shape.bytes);
  question.commutative = is_commutative(shape);
  const std::uint64_t kind = static_cast<std::uint64_t>(shape.collective) |
                             std::uint64_t{question.commutative} << 10 | width(shape.bytes) << 16;
  const std::uint64_t key = kind | key_of(among);
  if (const auto found = state.choices.find(key); found != state.choices.end())
    return &found->second;
  question.forced = forced_name(comm.forced(), shape.collective);
  // Over several hosts a forced "shm" is an error; elsewhere it gives way call by call.
  question.may_delegate = among == Among::all || state.facts.hosts > 1;
  const auto& costs = comm.runtime().wireup.segment().header().costs;
  const bool is_on_gpus = among == Among::schedules_on_gpus;
  const select::TeamFacts facts =
      is_on_gpus ? select::facts_on_gpus(state.facts, costs) : state.facts;
  TUTTI_TRY(choice, select::choose(question, facts, comm.runtime().knobs, log::explains()));
  // Asked again without the delegate, because this call is another kind of call: said before.
  const auto before = state.choices.find(kind | key_of(Among::all));
  const bool is_new = before == state.choices.end() || before->second.algorithm != choice.algorithm;
  if (log::explains() && is_new && comm.rank() == 0) explain(comm, question, choice);
  return &state.choices.emplace(key, std::move(choice)).first->second;
}

Result<const select::Choice*> choice_of_size(Communicator& comm, const CollCall& call,
                                             Count bytes) {
  TUTTI_TRY(choice, choice_for(comm, shape_of(comm, call), Among::all));
  auto& row = comm.state().quick[static_cast<std::size_t>(call.collective)];
  if (row == nullptr) row = std::make_unique<Communicator::State::BySize>();
  return (*row)[Communicator::State::size_class(bytes)] = choice;
}

namespace {

Result<sched::Schedule> build(const Communicator& comm, const CallShape& shape,
                              const coll::Algorithm& algorithm, Count segment) {
  coll::RankCall call;
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
  return coll::build(algorithm, call);
}

template <class Key>
std::shared_ptr<Prepared> find_in(const Communicator::State::Schedules<Key>& schedules,
                                  const Key& key) {
  const auto found = schedules.find(key);
  return found == schedules.end() ? nullptr : found->second;
}

template <class Key>
std::shared_ptr<Prepared> keep_in(Communicator::State::Schedules<Key>& schedules, Key key,
                                  sched::Schedule made) {
  auto prepared = std::make_shared<Prepared>();
  prepared->program = std::make_shared<const engine::Program>(std::move(made));
  // Any victim serves: a program that needs more than this many shapes reuses none of them.
  if (schedules.size() >= Communicator::State::kMostPrepared) schedules.erase(schedules.begin());
  schedules.emplace(std::move(key), prepared);
  return prepared;
}

}  // namespace

std::shared_ptr<Prepared> find_kept(Communicator& comm, const CountsKey& key) {
  return find_in(comm.state().prepared_by_counts, key);
}

std::shared_ptr<Prepared> keep(Communicator& comm, CountsKey key, sched::Schedule made) {
  return keep_in(comm.state().prepared_by_counts, std::move(key), std::move(made));
}

Result<std::shared_ptr<Prepared>> prepare(Communicator& comm, const CallShape& shape,
                                          const select::Choice& choice) {
  Communicator::State& state = comm.state();
  const Count unit = shape.reduces ? std::max<Count>(1, shape.type->size()) : 1;
  const Count segment =
      choice.segment_bytes > 0 ? std::max<Count>(1, choice.segment_bytes / unit) : 0;
  const ScheduleKey key{choice.algorithm, shape.count,    segment,
                        shape.root,       shape.in_place, is_commutative(shape)};
  if (!has_counts(shape.collective)) {
    if (auto kept = find_in(state.prepared, key)) return kept;
    TUTTI_TRY(made, build(comm, shape, *choice.algorithm, segment));
    return keep_in(state.prepared, key, std::move(made));
  }
  const CountsKey full{key, shape.collective, shape.counts, shape.send_counts};
  if (auto kept = find_kept(comm, full)) return kept;
  TUTTI_TRY(made, build(comm, shape, *choice.algorithm, segment));
  return keep(comm, full, std::move(made));
}

std::shared_ptr<Prepared> find_latest(const Communicator& comm, const CallShape& shape,
                                      const select::Choice* chosen) {
  const LatestCall* const latest =
      comm.state().latest[static_cast<std::size_t>(shape.collective)].get();
  const bool is_same = latest != nullptr && latest->chosen == chosen &&
                       latest->count == shape.count && latest->bytes == shape.bytes &&
                       latest->root == shape.root && latest->in_place == shape.in_place &&
                       latest->commutative == is_commutative(shape) &&
                       latest->counts == shape.counts && latest->send_counts == shape.send_counts;
  return is_same ? latest->prepared : nullptr;
}

void keep_latest(Communicator& comm, const CallShape& shape, const select::Choice* chosen,
                 std::shared_ptr<Prepared> prepared) {
  auto& latest = comm.state().latest[static_cast<std::size_t>(shape.collective)];
  if (latest == nullptr) latest = std::make_unique<LatestCall>();
  *latest = {chosen,       shape.count,       shape.bytes,
             shape.root,   shape.in_place,    is_commutative(shape),
             shape.counts, shape.send_counts, std::move(prepared)};
}

std::unique_ptr<engine::Run> take_run(Communicator& comm, Prepared& prepared) {
  if (prepared.idle.empty()) {
    Runtime& runtime = comm.runtime();
    return std::make_unique<engine::Run>(runtime.endpoint, runtime.scratch, prepared.program);
  }
  auto run = std::move(prepared.idle.back());
  prepared.idle.pop_back();
  run->on_done = nullptr;
  run->owner = nullptr;
  return run;
}

void give_run(Prepared& prepared, std::unique_ptr<engine::Run> run) {
  if (prepared.idle.size() >= Communicator::State::kMostIdle) return;
  try {
    prepared.idle.push_back(std::move(run));
  } catch (const std::bad_alloc&) {  // then it is not kept
  }
}

}  // namespace tutti::comm
