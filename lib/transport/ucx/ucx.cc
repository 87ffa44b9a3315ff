// The ucx transport: outlets and inlets by peer over one worker.
//
// UCX has no authentication; a token of the job in every frame keeps jobs apart that meet by
// mistake, not attackers. Peers that die are reported by the endpoint, if we have one, or by
// the daemons through the job segment.
#include "transport/ucx/ucx.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

#include "base/clock.h"
#include "base/true_while.h"
#include "transport/gone_scan.h"
#include "transport/ucx/outlet.h"
#include "types/types.h"

namespace tutti::transport::ucx {
namespace {

constexpr int kRoundsPerCall = 16;
constexpr std::size_t kLongestAddress = 160;  // all transports share the record of the segment
constexpr std::int64_t kUcxGoodbyeNs = 2'000'000'000;
constexpr std::int64_t kUcxDoomNs = 1'000'000'000;
// Closing asks the other side, which may not look for a while; the goodbye is out already.
constexpr std::int64_t kCloseNs = 100'000'000;

// What all frames of this job carry; nothing can be learnt about the key from it.
std::uint64_t token_of(const wireup::SegmentHeader& header) {
  std::array<std::uint8_t, 16> hash{};
  constexpr std::array<std::uint8_t, 4> label{'u', 'c', 'x', '1'};
  crypto_generichash(hash.data(), hash.size(), label.data(), label.size(), header.job_key,
                     sizeof header.job_key);
  std::uint64_t token = 0;
  std::memcpy(&token, hash.data(), sizeof token);
  return token;
}

class UcxLink final : public Link {
 public:
  explicit UcxLink(Outlet& outlet) : outlet_(outlet) {}
  bool try_post(const FrameView& frame) override { return outlet_.try_send(frame); }
  bool has_unsent() const override { return !outlet_.is_calm(); }
  MemoryKinds kinds() const override { return outlet_.kinds(); }

 private:
  Outlet& outlet_;
};

class UcxTransport final : public Transport {
 public:
  UcxTransport(const Surroundings& around, std::unique_ptr<Worker> worker, DeviceNames devices)
      : wireup_(*around.wireup),
        sink_(*around.sink),
        worker_(std::move(worker)),
        devices_(std::move(devices)),
        token_(token_of(wireup_.segment().header())),
        gone_(wireup_) {}
  ~UcxTransport() override;

  Result<void> start();
  const char* name() const override { return "ucx"; }
  Traits traits(const Peer& peer) const override;
  Blob address() const override { return address_; }
  Result<std::unique_ptr<Link>> connect(const Peer& peer, BlobView address) override;
  int progress() override;
  int wait_fd() override;
  void look_around() override { gone_.ask(); }

 private:
  std::size_t longest_frame() const {
    return std::size_t{devices_.rdma.empty() ? 512U : 4096U} << 10;
  }
  Inlet& inlet(int peer);
  Outlet& outlet(int peer);
  int collect();
  Error broken(int peer, const std::string& reason) const;
  void tell_delivered(int peer, Inlet& from);
  void look_for_gone();
  void lose(int peer, const Error& why, std::int64_t grace);
  int bury();
  void close_all(std::int64_t limit);
  bool wait_until_calm(std::int64_t limit);
  static ucs_status_t on_message(void* self, const void* header, std::size_t header_bytes,
                                 void* data, std::size_t bytes, const ucp_am_recv_param_t* param);

  wireup::Wireup& wireup_;
  Sink& sink_;
  std::unique_ptr<Worker> worker_;
  DeviceNames devices_;
  std::uint64_t token_;
  Blob address_;
  GoneScan gone_;
  struct Doomed {
    Error why;
    std::int64_t until_ns;  // is reported then
    bool has_link;
  };
  std::unordered_map<int, Doomed> doomed_;
  std::unordered_map<int, std::unique_ptr<Inlet>> inlets_;
  std::unordered_map<int, std::unique_ptr<Outlet>> outlets_;
  bool inside_ = false;
  bool is_leaving_ = false;
};

Result<void> UcxTransport::start() {
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kMessageId;
  handler.cb = &UcxTransport::on_message;
  handler.arg = this;
  const ucs_status_t status = worker_->library().set_am_recv_handler(worker_->get(), &handler);
  if (status != UCS_OK)
    return fail(Code::other, "active messages: " + worker_->library().text(status));
  TUTTI_TRY(address, worker_->address());
  if (address.size() >= kLongestAddress)
    return fail(Code::other, "its address takes " + std::to_string(address.size()) +
                                 " bytes; name one device in UCX_NET_DEVICES");
  address.push_back(static_cast<std::byte>(worker_->kinds()));
  address_ = std::move(address);
  return {};
}

Traits UcxTransport::traits(const Peer& peer) const {
  Traits traits;
  traits.reaches = peer.rank != wireup_.rank();
  const bool is_tcp = devices_.rdma.empty();
  traits.why = is_tcp ? "over UCX's tcp" : "RDMA device " + devices_.rdma;
  if (is_tcp && !devices_.all.empty()) traits.why += " on " + devices_.all;
  traits.kind = is_tcp ? "tcp" : "rdma";
  traits.max_frame = longest_frame();
  traits.eager_bytes = is_tcp ? std::size_t{64} << 10 : std::size_t{8} << 10;
  return traits;
}

Inlet& UcxTransport::inlet(int peer) {
  auto& found = inlets_[peer];
  if (!found)
    found = std::make_unique<Inlet>(worker_->library(), worker_->get(), sink_, peer,
                                    longest_frame(), worker_->kinds());
  return *found;
}

Outlet& UcxTransport::outlet(int peer) {
  auto& found = outlets_[peer];
  if (!found)
    found = std::make_unique<Outlet>(*worker_, static_cast<std::uint32_t>(wireup_.rank()), token_,
                                     inlet(peer), peer);
  return *found;
}

Result<std::unique_ptr<Link>> UcxTransport::connect(const Peer& peer, BlobView address) {
  Outlet& to = outlet(peer.rank);
  if (!to.is_connected()) TUTTI_DO(to.connect(address));
  return std::unique_ptr<Link>(std::make_unique<UcxLink>(to));
}

ucs_status_t UcxTransport::on_message(void* data, const void* header_bytes, std::size_t length,
                                      void* payload, std::size_t bytes,
                                      const ucp_am_recv_param_t* param) {
  auto& self = *static_cast<UcxTransport*>(data);
  const auto header = read_header({static_cast<const std::byte*>(header_bytes), length},
                                  self.token_, self.wireup_.segment().header().ranks,
                                  static_cast<std::uint32_t>(self.wireup_.rank()));
  if (!header || self.is_leaving_) return UCS_OK;
  Inlet& from = self.inlet(static_cast<int>(header->from));
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0) from.reply_to = param->reply_ep;
  return from.accept(*header, payload, bytes, param->recv_attr);
}

int UcxTransport::progress() {
  if (inside_) return 0;
  const TrueWhile until_end(inside_);
  worker_->calm();
  for (int round = 0; round < kRoundsPerCall && worker_->progress(); ++round) {
  }
  int events = collect();
  if (gone_.is_asked()) look_for_gone();
  if (!doomed_.empty()) [[unlikely]]
    events += bury();
  return events;
}

int UcxTransport::collect() {
  int events = 0;
  for (auto& [peer, each] : inlets_) {
    events += each->take_events();
    if (each->is_broken()) [[unlikely]]
      lose(peer,
           each->failure().empty() ? gone_.no_frame_from(peer) : broken(peer, each->failure()), 0);
    else if (each->owes_word()) [[unlikely]]
      tell_delivered(peer, *each);
  }
  for (auto& [peer, each] : outlets_) {
    if (each->is_lied_to()) [[unlikely]]
      lose(peer, gone_.no_frame_from(peer), 0);
    const int more = each->take_events();
    if (more > 0 && each->is_broken() && !inlet(peer).has_left())
      lose(peer, broken(peer, each->reason()), 0);
    events += more;
  }
  return events;
}

Error UcxTransport::broken(int peer, const std::string& reason) const {
  return Error{Code::proc_aborted, wireup_.name_of(peer) + " lost its ucx connection: " + reason};
}

void UcxTransport::tell_delivered(int peer, Inlet& from) {
  if (from.has_left() || gone_.is_reported(peer)) return;
  Outlet& to = outlet(peer);
  if (!to.has_endpoint() && from.reply_to != nullptr) to.use(from.reply_to);
  if (to.has_endpoint()) to.tell_delivered();
}

// What it sent before may still be on its way.
void UcxTransport::look_for_gone() {
  gone_.look([](int) { return true; },
             [this](int rank) {
               lose(rank, gone_.error_for(rank), kUcxDoomNs);
               return false;  // bury() reports it
             });
}

void UcxTransport::lose(int peer, const Error& why, std::int64_t grace) {
  if (gone_.is_reported(peer) || doomed_.contains(peer)) return;
  const bool has_link = inlets_.contains(peer) || outlets_.contains(peer);
  doomed_.emplace(peer, Doomed{why, now_ns() + grace, has_link});
}

// Reports who is lost. UCX may not yet be through with a fetch, and the memory is the sink's.
int UcxTransport::bury() {
  int found = 0;
  for (auto at = doomed_.begin(); at != doomed_.end();) {
    const auto& [peer, doomed] = *at;
    Inlet& from = inlet(peer);
    const std::int64_t over = now_ns() - doomed.until_ns;
    if (over < 0 || (from.is_fetching() && over < kUcxDoomNs)) {
      ++at;
      continue;
    }
    from.break_off();
    if (!doomed.has_link)
      sink_.on_peer_ended(peer, name(), doomed.why);
    else if (!gone_.is_reported(peer))
      sink_.on_peer_gone(peer, doomed.why);
    gone_.mark(peer);
    at = doomed_.erase(at);
    ++found;
  }
  return found;
}

int UcxTransport::wait_fd() {
  worker_->arm();
  return worker_->wait_fd();
}

bool UcxTransport::wait_until_calm(std::int64_t limit) {
  for (;;) {
    worker_->progress();
    bool calm = true;
    for (auto& [peer, each] : outlets_) calm = calm && (each->is_calm() || each->is_broken());
    if (calm) return true;
    if (now_ns() > limit) return false;
  }
}

UcxTransport::~UcxTransport() {
  is_leaving_ = true;
  const std::int64_t limit = now_ns() + kUcxGoodbyeNs;
  for (auto& [peer, each] : inlets_) {
    if (each->reply_to == nullptr || each->has_left()) continue;
    if (Outlet& to = outlet(peer); !to.has_endpoint()) to.use(each->reply_to);
  }
  for (auto& [peer, each] : outlets_)
    if (!inlet(peer).has_left()) each->say_goodbye();
  wait_until_calm(limit);
  close_all(std::min(limit, now_ns() + kCloseNs));
}

void UcxTransport::close_all(std::int64_t limit) {
  std::vector<void*> closing;
  for (auto& [peer, each] : outlets_)
    if (void* const request = each->begin_close()) closing.push_back(request);
  const UcpFunctions& library = worker_->library();
  for (void* const request : closing) {
    while (library.request_check_status(request) == UCS_INPROGRESS && now_ns() < limit)
      worker_->progress();
    library.request_free(request);
  }
  worker_.reset();  // before outlets and inlets, whose memory its callbacks use
}

}  // namespace

Result<std::unique_ptr<Transport>> open(const Surroundings& around) {
  const auto named = named_links(*around.knobs);
  if (around.wireup->size() < 2) return fail(Code::other, "there is no other rank");
  const std::string& security = around.knobs->text("TUTTI_LINK_SECURITY");
  if (security != "none" && around.wireup->segment().header().hosts > 1)
    return fail(Code::other, "it cannot give TUTTI_LINK_SECURITY=" + security);
  TUTTI_TRY(wanted, InterfaceList::parse(around.knobs->text("TUTTI_INTERFACES")));
  TUTTI_TRY(devices, devices_of(wanted));
  if (named.empty()) {
    if (around.wireup->segment().header().hosts < 2)
      return fail(Code::other, "all ranks are on one host");
    if (devices.rdma.empty())
      return fail(Code::other, "no RDMA device (TUTTI_LINK=ucx uses its tcp)");
  }
  if (::sodium_init() < 0) return fail(Code::other, "libsodium does not start");
  TUTTI_TRY(library, UcpFunctions::open());
  MemoryKinds kinds = kinds_of(MemoryKind::host);
  if (around.devices != nullptr)
    for (const types::Vendor* each : around.devices->vendors()) kinds |= kinds_of(each->kind());
  TUTTI_TRY(worker, Worker::open(library, devices, kinds));
  auto transport = std::make_unique<UcxTransport>(around, std::move(worker), devices);
  TUTTI_DO(transport->start());
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace tutti::transport::ucx
