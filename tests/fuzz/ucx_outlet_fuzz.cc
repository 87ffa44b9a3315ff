// Words of a ucx peer on what was delivered there, true or not, and an outlet over a UCX of the
// test's that takes, refuses and ends what it likes. What is sent has numbers without a gap, and
// stays as it was until it has ended, once; the peer is never sent more than it has room for; a lie
// is found out.
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "catch.h"
#include "mutate.h"
#include "transport/ucx/outlet.h"

using namespace tutti;                  // NOLINT(google-build-using-namespace): a test
using namespace tutti::transport;       // NOLINT(google-build-using-namespace): a test
using namespace tutti::transport::ucx;  // NOLINT(google-build-using-namespace): a test

namespace {

// To whom nothing comes.
class Deaf final : public Sink {
 public:
  bool on_frame(int, const FrameHeader&, std::span<std::byte>) override { return true; }
  std::byte* place(int, const FrameHeader&, std::size_t) override { return nullptr; }
  void on_peer_gone(int, const Error&) override {}
};

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
  bool is_right = true, fails = false;
  ucp_err_handler_t on_error = {};
} wire;

ucs_status_ptr_t send(std::span<const std::byte> header, std::span<const std::byte> payload,
                      const ucp_request_param_t& param) {
  WireHeader sent{};
  wire.is_right = wire.is_right && header.size() == sizeof sent;
  std::memcpy(&sent, header.data(), sizeof sent);
  const std::size_t luck = wire.random->below(60);
  if (wire.fails && luck == 0) return UCS_STATUS_PTR(UCS_ERR_IO_ERROR);
  if (sent.kind != static_cast<std::uint32_t>(PacketKind::delivered))
    wire.is_right = wire.is_right && sent.number == wire.numbers++;
  if (luck % 2 == 0) return nullptr;
  wire.under_way.push_back(
      {payload.data(), {payload.begin(), payload.end()}, param.cb.send, param.user_data});
  return &wire;
}

// UCX ends them in any order; until then what is sent stays as it was.
void end_one() {
  if (wire.under_way.empty()) return;
  std::swap(wire.under_way[wire.random->below(wire.under_way.size())], wire.under_way.back());
  const Sending one = std::move(wire.under_way.back());
  wire.under_way.pop_back();
  wire.is_right = wire.is_right && std::equal(one.before.begin(), one.before.end(), one.payload);
  one.done(&wire, wire.fails && wire.random->below(40) == 0 ? UCS_ERR_IO_ERROR : UCS_OK, one.user);
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
  all.am_send_nbx = [](ucp_ep_h, unsigned, const void* header, std::size_t length,
                       const void* payload, std::size_t bytes, const ucp_request_param_t* param) {
    return send({static_cast<const std::byte*>(header), length},
                {static_cast<const std::byte*>(payload), bytes}, *param);
  };
  all.request_free = [](void*) {};
  all.status_string = [](ucs_status_t) { return "as the test wants it"; };
  return all;
}

// Fires once.
struct Fired : Done {
  Fired() : Done{[](Done* self, bool) { ++static_cast<Fired*>(self)->times; }} {}
  int times = 0;
};

// A peer that says what was delivered there, mostly the truth; and what is sent to it.
struct Lied {
  fuzz::Random& random;
  Inlet& inlet;
  Outlet& outlet;
  std::uint64_t most = 0;  // that it has said so far
  bool was_full = false;
  std::deque<Fired> fired = {};

  void hear() {
    WireHeader word{};
    word.kind = static_cast<std::uint32_t>(PacketKind::delivered);
    constexpr std::uint64_t kOdd[] = {1, 1024, 1ULL << 32, ~0ULL};
    word.delivered = random.below(40) == 0 ? wire.numbers + kOdd[random.below(std::size(kOdd))]
                                           : random.below(wire.numbers + 1);
    inlet.accept(word, nullptr, 0, 0);
    most = std::max(most, word.delivered);
  }
  void try_send() {
    const std::vector<std::byte> payload(random.below(64), std::byte{7});
    const FrameHeader header{};
    Fired* const pinned = random.below(2) == 0 ? &fired.emplace_back() : nullptr;
    const std::span<const std::byte> sent =
        pinned == nullptr ? std::span(payload) : std::span<const std::byte>();
    const std::uint64_t before = wire.numbers;
    const bool is_sent = outlet.try_send({&header, sent.data(), sent.size(), pinned});
    REQUIRE(wire.numbers == before + (is_sent ? 1 : 0));
    REQUIRE(wire.numbers <= most + kMostAhead);
    REQUIRE((is_sent || outlet.is_broken() || wire.under_way.size() >= 64 ||
             before >= most + kMostAhead));
    was_full = was_full || before == most + kMostAhead;
    if (is_sent || pinned == nullptr) return;
    REQUIRE(pinned->times == 0);
    fired.pop_back();
  }
  void run(std::size_t steps) {
    const std::size_t seldom = random.below(2) == 0 ? 40 : 4000;
    for (; steps > 0; --steps) {
      if (random.below(3) == 0) end_one();
      if (wire.fails && random.below(900) == 0)
        wire.on_error.cb(wire.on_error.arg, nullptr, UCS_ERR_IO_ERROR);
      if (random.below(seldom) == 0) hear();
      REQUIRE(outlet.is_lied_to() == (most > wire.numbers));
      if (outlet.is_lied_to()) return;  // and the peer is lost
      if (random.below(20) == 0)
        outlet.tell_delivered();
      else
        try_send();
    }
  }
};

}  // namespace

TEST_CASE("a ucx peer that lies of what it was delivered is found out", "[fuzz][ucx_outlet]") {
  const UcpFunctions library = wired();
  fuzz::Rounds rounds("ucx_outlet", 5000);
  std::uint64_t lies = 0, full = 0;
  while (rounds.more()) {
    INFO("round " << rounds.number());
    fuzz::Random random(rounds.number());
    wire = {};
    wire.random = &random;
    wire.fails = random.below(2) == 0;
    const auto worker = Worker::open(library, {}, kinds_of(MemoryKind::host));
    REQUIRE(worker);
    Deaf sink;
    Inlet inlet(library, nullptr, sink, 1, 4096);
    Outlet outlet(**worker, 0, 5, inlet, 1);
    Blob address(random.below(40));
    for (std::byte& byte : address) byte = static_cast<std::byte>(random.next() >> 32);
    if (!outlet.connect(address)) continue;
    REQUIRE(address.size() > 1);
    REQUIRE((outlet.kinds() & ~std::to_integer<MemoryKinds>(address.back())) == 0);
    Lied peer{random, inlet, outlet};
    peer.run(random.below(3000));
    lies += outlet.is_lied_to() ? 1 : 0;
    full += peer.was_full ? 1 : 0;
    while (!wire.under_way.empty()) end_one();
    for (const Fired& each : peer.fired) REQUIRE(each.times == 1);
    REQUIRE(wire.is_right);
    REQUIRE(outlet.is_calm());
  }
  CHECK(lies > 0);
  CHECK(full > 0);
}
