// Calls that a rank began last, as its daemon reads them; fingerprints in words.
#include "watch/calls.h"

#include <memory>

#include "base/collectives.h"
#include "catch.h"
#include "watch/watch.h"

using namespace tutti;

namespace {

wireup::CallRecord numbered(std::uint64_t number, std::uint32_t flags = 0) {
  wireup::CallRecord call{};
  call.number = number;
  call.flags = flags;
  return call;
}

std::uint32_t index_of(const std::string& name) {
  for (std::uint32_t i = 0; i < 2000; ++i)
    if (name == watch::function_name(i)) return i + 1;
  return 0;
}

void remember(wireup::RecentCalls& recent, const wireup::CallRecord& call) {
  wireup::RecentCalls::Kind& kind = recent.kinds[(call.flags & watch::kNonblocking) != 0 ? 1 : 0];
  watch::open_record(kind) = call;
  watch::close_record(kind);
}

}  // namespace

TEST_CASE("the last calls of each kind are kept", "[watch][calls]") {
  const auto recent = std::make_unique<wireup::RecentCalls>();
  CHECK(watch::recent_calls(*recent).empty());
  remember(*recent, numbered(1, watch::kNonblocking));
  for (std::uint64_t i = 1; i <= 100; ++i) remember(*recent, numbered(i));
  CHECK(watch::calls_begun(*recent) == 101);
  const auto calls = watch::recent_calls(*recent);
  REQUIRE(calls.size() == wireup::kRecentCalls);  // one slot might be half written
  CHECK(calls.back().flags == watch::kNonblocking);
  std::uint64_t highest = 0;
  for (const auto& call : calls) {
    if (call.flags != 0) continue;
    CHECK(call.number > 100 - wireup::kRecentCalls);
    highest = std::max(highest, call.number);
  }
  CHECK(highest == 100);
}

TEST_CASE("a call is described as its user made it", "[watch][calls]") {
  watch::Fingerprint print;
  print.collective = 1;  // bcast
  print.root = 200;      // more than the fingerprint holds
  print.bytes = 100001;
  wireup::CallRecord call = numbered(4);
  call.fingerprint = watch::pack_fingerprint(print);
  call.root = 200;
  call.bytes = 2048;
  CHECK(watch::describe_call(call) == "MPI_Bcast(root 200, 2 KiB)");
  call.function = index_of("MPI_Ibcast");
  CHECK(watch::describe_call(call) == "MPI_Ibcast(root 200, 2 KiB)");
  // What a function does inside is not what the user wrote.
  call.function = index_of("MPI_Comm_dup");
  CHECK(watch::describe_call(call) == "MPI_Comm_dup");
  wireup::CallRecord other = call;
  CHECK(watch::is_same_call(call, other));
  other.root = 72;  // the same seven bits
  CHECK_FALSE(watch::is_same_call(call, other));
  CHECK(watch::difference_between(call, other) == "roots 200 and 72");
  other = call;
  other.flags = watch::kNonblocking;
  CHECK(watch::difference_between(call, other) == "kinds blocking and nonblocking");
  // Whatever a callback called in between: MPI_Finalize's barrier is known by itself.
  print = {};
  print.collective = static_cast<std::uint32_t>(Collective::barrier);
  other.fingerprint = watch::mark_own(watch::Purpose::finalize, watch::pack_fingerprint(print));
  CHECK(watch::describe_call(other) == "MPI_Finalize");
  CHECK_FALSE(watch::is_same_call(call, other));
  // Where no function is known, the purpose is.
  CHECK(watch::describe_fingerprint(other.fingerprint) == "MPI_Finalize");
  print.collective = static_cast<std::uint32_t>(Collective::allgather);
  other.fingerprint = watch::mark_own(watch::Purpose::makes_comm, watch::pack_fingerprint(print));
  CHECK(watch::describe_call(other) == "MPI_Comm_dup");
  CHECK(watch::describe_fingerprint(other.fingerprint) ==
        "a function that makes a communicator, by allgather");
}

TEST_CASE("own prints differ in operation, root and size", "[watch][calls]") {
  watch::Fingerprint print;
  print.collective = static_cast<std::uint32_t>(Collective::allreduce);
  print.op = 3;
  print.bytes = 40;
  const auto own = [](const watch::Fingerprint& said) {
    return watch::mark_own(watch::Purpose::asks, watch::pack_fingerprint(said));
  };
  const std::uint32_t first = own(print);
  CHECK(own(print) == first);
  CHECK(first != watch::pack_fingerprint(print));
  CHECK(watch::mark_own(watch::Purpose::makes_comm, watch::pack_fingerprint(print)) != first);
  print.op = 10;
  CHECK(own(print) != first);
  print.op = 3;
  print.bytes = 8;
  CHECK(own(print) != first);
  print = {};
  print.collective = static_cast<std::uint32_t>(Collective::bcast);
  const std::uint32_t of_first = own(print);
  print.root = 1;
  CHECK(own(print) != of_first);
  CHECK(watch::describe_fingerprint(of_first) == watch::describe_fingerprint(first));
}

TEST_CASE("each side of an intercommunicator has its own terms", "[watch][calls]") {
  watch::Fingerprint print;
  print.collective = 3;  // allreduce
  print.bytes = 4;
  wireup::CallRecord call = numbered(1, watch::kInter);
  call.fingerprint = watch::pack_fingerprint(print);
  call.bytes = 4;
  wireup::CallRecord other = call;
  print.op = 1;
  print.bytes = 0;
  call.terms = watch::pack_fingerprint(print) & 0x0fff0000U;
  print.op = 3;
  other.terms = watch::pack_fingerprint(print) & 0x0fff0000U;
  CHECK(watch::is_same_call(call, other));
  CHECK_FALSE(watch::is_same_call(call, other, true));
  CHECK(watch::describe_call(call) == "MPI_Allreduce(4 B, MPI_SUM)");
}

TEST_CASE("of blocks of their own sizes a print knows no size", "[watch][calls]") {
  watch::Fingerprint print;
  print.collective = static_cast<std::uint32_t>(Collective::gatherv);
  print.root = 2;
  CHECK(watch::describe_fingerprint(watch::pack_fingerprint(print)) == "MPI_Gatherv(root 2)");
  print = {};
  print.collective = static_cast<std::uint32_t>(Collective::alltoallv);
  CHECK(watch::describe_fingerprint(watch::pack_fingerprint(print)) == "MPI_Alltoallv");
  print.collective = static_cast<std::uint32_t>(Collective::allgatherv);
  print.bytes = 16;
  CHECK(watch::describe_fingerprint(watch::pack_fingerprint(print)) == "MPI_Allgatherv(16 B)");
}

TEST_CASE("prints tell sizes from their neighbours", "[watch][calls]") {
  watch::Fingerprint print;
  print.collective = static_cast<std::uint32_t>(Collective::gather);
  const auto of = [&print](std::uint64_t bytes) {
    print.bytes = bytes;
    return watch::pack_fingerprint(print);
  };
  for (const std::uint64_t bytes :
       {1ULL, 511ULL, 1023ULL, 1024ULL, 65'536ULL, 1ULL << 20, 1ULL << 40})
    for (const std::uint64_t more : {1ULL, 4ULL, 8ULL, 16ULL, 80ULL})
      CHECK(of(bytes) != of(bytes + more));
  CHECK(watch::describe_fingerprint(of(1023)) == "MPI_Gather(root 0, 1023 B)");
  CHECK(watch::describe_fingerprint(of(1024)) == "MPI_Gather(root 0, about 1 KiB)");
  CHECK(watch::describe_fingerprint(of((1ULL << 40) + 8)) == "MPI_Gather(root 0, about 1 TiB)");
}
