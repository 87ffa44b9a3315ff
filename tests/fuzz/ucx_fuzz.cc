// Frames of a ucx peer: in any order, long ones as offers that are fetched at once, later or never,
// numbers and kinds of nonsense. What is delivered is delivered once, in order, and a peer that
// breaks the rules is broken off; nothing is kept beyond what the rules allow.
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstring>

#include "catch.h"
#include "mutate.h"
#include "transport/ucx/outlet.h"

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

namespace {

// UCX itself, as far as a worker and an outlet call it.
struct Sending {
  const std::byte* payload;
  std::vector<std::byte> before;
  ucp_send_nbx_callback_t done;
  void* user;
};
struct Wire {
  fuzz::Random* random = nullptr;
  std::vector<Sending> under_way;
  std::uint64_t numbers = 0;  // of frames and goodbyes, so far
  bool is_right = true;
  ucp_err_handler_t on_error = {};
} wire;

ucs_status_ptr_t send(ucp_ep_h, unsigned, const void* header, std::size_t length,
                      const void* payload, std::size_t bytes, const ucp_request_param_t* param) {
  WireHeader sent{};
  wire.is_right = wire.is_right && length == sizeof sent;
  std::memcpy(&sent, header, sizeof sent);
  const std::size_t luck = wire.random->below(60);
  if (luck == 0) return UCS_STATUS_PTR(UCS_ERR_IO_ERROR);
  if (sent.kind != static_cast<std::uint32_t>(PacketKind::delivered))
    wire.is_right = wire.is_right && sent.number == wire.numbers++;
  if (luck % 2 == 0) return nullptr;
  const auto* const at = static_cast<const std::byte*>(payload);
  wire.under_way.push_back({at, {at, at + bytes}, param->cb.send, param->user_data});
  return &wire;
}

// UCX ends them in any order; until then what is sent stays as it was.
void end_one() {
  if (wire.under_way.empty()) return;
  std::swap(wire.under_way[wire.random->below(wire.under_way.size())], wire.under_way.back());
  const Sending one = std::move(wire.under_way.back());
  wire.under_way.pop_back();
  wire.is_right = wire.is_right && std::equal(one.before.begin(), one.before.end(), one.payload);
  one.done(&wire, wire.random->below(40) == 0 ? UCS_ERR_IO_ERROR : UCS_OK, one.user);
}

UcpFunctions wired() {
  UcpFunctions all;
  all.config_read = [](const char*, const char*, ucp_config_t**) { return UCS_OK; };
  all.config_modify = [](ucp_config_t*, const char*, const char*) { return UCS_OK; };
  all.config_release = [](ucp_config_t*) {};
  all.init_version = [](unsigned, unsigned, const ucp_params_t*, const ucp_config_t*,
                        ucp_context_h*) { return UCS_OK; };
  all.context_query = [](ucp_context_h, ucp_context_attr_t*) { return UCS_OK; };
  all.worker_create = [](ucp_context_h, const ucp_worker_params_t*, ucp_worker_h*) {
    return UCS_OK;
  };
  all.worker_get_efd = [](ucp_worker_h, int* events) {
    static const int once = ::eventfd(0, EFD_CLOEXEC);
    *events = once;
    return UCS_OK;
  };
  all.ep_create = [](ucp_worker_h, const ucp_ep_params_t* params, ucp_ep_h* made) {
    wire.on_error = params->err_handler;
    *made = reinterpret_cast<ucp_ep_h>(&wire);
    return wire.random->below(50) == 0 ? UCS_ERR_INVALID_ADDR : UCS_OK;
  };
  all.am_send_nbx = &send;
  all.request_free = &request_free;
  all.status_string = [](ucs_status_t) { return "as the test wants it"; };
  return all;
}

// Fires once.
struct Fired : Done {
  Fired() : Done{[](Done* self, bool) { ++static_cast<Fired*>(self)->times; }} {}
  int times = 0;
};

}  // namespace

TEST_CASE("a ucx peer that lies of what it was delivered is found out", "[fuzz][ucx_outlet]") {
  const UcpFunctions library = wired();
  fuzz::Rounds rounds("ucx_outlet", 5000);
  std::uint64_t lies = 0, refused = 0;
  while (rounds.more()) {
    INFO("round " << rounds.number());
    fuzz::Random random(rounds.number());
    net = {};
    wire = {};
    net.random = wire.random = &random;
    const auto worker = Worker::open(library, {}, kinds_of(MemoryKind::host));
    REQUIRE(worker);
    Reader reader(random);
    Inlet inlet(library, nullptr, reader, 1, kMostBytes);
    Outlet outlet(**worker, 0, 5, inlet, 1);
    Blob address(random.below(40));
    for (std::byte& byte : address) byte = static_cast<std::byte>(random.next() >> 32);
    if (!outlet.connect(address)) continue;
    REQUIRE(address.size() > 1);
    REQUIRE(outlet.kinds() ==
            (kinds_of(MemoryKind::host) & std::to_integer<MemoryKinds>(address.back())));
    std::deque<Fired> fired;
    std::uint64_t most = 0;  // that the peer has said so far
    for (std::size_t steps = random.below(3000); steps > 0; --steps) {
      if (random.below(3) == 0) end_one();
      if (random.below(900) == 0) wire.on_error.cb(wire.on_error.arg, nullptr, UCS_ERR_IO_ERROR);
      if (random.below(40) == 0) {
        WireHeader word{};
        word.kind = static_cast<std::uint32_t>(PacketKind::delivered);
        word.delivered = random.below(40) == 0 ? some_number(random, wire.numbers)
                                               : random.below(wire.numbers + 1);
        inlet.accept(word, nullptr, 0, 0);
        most = std::max(most, word.delivered);
      }
      REQUIRE(outlet.is_lied_to() == (most > wire.numbers));
      if (outlet.is_lied_to()) break;  // and the peer is lost
      if (random.below(20) == 0) {
        outlet.tell_delivered();
        continue;
      }
      std::vector<std::byte> payload(random.below(64), static_cast<std::byte>(steps));
      const FrameHeader header{};
      Fired* const pinned = random.below(2) == 0 ? &fired.emplace_back() : nullptr;
      const std::uint64_t before = wire.numbers;
      const bool is_sent = outlet.try_send({&header, pinned == nullptr ? payload.data() : nullptr,
                                            pinned == nullptr ? payload.size() : 0, pinned});
      REQUIRE(wire.numbers == before + (is_sent ? 1 : 0));
      REQUIRE(wire.numbers <= most + kMostAhead);
      if (!is_sent && pinned != nullptr) {
        REQUIRE(pinned->times == 0);
        fired.pop_back();
      }
      refused += is_sent ? 0 : 1;
    }
    lies += outlet.is_lied_to() ? 1 : 0;
    while (!wire.under_way.empty()) end_one();
    for (const Fired& each : fired) REQUIRE(each.times == 1);
    REQUIRE(wire.is_right);
    REQUIRE(outlet.is_calm());
  }
  CHECK(lies > 0);
  CHECK(refused > 0);
}
