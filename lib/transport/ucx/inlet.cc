// Reordering and fetching of arriving frames.
#include "transport/ucx/inlet.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tutti::transport::ucx {

std::optional<WireHeader> read_header(std::span<const std::byte> bytes, std::uint64_t token,
                                      std::uint32_t ranks, std::uint32_t own_rank) {
  WireHeader header{};
  if (bytes.size() != sizeof header) return {};
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.token != token || header.from >= ranks || header.from == own_rank) return {};
  return header;
}

Inlet::~Inlet() = default;

// Whether it is one that the peer may send now, and the first with its number. A goodbye has no
// content: nobody is to be asked for a place for it.
bool Inlet::is_next(const WireHeader& header, std::size_t bytes, bool is_offer) const {
  const std::uint64_t ahead = header.number - next_;  // wraps for one that was delivered
  const bool is_goodbye = header.kind == static_cast<std::uint32_t>(PacketKind::goodbye);
  if (!is_goodbye && header.kind != static_cast<std::uint32_t>(PacketKind::frame)) return false;
  if (ahead > kMostAhead || bytes > (is_goodbye ? 0 : most_bytes_) || (is_goodbye && is_offer))
    return false;
  return ahead >= entries_.size() ||
         entries_[static_cast<std::size_t>(ahead)]->state == State::missing;
}

ucs_status_t Inlet::accept(const WireHeader& header, void* data, std::size_t bytes,
                           std::uint64_t flags) {
  if (is_broken_ || has_left_) return UCS_OK;
  heard_ = std::max(heard_, header.delivered);
  if (header.kind == static_cast<std::uint32_t>(PacketKind::delivered)) {
    ++events_;  // whoever was refused may retry
    return UCS_OK;
  }
  const bool is_offer = (flags & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  if (!is_next(header, bytes, is_offer)) {
    is_broken_ = true;
    return UCS_OK;
  }
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
  const bool is_of_host = kinds_ == kinds_of(MemoryKind::host);
  Memory into;
  if (is_of_host)
    into.data = sink_.place(peer_, entry.header.header, entry.bytes);
  else
    into = sink_.place_any(peer_, entry.header.header, entry.bytes);
  entry.payload = static_cast<std::byte*>(into.data);
  entry.place = into;
  if (entry.payload == nullptr) {
    entry.own.resize(entry.bytes);
    entry.payload = entry.own.data();
  }
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  if (!is_of_host) param.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.memory_type = type_of(into.kind);
  param.cb.recv_am = &Inlet::on_fetched;
  param.user_data = &entry;
  void* const request =
      library_.am_recv_data_nbx(worker_, entry.offer, entry.payload, entry.bytes, &param);
  if (request == nullptr)
    entry.state = State::ready;
  else if (UCS_PTR_IS_ERR(request))
    fail_with(entry, UCS_PTR_STATUS(request));
  else
    fetches_ = true;
}

void Inlet::on_fetched(void* request, ucs_status_t status, std::size_t, void* data) {
  auto* const entry = static_cast<Entry*>(data);
  Inlet* const inlet = entry->inlet;
  inlet->library_.request_free(request);
  inlet->fetches_ = false;
  if (status != UCS_OK) return inlet->fail_with(*entry, status);
  entry->state = State::ready;
  inlet->deliver_in_order();
}

void Inlet::fail_with(const Entry& entry, ucs_status_t status) {
  const Memory& into = entry.place;
  failure_ = into.kind == MemoryKind::host ? "" : text_of_copy("into", into.device);
  failure_ += library_.text(status);
  is_broken_ = true;
}

void Inlet::deliver_in_order() {
  while (!entries_.empty() && !is_broken_ && !has_left_) {
    Entry& first = *entries_.front();
    if (first.state == State::arrived && first.offer != nullptr) fetch(first);
    if (first.state != State::arrived && first.state != State::ready) return;
    const std::unique_ptr<Entry> entry = std::move(entries_.front());
    entries_.pop_front();
    ++next_;
    deliver(entry->header, entry->payload, entry->bytes);
  }
}

void Inlet::deliver(const WireHeader& header, std::byte* payload, std::size_t bytes) {
  ++events_;
  if (header.kind == static_cast<std::uint32_t>(PacketKind::goodbye))
    has_left_ = true;
  else if (!sink_.on_frame(peer_, header.header, {payload, bytes}))
    is_broken_ = true;
}

}  // namespace tutti::transport::ucx
