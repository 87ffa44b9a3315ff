// Reordering and fetching of arriving frames.
#include "transport/ucx/inlet.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tutti::transport::ucx {
namespace {

constexpr std::uint64_t kMostAhead = 4096;  // frames a peer may be ahead of one that is missing

}  // namespace

Inlet::~Inlet() = default;

ucs_status_t Inlet::accept(const WireHeader& header, void* data, std::size_t bytes,
                           std::uint64_t flags) {
  if (header.number < next_ || header.number - next_ > kMostAhead) return UCS_OK;  // not ours
  const bool is_offer = (flags & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  if (entries_.empty() && header.number == next_ && !is_offer) {
    ++next_;
    deliver(header, static_cast<std::byte*>(data), bytes);
    return UCS_OK;
  }
  const auto at = static_cast<std::size_t>(header.number - next_);
  while (entries_.size() <= at) entries_.push_back(std::make_unique<Entry>());
  Entry& entry = *entries_[at];
  entry.header = header;
  entry.bytes = bytes;
  entry.inlet = this;
  entry.state = State::arrived;
  if (is_offer)
    entry.offer = data;
  else
    keep(entry, data, bytes);
  deliver_in_order();
  return is_offer ? UCS_INPROGRESS : UCS_OK;
}

void Inlet::keep(Entry& entry, const void* data, std::size_t bytes) {
  entry.own.resize(bytes);
  if (bytes > 0) std::memcpy(entry.own.data(), data, bytes);
  entry.payload = entry.own.data();
}

void Inlet::fetch(Entry& entry) {
  entry.state = State::fetching;
  entry.payload = sink_.place(peer_, entry.header.header, entry.bytes);
  if (entry.payload == nullptr) {
    entry.own.resize(entry.bytes);
    entry.payload = entry.own.data();
  }
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.recv_am = &Inlet::on_fetched;
  param.user_data = &entry;
  void* const request =
      library_.am_recv_data_nbx(worker_, entry.offer, entry.payload, entry.bytes, &param);
  // An error here is the end of the endpoint, which is reported there.
  if (request == nullptr) entry.state = State::ready;
}

void Inlet::on_fetched(void* request, ucs_status_t status, std::size_t, void* data) {
  auto* const entry = static_cast<Entry*>(data);
  Inlet* const inlet = entry->inlet;
  inlet->library_.request_free(request);
  if (status != UCS_OK) return;
  entry->state = State::ready;
  inlet->deliver_in_order();
}

void Inlet::deliver_in_order() {
  while (!entries_.empty()) {
    Entry& first = *entries_.front();
    if (first.state == State::arrived && first.offer != nullptr) fetch(first);
    if (first.state == State::missing || first.state == State::fetching) return;
    const std::unique_ptr<Entry> entry = std::move(entries_.front());
    entries_.pop_front();
    ++next_;
    deliver(entry->header, entry->payload, entry->bytes);
  }
}

void Inlet::deliver(const WireHeader& header, std::byte* payload, std::size_t bytes) {
  ++events_;
  if (header.kind == static_cast<std::uint32_t>(WireKind::goodbye))
    has_left_ = true;
  else
    sink_.on_frame(peer_, header.header, {payload, bytes});
}

}  // namespace tutti::transport::ucx
