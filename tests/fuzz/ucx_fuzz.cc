// Frames of a ucx peer: in any order, long ones as offers that are fetched at once, later or never,
// numbers and kinds of nonsense. What is delivered is delivered once, in order, and a peer that
// breaks the rules is broken off; nothing is kept beyond what the rules allow.
#include <cstring>

#include "catch.h"
#include "mutate.h"
#include "transport/ucx/inlet.h"

using namespace tutti;                  // NOLINT(google-build-using-namespace): a test
using namespace tutti::transport;       // NOLINT(google-build-using-namespace): a test
using namespace tutti::transport::ucx;  // NOLINT(google-build-using-namespace): a test

namespace {

constexpr std::size_t kMostBytes = 4096;

// Every payload's bytes are its frame's number.
class Reader final : public Sink {
 public:
  explicit Reader(fuzz::Random& random) : random_(random) {}
  std::uint64_t delivered = 0;
  bool is_right = true;

  bool on_frame(int, const FrameHeader& header, std::span<std::byte> payload) override {
    is_right = is_right && header.cookie >= next_ && payload.size() <= kMostBytes;
    next_ = header.cookie + 1;
    for (const std::byte byte : payload)
      is_right = is_right && byte == static_cast<std::byte>(header.cookie);
    ++delivered;
    return random_.below(500) != 0;
  }
  std::byte* place(int, const FrameHeader&, std::size_t bytes) override {
    if (random_.below(2) == 0) return nullptr;
    placed_ = std::make_unique<std::byte[]>(bytes);
    return placed_.get();
  }
  void on_peer_gone(int, const Error&) override {}

 private:
  fuzz::Random& random_;
  std::uint64_t next_ = 0;
  std::unique_ptr<std::byte[]> placed_;
};

// UCX itself, as far as an inlet calls it.
struct Fetch {
  std::uint64_t number;
  void* into;
  std::size_t bytes;
  ucp_am_recv_data_nbx_callback_t done;
  void* entry;
};
struct Net {
  fuzz::Random* random = nullptr;
  std::vector<Fetch> under_way;
  std::size_t freed = 0;
} net;

// Of message `number`; no bytes may have no address.
void fill(void* into, std::uint64_t number, std::size_t bytes) {
  if (bytes > 0) std::memset(into, static_cast<int>(number & 255), bytes);
}

ucs_status_ptr_t fetch(ucp_worker_h, void* offer, void* into, std::size_t bytes,
                       const ucp_request_param_t* param) {
  const auto number = reinterpret_cast<std::uintptr_t>(offer) - 1;
  switch (net.random->below(6)) {
    case 0:
      fill(into, number, bytes);
      return nullptr;
    case 1:
      if (net.random->below(30) == 0) return UCS_STATUS_PTR(UCS_ERR_IO_ERROR);
      [[fallthrough]];
    default:
      net.under_way.push_back({number, into, bytes, param->cb.recv_am, param->user_data});
      return &net;
  }
}

void request_free(void*) {
  ++net.freed;
}

void finish_one() {
  if (net.under_way.empty()) return;
  const Fetch one = net.under_way.back();
  net.under_way.pop_back();
  const bool fails = net.random->below(40) == 0;
  if (!fails) fill(one.into, one.number, one.bytes);
  one.done(&net, fails ? UCS_ERR_IO_ERROR : UCS_OK, one.bytes, one.entry);
}

std::uint64_t some_number(fuzz::Random& random, std::uint64_t next) {
  if (random.below(150) != 0) return next + (random.below(4) == 0 ? random.below(20) : 0);
  constexpr std::uint64_t kOdd[] = {0, 1, 1023, 1024, 1025, 1ULL << 32, 1ULL << 63, ~0ULL};
  return next + kOdd[random.below(std::size(kOdd))];
}

}  // namespace

TEST_CASE("frames of a ucx peer are delivered in order, or it is broken off", "[fuzz][ucx]") {
  UcpFunctions library;
  library.am_recv_data_nbx = &fetch;
  library.request_free = &request_free;
  library.status_string = [](ucs_status_t) { return "what the test wants"; };
  fuzz::Rounds rounds("ucx", 20000);
  std::uint64_t delivered = 0, broken = 0;
  while (rounds.more()) {
    INFO("round " << rounds.number());
    fuzz::Random random(rounds.number());
    net = {};
    net.random = &random;
    Reader reader(random);
    Inlet inlet(library, nullptr, reader, 1, kMostBytes);
    std::uint64_t next = 0;
    for (std::size_t steps = random.below(400); steps > 0; --steps) {
      if (random.below(4) == 0) finish_one();
      WireHeader header{};
      header.number = some_number(random, next);
      if (header.number == next) ++next;
      header.header.cookie = header.number;
      const bool is_odd = random.below(200) == 0;
      header.kind = is_odd ? static_cast<std::uint32_t>(random.below(6)) : 1;
      header.delivered = random.next();
      std::size_t bytes = random.below(random.below(4) == 0 ? kMostBytes : 64);
      if (random.below(300) == 0) bytes = kMostBytes + random.below(9);
      const bool is_offer = random.below(3) == 0;
      std::vector<std::byte> data(bytes, static_cast<std::byte>(header.number));
      const auto status =
          inlet.accept(header, is_offer ? reinterpret_cast<void*>(header.number + 1) : data.data(),
                       bytes, is_offer ? UCP_AM_RECV_ATTR_FLAG_RNDV : 0);
      REQUIRE((status == UCS_OK || (is_offer && status == UCS_INPROGRESS)));
      REQUIRE(net.under_way.size() <= 1);
      REQUIRE(inlet.is_fetching() == !net.under_way.empty());
      while (next < inlet.tell()) ++next;
    }
    const std::uint64_t before = reader.delivered;
    const bool was_broken = inlet.is_broken();
    while (!net.under_way.empty()) finish_one();
    if (was_broken) REQUIRE(reader.delivered == before);
    REQUIRE(reader.is_right);
    delivered += reader.delivered;
    broken += inlet.is_broken() ? 1 : 0;
  }
  CHECK(delivered > 0);
  CHECK(broken > 0);
}

TEST_CASE("what is no header of a ucx peer's is dropped", "[fuzz][ucx_headers]") {
  constexpr std::uint64_t kToken = 0x1234567890abcdef;
  constexpr std::uint32_t kRanks = 4, kOwn = 2;
  std::vector<std::string> seeds;
  for (const auto kind : {PacketKind::frame, PacketKind::goodbye, PacketKind::delivered}) {
    WireHeader header{};
    header.from = 1;
    header.kind = static_cast<std::uint32_t>(kind);
    header.token = kToken;
    seeds.emplace_back(reinterpret_cast<const char*>(&header), sizeof header);
  }
  UcpFunctions library;
  library.am_recv_data_nbx = &fetch;
  library.request_free = &request_free;
  library.status_string = [](ucs_status_t) { return "what the test wants"; };
  fuzz::Rounds rounds("ucx_headers", 100000);
  std::uint64_t read = 0, broken = 0;
  while (rounds.more()) {
    INFO("round " << rounds.number());
    fuzz::Random random(rounds.number());
    net = {};
    net.random = &random;
    const std::string bytes = fuzz::bend(random, seeds);
    const auto header = read_header(std::as_bytes(std::span(bytes)), kToken, kRanks, kOwn);
    if (!header) continue;
    ++read;
    REQUIRE(bytes.size() == sizeof *header);
    REQUIRE((header->token == kToken && header->from < kRanks && header->from != kOwn));
    Reader reader(random);
    Inlet inlet(library, nullptr, reader, static_cast<int>(header->from), kMostBytes);
    std::vector<std::byte> data(random.below(3) == 0 ? random.below(kMostBytes) : 0);
    const bool is_offer = random.below(3) == 0;
    inlet.accept(*header, is_offer ? reinterpret_cast<void*>(header->number + 1) : data.data(),
                 data.size(), is_offer ? UCP_AM_RECV_ATTR_FLAG_RNDV : 0);
    // Nobody is asked for a place but for a frame.
    if (header->kind != static_cast<std::uint32_t>(PacketKind::frame))
      REQUIRE((net.under_way.empty() && reader.delivered == 0));
    if (inlet.has_left()) REQUIRE((data.empty() && !is_offer));
    broken += inlet.is_broken() ? 1 : 0;
    while (!net.under_way.empty()) finish_one();
  }
  CHECK(read > 0);
  CHECK(broken > 0);
}
