// inlet: frames of one peer, put back in order.
//
// UCX may deliver a short message before a long one that was sent earlier, and long ones arrive
// as an offer to be fetched. Every frame carries a number, and frames are delivered in that
// order; a long one is fetched when all before it were delivered, since the sink matches it to
// a receive when it is asked for a place.
#pragma once

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "transport/transport.h"
#include "transport/ucx/library.h"

namespace tutti::transport::ucx {

// In front of every frame.
struct WireHeader {
  std::uint32_t from;
  std::uint32_t kind;    // WireKind
  std::uint64_t token;   // of this job: what another job sends here by mistake is dropped
  std::uint64_t number;  // of this frame between these two
  FrameHeader header;
};
enum class WireKind : std::uint32_t { frame = 1, goodbye = 2 };

class Inlet {
 public:
  Inlet(const Library& library, ucp_worker_h worker, Sink& sink, int peer)
      : library_(library), worker_(worker), sink_(sink), peer_(peer) {}
  ~Inlet();

  // From the callback of UCX; what to return to it.
  ucs_status_t accept(const WireHeader& header, void* data, std::size_t bytes, std::uint64_t flags);
  int take_events() { return std::exchange(events_, 0); }
  bool has_left() const { return has_left_; }

  ucp_ep_h reply_to = nullptr;  // how to reach the peer where we have no endpoint of our own

 private:
  enum class State : std::uint8_t { missing, arrived, fetching, ready };
  struct Entry {
    State state = State::missing;
    WireHeader header{};
    void* offer = nullptr;  // UCX's descriptor of a long frame
    std::size_t bytes = 0;
    std::vector<std::byte> own;  // our copy, or memory for the fetch
    std::byte* payload = nullptr;
    Inlet* inlet = nullptr;
  };

  void keep(Entry& entry, const void* data, std::size_t bytes);
  void fetch(Entry& entry);
  void deliver_in_order();
  void deliver(const WireHeader& header, std::byte* payload, std::size_t bytes);
  static void on_fetched(void* request, ucs_status_t status, std::size_t bytes, void* entry);

  const Library& library_;
  ucp_worker_h worker_;
  Sink& sink_;
  int peer_;
  std::uint64_t next_ = 0;  // number of entries_.front()
  std::deque<std::unique_ptr<Entry>> entries_;
  int events_ = 0;
  bool has_left_ = false;
};

}  // namespace tutti::transport::ucx
