// inlet: frames of one peer, put back in order.
//
// UCX may deliver a short message before a long one that was sent earlier, and long ones arrive
// as an offer to be fetched. Every frame carries a number, and frames are delivered in that
// order; a long one is fetched when all before it were delivered, since the sink matches it to
// a receive when it is asked for a place. What comes meanwhile is kept: a sender is told how many
// of its frames were delivered, and is never more than kMostAhead ahead of that.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "transport/transport.h"
#include "transport/ucx/library.h"

namespace tutti::transport::ucx {

// In front of every frame.
struct WireHeader {
  std::uint32_t from;
  std::uint32_t kind;       // PacketKind
  std::uint64_t token;      // of this job: what another job sends here by mistake is dropped
  std::uint64_t number;     // of this frame between these two
  std::uint64_t delivered;  // so many frames of the other side were, here
  FrameHeader header;
};
enum class PacketKind : std::uint32_t { frame = 1, goodbye = 2, delivered = 3 };  // 3 has no number

// "a copy out of GPU 0 has failed: "
inline std::string text_of_copy(const char* where, int device) {
  return std::string("a copy ") + where + " GPU " + std::to_string(device) + " has failed: ";
}
// Nothing: another job's, or of nobody who could have sent it here.
std::optional<WireHeader> read_header(std::span<const std::byte> bytes, std::uint64_t token,
                                      std::uint32_t ranks, std::uint32_t own_rank);

inline constexpr std::uint64_t kMostAhead = 1024;  // frames that are not delivered yet

class Inlet {
 public:
  // `kinds`: of memory that the worker moves.
  Inlet(const UcpFunctions& library, ucp_worker_h worker, Sink& sink, int peer,
        std::size_t most_bytes, MemoryKinds kinds = kinds_of(MemoryKind::host))
      : library_(library),
        worker_(worker),
        sink_(sink),
        peer_(peer),
        most_bytes_(most_bytes),
        kinds_(kinds) {}
  ~Inlet();

  // From the callback of UCX; what to return to it.
  ucs_status_t accept(const WireHeader& header, void* data, std::size_t bytes, std::uint64_t flags);
  int take_events() { return std::exchange(events_, 0); }
  bool has_left() const { return has_left_; }
  // It broke the rules, or a fetch failed: nothing of it is delivered any more. For whatever
  // reason it is lost, memory of the sink's is not written to once is_fetching() is false.
  bool is_broken() const { return is_broken_; }
  const std::string& failure() const { return failure_; }  // of a fetch; empty: none failed
  void break_off() { is_broken_ = true; }
  bool is_fetching() const { return fetches_; }

  // How many of our frames were delivered there, as far as we heard.
  std::uint64_t heard() const { return heard_; }
  // How many of its frames were delivered here; it is told now.
  std::uint64_t tell() { return told_ = next_; }
  bool owes_word() const { return next_ - told_ >= kMostAhead / 4; }

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
    Memory place;  // that the fetch writes to
    Inlet* inlet = nullptr;
  };

  void keep(Entry& entry, const void* data, std::size_t bytes);
  bool is_next(const WireHeader& header, std::size_t bytes, bool is_offer) const;
  void fetch(Entry& entry);
  void fail_with(const Entry& entry, ucs_status_t status);
  void deliver_in_order();
  void deliver(const WireHeader& header, std::byte* payload, std::size_t bytes);
  static void on_fetched(void* request, ucs_status_t status, std::size_t bytes, void* entry);

  const UcpFunctions& library_;
  ucp_worker_h worker_;
  Sink& sink_;
  int peer_;
  std::size_t most_bytes_;  // of a frame
  MemoryKinds kinds_;
  std::uint64_t next_ = 0;   // number of entries_.front()
  std::uint64_t told_ = 0;   // of next_
  std::uint64_t heard_ = 0;  // its next_
  std::deque<std::unique_ptr<Entry>> entries_;
  int events_ = 0;
  bool has_left_ = false;
  bool is_broken_ = false;
  std::string failure_;
  bool fetches_ = false;  // the first of entries_ is under way
};

}  // namespace tutti::transport::ucx
