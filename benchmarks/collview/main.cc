// collview: look at schedules. Lists the catalogue, draws, proves, costs, times and prints them.
//
// Uses the same emitters, checker and model as the library, so what it shows is what runs.
#include <algorithm>
#include <cstdio>
#include <fstream>

#include "base/clock.h"
#include "model/costs.h"
#include "options.h"
#include "sched/sched.h"

namespace {

using namespace tutti;
using coll::Collective;
using collview::Options;

struct Built {
  std::vector<sched::Schedule> schedules;
  std::vector<sched::Contract> contracts;
};

// A call of one rank, with the counts it points to.
struct Call {
  coll::RankCall call;
  std::vector<coll::Count> counts;

  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  Call(const Options& options, int rank)
      : counts(static_cast<std::size_t>(options.size), options.count) {
    call.collective = options.algorithm->collective;
    call.rank = rank;
    call.size = options.size;
    call.root = options.root;
    call.count = options.count;
    call.commutative = options.algorithm->needs_commutative;
    call.segment = options.segment;
    call.host_of = options.host_of;
    const bool has_counts =
        call.collective == Collective::allgatherv || call.collective == Collective::alltoallv ||
        call.collective == Collective::reduce_scatter ||
        (rank == options.root &&
         (call.collective == Collective::gatherv || call.collective == Collective::scatterv));
    if (has_counts) call.counts = counts;
    if (call.collective == Collective::alltoallv) call.send_counts = counts;
  }
};

Result<Built> build(const Options& options) {
  Built built;
  for (int rank = 0; rank < options.size; ++rank) {
    const Call one(options, rank);
    TUTTI_TRY(schedule, coll::build(*options.algorithm, one.call));
    built.schedules.push_back(std::move(schedule));
    built.contracts.push_back(coll::contract(one.call));
  }
  return built;
}

// A machine on which the pictures of a few units show both latency and bytes.
sched::MachineModel machine_for(const Options& options) {
  sched::MachineModel machine;
  machine.host_of = options.host_of;
  machine.inside_latency_us = 1;
  machine.between_latency_us = 4;
  machine.inside_us_per_unit = 0.25;
  machine.between_us_per_unit = 0.5;
  machine.fold_us_per_unit = 0.1;
  machine.copy_us_per_unit = 0.05;
  machine.gap_share = model::kGapShare;
  return machine;
}

std::string full_name(const coll::Algorithm& algorithm) {
  return std::string(coll::name_of(algorithm.collective)) + " " + algorithm.name;
}

std::string line_of(const coll::Algorithm& algorithm, bool markdown) {
  const std::string collective(coll::name_of(algorithm.collective));
  if (!markdown)
    return collective + std::string(16 - collective.size(), ' ') + algorithm.name +
           std::string(24 - std::string_view(algorithm.name).size(), ' ') + algorithm.good_for +
           "\n";
  const auto cell = [](bool is) { return is ? "yes | " : " | "; };
  return "| " + collective + " | `" + algorithm.name + "` | " + cell(!algorithm.needs_commutative) +
         cell(algorithm.takes_segments) + cell(algorithm.needs_hosts) + algorithm.good_for + " |\n";
}

// What a user may name: the algorithms, and the delegate where it has a row.
std::string list(bool markdown) {
  std::string text;
  if (markdown) {
    text += "| collective | algorithm | keeps rank order | segments | needs hosts | good for |\n";
    text += "| --- | --- | --- | --- | --- | --- |\n";
  }
  for (const CollectiveRow& row : kCollectiveRows) {
    for (const coll::Algorithm& algorithm : coll::catalogue())
      if (algorithm.collective == row.collective) text += line_of(algorithm, markdown);
    if (coll::delegated(row.collective).kind != coll::Delegated::never)
      text += line_of({row.collective, coll::kDelegateName, false, false, false,
                       "ranks of one host, in their common segment"},
                      markdown);
  }
  return text;
}

Result<std::string> check(const Options& options, const Built& built) {
  for (int seed = 1; seed <= options.seeds; ++seed)
    TUTTI_DO(sched::check(built.schedules, built.contracts, static_cast<std::uint64_t>(seed)));
  return full_name(*options.algorithm) + " is right in " + std::to_string(options.seeds) +
         " random orders\n";
}

Result<std::string> cost(const Options& options, const Built& built) {
  sched::MachineModel machine;  // units are bytes of a common machine
  machine.host_of = options.host_of;
  machine.gap_share = model::kGapShare;
  TUTTI_TRY(line, sched::cost(built.schedules, machine));
  std::size_t messages = 0;
  coll::Count most_sent = 0;
  for (const auto& schedule : built.schedules) {
    coll::Count sent = 0;
    for (const auto& step : schedule.steps)
      if (step.kind == sched::StepKind::send) {
        ++messages;
        sent += step.from.count;
      }
    most_sent = std::max(most_sent, sent);
  }
  char text[200];
  std::snprintf(text, sizeof text,
                "%s: %.1f us, %zu messages, at most %lld units sent by one rank\n",
                full_name(*options.algorithm).c_str(), line.total_us, messages,
                static_cast<long long>(most_sent));
  return std::string(text);
}

std::string dump(const Options& options, const Built& built) {
  std::string text;
  for (std::size_t rank = 0; rank < built.schedules.size(); ++rank)
    if (options.rank < 0 || rank == static_cast<std::size_t>(options.rank))
      text += "# rank " + std::to_string(rank) + "\n" + sched::to_text(built.schedules[rank]);
  return text;
}

// How long one rank takes to build its schedule: the median of many.
Result<std::string> time(const Options& options) {
  constexpr int kRounds = 201;
  std::vector<std::int64_t> taken_ns;
  Call call(options, options.rank < 0 ? options.size / 2 : options.rank);
  std::size_t steps = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t start_ns = now_ns();
    TUTTI_TRY(schedule, coll::build(*options.algorithm, call.call));
    taken_ns.push_back(now_ns() - start_ns);
    steps = schedule.steps.size();
  }
  std::sort(taken_ns.begin(), taken_ns.end());
  char text[160];
  std::snprintf(text, sizeof text, "%s: %zu steps built in %.2f us\n",
                full_name(*options.algorithm).c_str(), steps,
                static_cast<double>(taken_ns[kRounds / 2]) / 1e3);
  return std::string(text);
}

Result<std::string> run(const Options& options) {
  if (options.verb == "list") return list(options.markdown);
  if (options.verb == "time") return time(options);
  TUTTI_TRY(built, build(options));
  if (options.verb == "check") return check(options, built);
  if (options.verb == "cost") return cost(options, built);
  if (options.verb == "dump") return dump(options, built);
  const std::string title = full_name(*options.algorithm) + ", " + std::to_string(options.size) +
                            " ranks, " + std::to_string(options.count) + " units";
  return sched::draw(built.schedules, machine_for(options), title);
}

int complain(const std::string& text, bool with_usage) {
  std::fprintf(stderr, "collview: %s\n%s", text.c_str(), with_usage ? collview::kUsage : "");
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = collview::parse({argv + 1, argv + argc});
  if (!options) return complain(options.error().text, true);
  const auto text = run(*options);
  if (!text) return complain(text.error().text, false);
  if (options->output.empty()) return std::fputs(text->c_str(), stdout) < 0 ? 1 : 0;
  std::ofstream file(options->output);
  file << *text;
  file.close();
  if (!file) return complain("cannot write " + options->output, false);
  return 0;
}
