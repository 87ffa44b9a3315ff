// The closed forms against the simulation of the same schedules.
#include "catch.h"
#include "sched/sched.h"
#include "select/select.h"

using namespace tutti;
using coll::Collective;
using coll::Count;

namespace {

struct Place {
  int hosts, local;
  bool consecutive = true;
  int host_of(int rank) const { return consecutive ? rank / local : rank % hosts; }
};

select::TeamFacts facts_of(Place place) {
  select::TeamFacts facts;
  facts.size = place.hosts * place.local;
  facts.hosts = place.hosts;
  facts.largest_host = place.local;
  facts.consecutive = place.consecutive;
  facts.inside = {0.5, 1e-4};
  facts.between = {20, 1e-3};
  return facts;
}

bool has_blocks(Collective c) {
  return c == Collective::gather || c == Collective::scatter || c == Collective::allgather ||
         c == Collective::alltoall || c == Collective::reduce_scatter;
}

double simulated_us(const coll::Algorithm& algorithm, Place place, Count bytes, Count segment) {
  const int p = place.hosts * place.local;
  std::vector<int> host_of;
  for (int rank = 0; rank < p; ++rank) host_of.push_back(place.host_of(rank));
  const std::vector<Count> counts(static_cast<std::size_t>(p), bytes);
  std::vector<sched::Schedule> ranks;
  for (int rank = 0; rank < p; ++rank) {
    coll::RankCall call;
    call.collective = algorithm.collective;
    call.rank = rank;
    call.size = p;
    call.count = bytes;
    call.segment = segment;
    call.host_of = host_of;
    if (call.collective == Collective::reduce_scatter) call.counts = counts;
    auto schedule = coll::build(algorithm, call);
    REQUIRE(schedule);
    ranks.push_back(std::move(*schedule));
  }
  sched::MachineModel machine;
  machine.inside_latency_us = 0.5;
  machine.gap_share = model::kGapShare;
  machine.copy_us_per_unit = 5e-5;
  machine.host_of = host_of;
  const auto line = sched::cost(ranks, machine);
  REQUIRE(line);
  return line->total_us;
}

bool is_plain(Collective c) {  // v forms are their plain forms with mean blocks
  return c != Collective::gatherv && c != Collective::scatterv && c != Collective::allgatherv &&
         c != Collective::alltoallv;
}

const std::vector<Place> kPlaces = {{1, 2},        {1, 4},        {1, 16},      {2, 1},
                                    {2, 2},        {2, 8},        {4, 4},       {8, 1},
                                    {2, 2, false}, {2, 8, false}, {4, 4, false}};

}  // namespace

TEST_CASE("a faster wire carries more, as far as one core goes", "[select]") {
  const auto gigabytes = [](const char* kind, double gbits) {
    return 1e-3 / model::Costs{}.of_link(kind, gbits).us_per_byte;
  };
  CHECK(gigabytes("tcp", 1) == Approx(0.125));
  CHECK(gigabytes("tcp", 10) == Approx(1.25));
  CHECK(gigabytes("tcp", 25) == Approx(3.125));
  CHECK(gigabytes("tcp", 400) == gigabytes("tcp", 100));
  CHECK(gigabytes("rdma", 100) == Approx(12.5));
  CHECK(gigabytes("shm", 0) > gigabytes("tcp", 400));
  CHECK(gigabytes("tcp", 0) > gigabytes("tcp", 1));
}

TEST_CASE("a prediction stays within a small factor of the simulated schedule", "[select]") {
  for (const auto& algorithm : coll::catalogue()) {
    if (!is_plain(algorithm.collective)) continue;
    for (const Place place : kPlaces)
      for (const Count bytes : {8, 4096, 65536, 1 << 22}) {
        if (has_blocks(algorithm.collective) && bytes > 65536) continue;
        const Count segment = algorithm.takes_segments && bytes > 65536 ? 65536 : 0;
        const select::Question question{algorithm.collective, bytes, true, ""};
        const double predicted = predict_us(algorithm, question, facts_of(place), segment);
        const double simulated = simulated_us(algorithm, place, bytes, segment);
        INFO(coll::name_of(algorithm.collective)
             << "/" << algorithm.name << " hosts=" << place.hosts << " local=" << place.local
             << (place.consecutive ? "" : " scattered") << " bytes=" << bytes
             << " predicted=" << predicted << " simulated=" << simulated);
        CHECK(predicted < simulated * 2.6);
        CHECK(predicted > simulated / 2.6);
      }
  }
}

TEST_CASE("the algorithm chosen is near the best in the simulation", "[select]") {
  const Knobs knobs = Knobs::defaults();
  using enum Collective;
  for (const Collective collective : {barrier, bcast, reduce, allreduce, gather, scatter, allgather,
                                      alltoall, reduce_scatter, scan})
    for (const Place place : kPlaces)
      for (const Count bytes : {8, 4096, 65536, 1 << 22}) {
        if (has_blocks(collective) && bytes > 65536) continue;
        const select::Question question{collective, bytes, true, ""};
        const auto choice = choose(question, facts_of(place), knobs, false);
        REQUIRE(choice);
        REQUIRE(choice->algorithm != nullptr);
        const double taken = simulated_us(*choice->algorithm, place, bytes, choice->segment_bytes);
        double best = taken;
        std::string best_name = choice->algorithm->name;
        for (const auto& algorithm : coll::catalogue()) {
          if (algorithm.collective != collective) continue;
          for (const Count segment : {Count{0}, Count{16384}, Count{131072}}) {
            if (segment > 0 && (!algorithm.takes_segments || segment >= bytes)) continue;
            const double us = simulated_us(algorithm, place, bytes, segment);
            if (us < best) best_name = algorithm.name;
            best = std::min(best, us);
          }
        }
        INFO(coll::name_of(collective)
             << " hosts=" << place.hosts << " local=" << place.local << " bytes=" << bytes
             << " took " << choice->algorithm->name << " segment " << choice->segment_bytes << " "
             << taken << " us, best " << best_name << " " << best << " us");
        CHECK(taken <= best * 1.7);
      }
}
