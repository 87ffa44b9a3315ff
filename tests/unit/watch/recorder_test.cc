// The recorder sends what calls took, in parcels of bounded size.
#include "watch/recorder.h"

#include <cstring>

#include "catch.h"
#include "watch/watch.h"

using namespace tutti;

TEST_CASE("every call is in a parcel once, and none is too long", "[watch][recorder]") {
  wireup::WatchRecord record{};
  std::size_t events = 0;
  std::uint64_t calls = 0, bytes = 0;
  watch::Recorder recorder(record, true, [&](bool are_events, std::string_view parcel) {
    CHECK(parcel.size() <= watch::kMostParcel);
    if (are_events) {
      CHECK((parcel.size() - sizeof(watch::EventsHead)) % sizeof(watch::Event) == 0);
      events += (parcel.size() - sizeof(watch::EventsHead)) / sizeof(watch::Event);
      return;
    }
    watch::Spent spent{};
    REQUIRE(parcel.size() == sizeof spent);
    std::memcpy(&spent, parcel.data(), sizeof spent);
    CHECK(spent.function == 3);
    calls += spent.calls;
    bytes += spent.bytes;
  });
  for (int i = 0; i < 5000; ++i) {
    watch::enter(record, 3);
    if (i % 2 == 0) watch::detail(record, {.context = 0, .peer = 1, .tag = 0, .bytes = 10});
    recorder.end(3, 1);
    watch::leave(record);
  }
  recorder.report();
  CHECK(events == 5000);
  CHECK(calls == 5000);
  CHECK(bytes == 25000);  // those of calls that said what they are about
  recorder.report();
  CHECK(events == 5000);
}
