// Sending: a pinned payload goes as it is, another is copied first, because UCX may keep it.
#include "transport/ucx/outlet.h"

#include <utility>

namespace tutti::transport::ucx {
namespace {

constexpr int kMostUnderWay = 64;
constexpr std::size_t kCopyKept = std::size_t{64} << 10;

}  // namespace

Outlet::Outlet(Worker& worker, std::uint32_t own_rank, std::uint64_t token, Inlet& inlet, int peer)
    : worker_(worker), own_rank_(own_rank), token_(token), inlet_(inlet), peer_(peer) {}

Outlet::~Outlet() = default;

Result<void> Outlet::connect(BlobView address) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = &Outlet::on_error;
  params.err_handler.arg = this;
  // Behind UCX's own stand the kinds of memory that the peer's UCX moves.
  if (address.size() < 2)
    return fail(Code::other, "rank " + std::to_string(peer_) + " has no address");
  kinds_ = worker_.kinds() & std::to_integer<MemoryKinds>(address.back());
  const ucs_status_t status = worker_.library().ep_create(worker_.get(), &params, &endpoint_);
  if (status != UCS_OK)
    return fail(Code::other, "rank " + std::to_string(peer_) +
                                 " cannot be reached by ucx: " + worker_.library().text(status));
  owns_endpoint_ = true;
  return {};
}

bool Outlet::try_send(const FrameView& frame) {
  if (under_way_ >= kMostUnderWay || is_broken_ || number_ >= inlet_.heard() + kMostAhead)
    return false;
  Operation* const operation = take_operation();
  operation->header = header_of(PacketKind::frame);
  operation->header.header = *frame.header;
  operation->done = frame.done;
  std::byte* payload = const_cast<std::byte*>(frame.payload);
  if (frame.done == nullptr && frame.bytes > 0) {
    operation->copy.assign(frame.payload, frame.payload + frame.bytes);
    payload = operation->copy.data();
  }
  return submit(operation, {payload, frame.bytes, frame.kind, frame.device});
}

void Outlet::say_goodbye() {
  if (is_broken_ || endpoint_ == nullptr) return;
  Operation* const operation = take_operation();
  operation->header = header_of(PacketKind::goodbye);
  operation->done = nullptr;
  submit(operation, {});
}

void Outlet::tell_delivered() {
  if (is_broken_ || tells_) return;
  Operation* const operation = take_operation();
  operation->header = header_of(PacketKind::delivered);
  operation->done = nullptr;
  tells_ = true;
  submit(operation, {});
}

WireHeader Outlet::header_of(PacketKind kind) const {
  return {own_rank_, static_cast<std::uint32_t>(kind), token_, number_, inlet_.tell(), {}};
}

Outlet::Operation* Outlet::take_operation() {
  if (free_.empty()) {
    all_.push_back(std::make_unique<Operation>());
    all_.back()->outlet = this;
    free_.push_back(all_.back().get());
  }
  Operation* const operation = free_.back();
  free_.pop_back();
  return operation;
}

bool Outlet::submit(Operation* operation, const Memory& payload) {
  ucp_request_param_t param{};
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  param.cb.send = &Outlet::on_sent;
  param.user_data = operation;
  const bool has_number =
      operation->header.kind != static_cast<std::uint32_t>(PacketKind::delivered);
  // With the first frame the peer learns how to answer even if it never sends.
  param.flags = has_number && number_ == 0 ? UCP_AM_SEND_FLAG_REPLY : 0;
  operation->kind = payload.kind;
  operation->device = payload.device;
  if (worker_.kinds() != kinds_of(MemoryKind::host)) {  // else UCX would ask for each
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    param.memory_type = type_of(payload.kind);
  }
  // The receiver has a place for it, whatever its length.
  if (payload.kind != MemoryKind::host) param.flags |= UCP_AM_SEND_FLAG_RNDV;
  void* const request =
      worker_.library().am_send_nbx(endpoint_, kMessageId, &operation->header,
                                    sizeof operation->header, payload.data, payload.bytes, &param);
  if (UCS_PTR_IS_ERR(request)) {
    operation->done = nullptr;  // it was not taken: the caller keeps it
    finish(operation, false);
    break_off(worker_.library().text(UCS_PTR_STATUS(request)));
    return false;
  }
  if (has_number) ++number_;
  if (request == nullptr)
    finish(operation, true);
  else
    ++under_way_;
  return true;
}

void Outlet::finish(Operation* operation, bool ok) {
  Done* const done = std::exchange(operation->done, nullptr);
  if (operation->copy.capacity() > kCopyKept) operation->copy = {};
  if (operation->header.kind == static_cast<std::uint32_t>(PacketKind::delivered)) tells_ = false;
  free_.push_back(operation);
  if (done != nullptr) done->fire(done, ok);
}

void Outlet::on_sent(void* request, ucs_status_t status, void* data) {
  auto* const operation = static_cast<Operation*>(data);
  Outlet* const outlet = operation->outlet;
  outlet->worker_.library().request_free(request);
  --outlet->under_way_;
  ++outlet->events_;
  // Nobody else tells the peer that a copy of ours has failed.
  if (status != UCS_OK && operation->kind != MemoryKind::host)
    outlet->break_off(text_of_copy("out of", operation->device) +
                      outlet->worker_.library().text(status));
  outlet->finish(operation, status == UCS_OK);
}

void Outlet::on_error(void* data, ucp_ep_h, ucs_status_t status) {
  auto* const outlet = static_cast<Outlet*>(data);
  outlet->break_off(outlet->worker_.library().text(status));
}

void Outlet::break_off(std::string reason) {
  if (std::exchange(is_broken_, true)) return;
  ++events_;
  reason_ = std::move(reason);
}

void* Outlet::begin_close() {
  if (!owns_endpoint_) return nullptr;
  owns_endpoint_ = false;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = is_broken_ ? UCP_EP_CLOSE_FLAG_FORCE : 0;
  void* const request = worker_.library().ep_close_nbx(endpoint_, &param);
  return UCS_PTR_IS_PTR(request) ? request : nullptr;
}

}  // namespace tutti::transport::ucx
