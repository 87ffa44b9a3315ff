// What ranks say of their calls: parcels that cannot be do no harm.
#include "job/usage.h"

#include "base/text.h"
#include "catch.h"
#include "watch/recorder.h"
#include "wireup/protocol.h"

using namespace tutti;
using namespace tutti::launch;
using namespace tutti::launch::job;

namespace {

control::Used parcel_of(int rank, std::uint64_t calls, std::uint64_t total_ns) {
  const watch::Spent spent{calls, total_ns, total_ns, 0, 0, 0};
  return {rank, static_cast<int>(wireup::RankSays::spent),
          std::string(reinterpret_cast<const char*>(&spent), sizeof spent)};
}

}  // namespace

TEST_CASE("what ranks spent is added up", "[job][usage]") {
  Usage usage({"a", "b"});
  usage.take(parcel_of(0, 2, 1'000'000'000));
  usage.take(parcel_of(1, 3, 500'000'000));
  usage.take({0, static_cast<int>(wireup::RankSays::sent), "1\ttcp\t4\t1000\n0\tself\t1\t8\n"});
  const std::string report = usage.report();
  CHECK(report.find("5  1.500000") != std::string::npos);
  CHECK(report.find("a -> b") != std::string::npos);
  CHECK(report.find("1000") != std::string::npos);
}

TEST_CASE("columns are as wide as what stands in them", "[job][usage]") {
  const std::string far = "host-" + std::string(60, 'x') + ".example.org";
  Usage usage({far, "b"});
  usage.take(parcel_of(0, 123'456'789'012'345, 98'765'432'109'876'543));
  usage.take(parcel_of(1, 1, 1));
  usage.take({0, static_cast<int>(wireup::RankSays::sent),
              "1\ttcp\t1234567890123\t1234567890123456789\n0\tshm\t1\t8\n"});
  std::vector<std::vector<std::string>> tables(1);
  for (const std::string& line : text::split(usage.report(), '\n'))
    line.starts_with("    ") ? tables.back().push_back(line) : tables.emplace_back().clear();
  std::size_t seen = 0;
  for (const auto& table : tables)
    for (const std::string& line : table) {
      ++seen;
      CHECK(line.size() == table[0].size());
    }
  CHECK(seen == 8);
  CHECK(usage.report().find("  tcp  1234567890123  1234567890123456789\n") != std::string::npos);
}

TEST_CASE("parcels cut short or full of nonsense are left out", "[job][usage]") {
  Usage usage({"a"});
  control::Used cut = parcel_of(0, 1, 1);
  cut.bytes.resize(5);
  usage.take(cut);
  usage.take({0, static_cast<int>(wireup::RankSays::sent), "x\ttcp\n9\ttcp\t1\t1\n\n"});
  CHECK(usage.report().find("no rank told") != std::string::npos);
  CHECK(usage.report().find("3 of the parcels and lines") != std::string::npos);
  usage.take(
      {0, static_cast<int>(wireup::RankSays::sent), "0\t" + std::string(33, 'x') + "\t1\t1\n"});
  CHECK(usage.report().find("rank 0 named links that are none") != std::string::npos);
  control::Used strange = parcel_of(0, 1, 1);
  strange.bytes.assign(sizeof(watch::Spent), '\xff');
  usage.take(strange);
  CHECK(usage.report().find("?") != std::string::npos);
}
