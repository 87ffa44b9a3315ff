// The symbolic checker: all ranks of a collective, run on names instead of numbers.
//
// A unit holds which ranks' contributions went into it, how often and in which order, as
// hashes. Steps are run in a random order that their dependencies allow; a message moves when
// both its ends are posted, and both steps end together (synchronous sends). Before the run
// each schedule's own edges are proved to order every pair of steps that touch the same units.
#include <algorithm>
#include <random>

#include "sched/message_pairs.h"
#include "sched/symbols.h"

namespace tutti::sched {
namespace {

Result<void> complain(std::size_t rank, std::size_t step, const std::string& what) {
  return fail(Code::intern,
              "rank " + std::to_string(rank) + ", step " + std::to_string(step) + ": " + what);
}

class Checker {
 public:
  Checker(std::span<const Schedule> ranks, std::span<const Contract> contracts, std::uint64_t seed)
      : ranks_(ranks), contracts_(contracts), random_(seed), pairs_(ranks) {
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      memory_.emplace_back(contracts[r], ranks[r].scratch);
      heard_.emplace_back(ranks[r].steps.size(), Heard(ranks.size()));
    }
  }

  Result<void> run() {
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      if (const std::string wrong = form_error(ranks_[r], contracts_[r], ranks_.size());
          !wrong.empty())
        return fail(Code::intern, "rank " + std::to_string(r) + ": " + wrong);
    for (std::size_t r = 0; r < ranks_.size(); ++r) start(r);
    while (!enabled_.empty()) TUTTI_DO(run_one());
    TUTTI_DO(everything_ran());
    return results();
  }

 private:
  // Something that may happen next: a local step, or the message that this send begins.
  using Place = MessagePairs::Place;

  void start(std::size_t rank) {
    for (std::uint32_t i = 0; i < ranks_[rank].steps.size(); ++i) {
      waits_for_.resize(ranks_.size());
      waits_for_[rank].push_back(ranks_[rank].steps[i].predecessors);
    }
    for (std::uint32_t i = 0; i < ranks_[rank].steps.size(); ++i)
      if (ranks_[rank].steps[i].predecessors == 0) ready({rank, i});
  }

  void ready(Place place) {
    const Step& step = at(place);
    if (step.kind == StepKind::copy || step.kind == StepKind::reduce) {
      enabled_.push_back(place);
      return;
    }
    pairs_.ready(place, [&](Place send) { enabled_.push_back(send); });
  }

  Result<void> run_one() {
    const std::size_t pick = random_() % enabled_.size();
    const Place place = enabled_[pick];
    enabled_[pick] = enabled_.back();
    enabled_.pop_back();
    if (at(place).kind == StepKind::send) return transfer(place, pairs_.partner(place));
    if (const std::string wrong = memory_[place.rank].run_local(at(place)); !wrong.empty())
      return complain(place.rank, place.step, wrong);
    done(place);
    return {};
  }

  Result<void> transfer(Place send, Place recv) {
    const Slice& from = at(send).from;
    const Slice& into = at(recv).into;
    if (from.count != into.count)
      return complain(send.rank, send.step,
                      "sends " + std::to_string(from.count) + " units, step " +
                          std::to_string(recv.step) + " of rank " + std::to_string(recv.rank) +
                          " receives " + std::to_string(into.count));
    const bool may_be_undefined = contracts_[send.rank].barrier;
    if (!may_be_undefined && memory_[send.rank].is_undefined(from))
      return complain(send.rank, send.step, "sends undefined units");
    memory_[recv.rank].receive(memory_[send.rank], from, into);
    heard_at(recv).add(heard_at(send));
    heard_at(recv).add(send.rank);
    done(send);
    done(recv);
    return {};
  }

  void done(Place place) {
    ++done_;
    const Schedule& schedule = ranks_[place.rank];
    const Step& step = at(place);
    for (std::uint32_t s = 0; s < step.successor_count; ++s) {
      const Place next{place.rank, schedule.successors[step.first_successor + s]};
      heard_at(next).add(heard_at(place));
      if (--waits_for_[next.rank][next.step] == 0) ready(next);
    }
  }

  Result<void> everything_ran() const {
    std::size_t all = 0;
    for (const Schedule& schedule : ranks_) all += schedule.steps.size();
    if (done_ == all) return {};
    const auto stuck = pairs_.first_waiting();
    if (!stuck) return fail(Code::intern, "steps wait for each other in a circle");
    const Step& step = at(*stuck);
    const bool sends = step.kind == StepKind::send;
    return complain(stuck->rank, stuck->step,
                    std::string(sends ? "sends to" : "receives from") + " rank " +
                        std::to_string(step.peer) + " for ever: its partner never comes");
  }

  Result<void> results() const {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const std::string wrong =
          contracts_[r].barrier ? barrier_error(r) : memory_[r].result_error(contracts_[r]);
      if (!wrong.empty()) return fail(Code::intern, "rank " + std::to_string(r) + ": " + wrong);
    }
    return {};
  }

  std::string barrier_error(std::size_t rank) const {
    Heard all(ranks_.size());
    all.add(rank);
    for (const Heard& heard : heard_[rank]) all.add(heard);
    const auto missing = all.first_missing();
    return missing ? "leaves without having heard of rank " + std::to_string(*missing) : "";
  }

  const Step& at(Place place) const { return ranks_[place.rank].steps[place.step]; }
  Heard& heard_at(Place place) { return heard_[place.rank][place.step]; }

  std::span<const Schedule> ranks_;
  std::span<const Contract> contracts_;
  std::mt19937_64 random_;
  MessagePairs pairs_;
  std::vector<SymbolicMemory> memory_;
  std::vector<std::vector<Heard>> heard_;  // by rank and step: whom its being done implies
  std::vector<std::vector<std::uint32_t>> waits_for_;
  std::vector<Place> enabled_;
  std::size_t done_ = 0;
};

}  // namespace

Result<void> check(std::span<const Schedule> ranks, std::span<const Contract> contracts,
                   std::uint64_t seed) {
  return Checker(ranks, contracts, seed).run();
}

}  // namespace tutti::sched
