// The tcp transport: when to look at which socket.
//
// A rank that exchanges messages over one connection reads from it directly, one system call a
// poll. All other sockets are served through epoll, every few polls while something is hot, and
// at most every few microseconds while nothing is, so that ranks which talk through shared
// memory do not pay for the network. Before the rank sleeps everything is looked at once.
#include "transport/tcp/tcp.h"

#include <sodium.h>

#include <utility>

#include "base/clock.h"
#include "base/true_while.h"
#include "transport/tcp/peers.h"

namespace tutti::transport::tcp {
namespace {

constexpr std::uint32_t kServeEvery = 32;      // polls, while something is hot
constexpr std::int64_t kServeEveryNs = 4'000;  // while nothing is

// Data of a message from so many bytes on are shared by rails, in parts of so many.
constexpr std::size_t kRailFrom = std::size_t{256} << 10;
constexpr std::size_t kRailFrame = std::size_t{128} << 10;

class TcpLink final : public Link {
 public:
  // first: the peer's ordered one, by which goes what was meant for a rail that cannot be had.
  TcpLink(PeerConnection& connection, PeerConnection& first)
      : connection_(connection), first_(first) {}

  bool try_post(const FrameView& frame) override {
    Stream* const by = stream();
    return by != nullptr && by->try_send(frame);
  }
  bool has_unsent() const override {
    const Stream* const by = stream();
    return by != nullptr && by->has_pending();
  }

 private:
  Stream* stream() const {
    return (connection_.stream == nullptr && connection_.is_given_up ? first_ : connection_)
        .stream.get();
  }
  PeerConnection& connection_;
  PeerConnection& first_;
};

class TcpTransport final : public Transport {
 public:
  TcpTransport(const Surroundings& around, Security security, Congestion congestion)
      : rank_(around.wireup->rank()),
        security_(security),
        peers_(*around.wireup, *around.sink, security, std::move(congestion),
               static_cast<std::uint32_t>(around.knobs->integer("TUTTI_TCP_RAILS"))) {}

  Result<void> listen(Family family, const std::string& interfaces) {
    interfaces_ = interfaces;
    return peers_.listen(family, interfaces);
  }

  const char* name() const override { return "tcp"; }

  Traits traits(const Peer& peer) const override {
    Traits traits;
    traits.reaches = peer.rank != rank_;
    traits.why = "connection authenticated";
    if (security_ == Security::integrity) traits.why += ", data too (integrity)";
    if (security_ == Security::encrypted) traits.why += ", data encrypted";
    traits.kind = "tcp";
    traits.wire_gbits = peers_.wire_gbits();
    if (!interfaces_.empty()) traits.why += ", by TUTTI_INTERFACES=" + interfaces_;
    if (peers_.rails() > 0)
      traits.why += ", long messages by " + std::to_string(peers_.rails()) + " rails";
    traits.max_frame = security_ == Security::none ? kMaxFrame : kMaxSealedFrame;
    // What fits in a frame is spared an offer and its grant; but rails carry only what was offered.
    traits.eager_bytes = traits.max_frame;
    if (peers_.rails() > 0) traits.eager_bytes = std::min(traits.max_frame, kRailFrom - 1);
    return traits;
  }

  Blob address() const override { return peers_.address(); }

  Result<std::unique_ptr<Link>> connect(const Peer& peer, BlobView address) override {
    TUTTI_TRY(connection, peers_.wish(peer.rank, address));
    return std::unique_ptr<Link>(std::make_unique<TcpLink>(*connection, *connection));
  }
  std::unique_ptr<Transport> rail(int number) override;
  std::unique_ptr<Link> connect_rail(int rank, int number) {
    PeerConnection& first = peers_.first_of(rank);
    return std::make_unique<TcpLink>(peers_.wish_rail(rank, number), first);
  }
  void drop(int peer) override { peers_.drop(peer); }

  int progress() override {
    if (inside_) return 0;
    const TrueWhile until_end(inside_);
    int events = peers_.take_again();
    if (peers_.has_hot()) events += peers_.pull_hot();
    if (events == 0 && take_turn()) events += serve();
    return events;
  }

  int wait_fd() override {
    must_serve_ = true;
    return peers_.wait_fd();
  }

  void look_at_all() override { must_serve_ = true; }

  void look_around() override {
    peers_.gone().ask();
    must_serve_ = true;
  }

 private:
  bool take_turn() {
    if (must_serve_) return true;
    if (peers_.has_hot()) return ++skipped_ >= kServeEvery;
    return now_ns() - served_ns_ >= kServeEveryNs;
  }

  int serve() {
    must_serve_ = false;
    skipped_ = 0;
    int events = peers_.serve();
    if (peers_.gone().is_asked()) peers_.look_for_gone();
    served_ns_ = now_ns();
    return events;
  }

  int rank_;
  Security security_;
  std::string interfaces_;
  Peers peers_;
  bool inside_ = false;
  bool must_serve_ = true;
  std::uint32_t skipped_ = 0;
  std::int64_t served_ns_ = 0;
};

// One of the rails: a further connection to each peer that the transport reaches, which does all
// the work.
class TcpRail final : public Transport {
 public:
  TcpRail(TcpTransport& all, int number) : all_(all), number_(number) {}

  const char* name() const override { return all_.name(); }
  Traits traits(const Peer& peer) const override {
    Traits traits = all_.traits(peer);
    traits.is_rail = true;
    traits.bulk_from = kRailFrom;
    traits.max_frame = kRailFrame;
    // GPU memory, too, which comes and goes through the host's (p2p/copies.cc).
    traits.kinds = kEveryKind;
    return traits;
  }
  Blob address() const override { return {}; }
  Result<std::unique_ptr<Link>> connect(const Peer& peer, BlobView) override {
    return all_.connect_rail(peer.rank, number_);
  }
  int progress() override { return 0; }
  int wait_fd() override { return -1; }
  void drop(int peer) override { all_.drop(peer); }

 private:
  TcpTransport& all_;
  int number_;
};

std::unique_ptr<Transport> TcpTransport::rail(int number) {
  return number <= peers_.rails() ? std::make_unique<TcpRail>(*this, number) : nullptr;
}

}  // namespace

Result<std::unique_ptr<Transport>> open(const Surroundings& around) {
  const auto named = named_links(*around.knobs);
  if (around.wireup->segment().header().hosts < 2 && named.empty())
    return fail(Code::other, "all ranks are on one host");
  if (around.wireup->size() < 2) return fail(Code::other, "there is no other rank");
  if (::sodium_init() < 0) return fail(Code::other, "libsodium does not start");
  TUTTI_TRY(family, family_named(around.knobs->text("TUTTI_TCP_FAMILY")));
  TUTTI_TRY(security, security_named(around.knobs->text("TUTTI_LINK_SECURITY")));
  TUTTI_TRY(congestion, Congestion::named(around.knobs->text("TUTTI_TCP_CONGESTION")));
  auto transport = std::make_unique<TcpTransport>(around, security, std::move(congestion));
  TUTTI_DO(transport->listen(family, around.knobs->text("TUTTI_INTERFACES")));
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace tutti::transport::tcp
