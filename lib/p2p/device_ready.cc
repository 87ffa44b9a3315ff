// Messages that are to be read out of a device's memory and are offered before their data are
// there, since the device stands behind its caller: so their place in the order is taken, and what
// is sent after them goes on.
//
//   sender                        receiver
//   offer, not yet there ------>  matched
//          <------------- awaited
//   ... the device has come so far
//   ready -------------------->   as if the offer had come now
//
// Each awaited is answered by one ready, and no such receive ends before that: so none of them ever
// meets another message.
#include <utility>

#include "p2p/device_reads.h"

namespace tutti::p2p {

void DeviceReads::await_data(PeerState& from, Transfer* transfer) {
  transfer->phase = Phase::awaiting;
  transfer->key_flags &= static_cast<std::uint8_t>(~kDataNotYet);
  core_.queue_control(from, Kind::awaited, 0, cookie_of(transfer->peer_id, transfer->id));
}

void DeviceReads::on_awaited(int from, const transport::FrameHeader& header) {
  Transfer* const transfer =
      core_.find_active(low_of(header.cookie), from, Phase::offered, "awaited");
  if (transfer == nullptr) return;
  transfer->peer_id = high_of(header.cookie);
  transfer->is_awaited = true;
  if (!transfer->waits_exposed || transfer->failure != Code::ok) tell_ready(transfer);
}

// Inside a device's progress, too.
void DeviceReads::tell_ready(Transfer* transfer) {
  if (!std::exchange(transfer->is_awaited, false)) return;
  const bool is_there = transfer->failure == Code::ok;
  core_.queue_control(core_.peer(transfer->peer), Kind::ready, is_there ? 1 : 0, transfer->peer_id);
}

// What cannot be had is asked for in frames, and then cut.
void DeviceReads::on_ready(int from, const transport::FrameHeader& header) {
  Transfer* const transfer =
      core_.find_active(low_of(header.cookie), from, Phase::awaiting, "ready");
  if (transfer == nullptr) return;
  if (transfer->failure != Code::ok) return core_.fail_with(transfer, transfer->failure);
  if (header.length == 0) transfer->key.clear();
  transfer->phase = Phase::matched;
  core_.matched_.push_back(transfer);
  core_.work_ = true;
}

bool DeviceReads::has_place(const Transfer& transfer) const {
  types::Device* const device = transfer.buffer.device;
  if (device == nullptr || transfer.total == 0 || !device->stands_behind_caller()) return true;
  std::uint64_t promised = transfer.total;
  for (std::uint32_t id = 0; id < core_.channel_.transfers.count(); ++id) {
    const Transfer& each = *core_.channel_.transfers.find(id);
    if (each.phase == Phase::granted && each.buffer.device != nullptr)
      promised += each.total - each.moved;
  }
  return core_.flood_.has_room_for_devices(core_.bytes_.in_use() + promised);
}

}  // namespace tutti::p2p
