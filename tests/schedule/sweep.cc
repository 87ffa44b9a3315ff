// The sweep: every entry of the catalogue against its contract, in many random orders.
//
//   sweep [--quick] [COLLECTIVE[/ALGORITHM]]
//
// p = 1 .. 33 and 64, counts that do not divide, empty blocks, roots, segments, hosts. The
// quick form (TUTTI_TEST_QUICK as well) takes fewer sizes, roots and layouts. Prints the first
// failures as cases that `collview check` repeats.
#include <cstdio>
#include <cstring>
#include <string_view>

#include "cases.h"

namespace {

using namespace tutti;
using schedule_tests::Case;

constexpr int kFailuresShown = 10;

struct Tally {
  long cases = 0;
  long steps = 0;
  long edges = 0;
  int failures = 0;
};

void prove(const Case& c, std::uint64_t seed, Tally& tally) {
  const auto built = schedule_tests::build(c);
  Result<void> proved;
  if (built)
    proved = sched::check(built->schedules, built->contracts, seed);
  else
    proved = fail(built.error().code, built.error().text);
  ++tally.cases;
  if (built)
    for (const auto& schedule : built->schedules) {
      tally.steps += static_cast<long>(schedule.steps.size());
      tally.edges += static_cast<long>(schedule.successors.size());
    }
  if (proved) return;
  if (++tally.failures <= kFailuresShown)
    std::printf("%s: %s\n", schedule_tests::text_of(c).c_str(), proved.error().text.c_str());
}

// Vectors long enough that staging is shared and reused.
void prove_long(const coll::Algorithm& algorithm, Tally& tally) {
  using enum coll::Collective;
  const auto c = algorithm.collective;
  if (c != reduce && c != allreduce && c != scan && c != exscan) return;
  for (const int p : {2, 5, 8, 13})
    for (const coll::Count segment : {coll::Count{0}, coll::Count{700}}) {
      if (segment > 0 && !algorithm.takes_segments) continue;
      Case one{&algorithm, p, p / 2, 9001, segment, false, {}, {}};
      for (int rank = 0; algorithm.needs_hosts && rank < p; ++rank) one.host_of.push_back(rank / 3);
      if (c != reduce) one.root = 0;
      prove(one, static_cast<std::uint64_t>(p), tally);
    }
}

bool is_wanted(const coll::Algorithm& algorithm, std::string_view filter) {
  const std::string collective(coll::name_of(algorithm.collective));
  return filter.empty() || filter == collective || filter == collective + "/" + algorithm.name;
}

}  // namespace

int main(int argc, char** argv) {
  bool quick = std::getenv("TUTTI_TEST_QUICK") != nullptr;
  std::string_view filter;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--quick") == 0)
      quick = true;
    else
      filter = argv[i];
  }
  std::vector<int> sizes;
  for (int p = 1; p <= 33; ++p)
    if (!quick || p <= 9 || p == 16 || p == 17) sizes.push_back(p);
  if (!quick) sizes.push_back(64);
  Tally total;
  for (const auto& algorithm : coll::catalogue()) {
    if (!is_wanted(algorithm, filter)) continue;
    Tally tally;
    std::uint64_t seed = 1;
    for (const int p : sizes)
      for (const Case& c : schedule_tests::cases(algorithm, p, !quick && p <= 33))
        prove(c, seed++, tally);
    prove_long(algorithm, tally);
    const double edges =
        tally.steps == 0 ? 0 : static_cast<double>(tally.edges) / static_cast<double>(tally.steps);
    std::printf("%-16s %-22s %7ld cases %10ld steps %5.2f edges a step  %s\n",
                std::string(coll::name_of(algorithm.collective)).c_str(), algorithm.name,
                tally.cases, tally.steps, edges, tally.failures == 0 ? "ok" : "FAILED");
    if (edges > 2) {
      std::printf("  more than two edges a step\n");
      ++tally.failures;
    }
    total.cases += tally.cases;
    total.failures += tally.failures;
  }
  std::printf("%ld cases, %d failures\n", total.cases, total.failures);
  return total.failures == 0 && total.cases > 0 ? 0 : 1;
}
