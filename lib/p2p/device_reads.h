// DeviceReads: how a receiver reads messages out of a device's memory, or has them sent in frames
// instead, and what their senders pack for it (device_pieces.cc). It does that to the Core.
#pragma once

#include "p2p/core.h"

namespace tutti::p2p {

class DeviceReads {
 public:
  explicit DeviceReads(Core& core) : core_(core) {}

  // Of a send: has it packed where its peer can read it, and exposes that; pack() does the work.
  Result<void> expose(const PeerState& peer, Transfer* transfer);
  static void pack(Transfer* transfer, std::uint64_t at, std::uint64_t bytes, Bounce* work);
  void end_packed(Transfer* transfer);
  bool on_emptied(int from, const transport::FrameHeader& header);

  // Of a receive whose message was offered before its data were there: it asks for word of them.
  void await_data(PeerState& from, Transfer* transfer);
  void on_ready(int from, const transport::FrameHeader& header);
  // Of the send of such a message: its receiver has that word, if it has asked for it.
  void tell_ready(Transfer* transfer);
  void on_awaited(int from, const transport::FrameHeader& header);

  // Of a receive, whose message this link could read: whether it comes in frames, as these are
  // quicker here. They are asked for then.
  bool comes_in_frames(PeerState& from, const BulkLink& reader, Transfer* transfer);
  static void end_judged(PeerState& from, Transfer* transfer, bool well);
  // Whether what a grant would bring for our device can be kept until that has come so far.
  bool has_place(const Transfer& transfer) const;
  // Begins to read what is next.
  Result<void> read(BulkLink& reader, Transfer* transfer);
  void end_read(Transfer* transfer, bool ok);
  // Nothing is being read: what is next, or the end.
  void go_on(Transfer* transfer);
  bool on_refilled(int from, const transport::FrameHeader& header);

 private:
  void refill(Transfer* transfer);
  void end(PeerState& from, Transfer* transfer);

  Core& core_;
};

}  // namespace tutti::p2p
