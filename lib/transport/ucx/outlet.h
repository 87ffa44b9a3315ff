// outlet: frames to one peer, as active messages with a bounded number under way.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport/ucx/inlet.h"
#include "transport/ucx/worker.h"

namespace tutti::transport::ucx {

inline constexpr unsigned kMessageId = 1;  // of our active messages, the only kind

class Outlet {
 public:
  // `inlet`: of the same peer; knows what was delivered on both sides.
  Outlet(Worker& worker, std::uint32_t own_rank, std::uint64_t token, Inlet& inlet, int peer);
  ~Outlet();

  Result<void> connect(BlobView address);
  bool is_connected() const { return owns_endpoint_; }
  MemoryKinds kinds() const { return kinds_; }  // that both ends move
  bool has_endpoint() const { return endpoint_ != nullptr; }
  void use(ucp_ep_h endpoint) { endpoint_ = endpoint; }  // borrowed, for what has no number
  bool try_send(const FrameView& frame);
  void tell_delivered();  // where it does not go along with a frame
  void say_goodbye();
  bool is_calm() const { return under_way_ == 0 || is_broken_; }
  // The peer says that more was delivered there than was sent.
  bool is_lied_to() const { return inlet_.heard() > number_; }
  int take_events() { return std::exchange(events_, 0); }

  int peer() const { return peer_; }
  bool is_broken() const { return is_broken_; }
  const std::string& reason() const { return reason_; }
  void* begin_close();  // a request to wait for, or null

 private:
  struct Operation {
    WireHeader header{};
    std::vector<std::byte> copy;
    Done* done = nullptr;
    MemoryKind kind = MemoryKind::host;
    int device = 0;
    Outlet* outlet = nullptr;
  };

  WireHeader header_of(PacketKind kind) const;
  Operation* take_operation();
  bool submit(Operation* operation, const Memory& payload);
  void finish(Operation* operation, bool ok);
  void break_off(std::string reason);
  static void on_sent(void* request, ucs_status_t status, void* operation);
  static void on_error(void* outlet, ucp_ep_h endpoint, ucs_status_t status);

  Worker& worker_;
  std::uint32_t own_rank_;
  std::uint64_t token_;
  Inlet& inlet_;
  int peer_;
  ucp_ep_h endpoint_ = nullptr;
  bool owns_endpoint_ = false;
  MemoryKinds kinds_ = kinds_of(MemoryKind::host);
  bool is_broken_ = false;
  bool tells_ = false;  // word of what was delivered is under way
  std::string reason_;
  std::uint64_t number_ = 0;
  int under_way_ = 0;
  int events_ = 0;
  std::vector<std::unique_ptr<Operation>> all_;
  std::vector<Operation*> free_;
};

}  // namespace tutti::transport::ucx
