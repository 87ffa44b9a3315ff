// Frames of p2p's own kinds that are not tried first, and those of other rooms.
#include "p2p/frames.h"

#include <algorithm>

#include "base/check.h"
#include "p2p/core.h"
#include "p2p/device_reads.h"
#include "p2p/keep_those.h"

namespace tutti::p2p {

bool Core::OwnFrames::on_frame(int from, const transport::FrameHeader& header,
                               std::span<std::byte> payload) {
  switch (static_cast<Kind>(header.kind)) {
    case Kind::eager:
    case Kind::offer:
      return core_.on_message(from, header, payload);
    case Kind::data:
      return core_.on_data(from, header, payload);
    case Kind::grant:
      return core_.on_grant(from, header);
    case Kind::taken:
      core_.on_taken(from, header);
      return true;
    case Kind::credit:
      return true;
    case Kind::recall:
      core_.on_recall(from, header);
      return true;
    case Kind::recalled:
      core_.on_recalled(from, header);
      return true;
    case Kind::cut:
      core_.on_cut(from, header);
      return true;
    case Kind::emptied:
      return DeviceReads(core_).on_emptied(from, header);
    case Kind::refilled:
      return DeviceReads(core_).on_refilled(from, header);
    case Kind::awaited:
      DeviceReads(core_).on_awaited(from, header);
      return true;
    case Kind::ready:
      DeviceReads(core_).on_ready(from, header);
      return true;
    case Kind::goodbye:
      core_.on_goodbye(core_.peer(from));
      return true;
  }
  return false;
}

Core::Posted Core::post_frame(int rank, const transport::FrameHeader& header,
                              std::span<const std::byte> payload) {
  TUTTI_CHECK(header.kind >= kOwnKinds.first + kOwnKinds.count, "a frame of p2p's own kinds");
  PeerState& to = connected(rank);
  if (to.gone || to.left) return Posted::lost;
  TUTTI_CHECK(payload.size() <= to.traits.max_frame, "a frame longer than its link carries");
  transport::FrameHeader sent = header;
  const std::uint32_t returned = std::min(to.owed, kMostReturned);
  sent.aux = static_cast<std::uint16_t>(returned);
  to.owed -= returned;  // before: a link to oneself delivers inside try_post
  Booked booked([&] { to.owed += returned; });
  const bool is_posted = to.link->try_post({&sent, payload.data(), payload.size(), nullptr});
  return booked.holds(is_posted) ? Posted::yes : Posted::full;
}

}  // namespace tutti::p2p
