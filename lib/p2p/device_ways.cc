// Messages out of a GPU's memory that it takes long to read, for what they are: read, or through
// host memory in frames. Which is quicker depends on the GPUs, on what lies between them, and on
// who else is at work, so each pair finds out (ways.h).
//
// At first they are read. What comes in frames is timed from the match, too: so it has been offered
// and asked for. Once frames are kept the sender is told how many more need no offer: those leave
// at once, as short messages do, until it is time to look again.
#include <cmath>

#include "base/log.h"
#include "p2p/device_reads.h"

namespace tutti::p2p {

bool DeviceReads::comes_in_frames(PeerState& from, const BulkLink& reader, Transfer* transfer) {
  const bool is_judged = reader.picked.traits.gets_are_judged && transfer->key_flags == kOfDevice &&
                         transfer->total < kJudgedBelow && transfer->on_done != &Core::on_brought &&
                         has_place(*transfer);
  if (!is_judged) return false;
  if (from.device_ways == nullptr)
    from.device_ways = std::make_unique<Ways>(Ways::get, kLeastOfDevice, kMostTriedOfDevice);
  Ways& ways = *from.device_ways;
  transfer->is_judged = true;
  transfer->holds = true;
  transfer->way = ways.begin(transfer->total, now_ns());
  if (transfer->way == Ways::get) return false;
  core_.grant(from, transfer);
  from.control_last->header.tag = static_cast<std::int32_t>(1 + ways.skip(transfer->total));
  return true;
}

// Where it was judged.
void DeviceReads::end_judged(PeerState& from, Transfer* transfer, bool well) {
  if (!std::exchange(transfer->is_judged, false)) return;
  const Ways& ways = *from.device_ways;
  if (!from.device_ways->end(transfer->way, well, now_ns()) || !log::explains()) return;
  const auto took = [&](Ways::Way way) {
    return std::to_string(std::lround(ways.worth(transfer->total, way) / 1000));
  };
  const bool are_read = ways.kept(transfer->total) == Ways::get;
  log::explain("GPU memory from rank " + std::to_string(from.rank) + ": messages of about " +
               std::to_string(transfer->total) + " bytes " +
               (are_read ? "are read" : "come through host memory") +
               " from now on; read, they took " + took(Ways::get) + " us, through host memory " +
               took(Ways::frames));
}

}  // namespace tutti::p2p
