// Both parts are requests of their own; the last one to end completes the whole.
#include "mpi/exchange.h"

#include <utility>

namespace tutti::mpi {
namespace {

struct SendWithReceive final : comm::Hooks {
  explicit SendWithReceive(std::unique_ptr<std::byte[]> copy) : packed(std::move(copy)) {}

  void join(comm::Request* part, bool is_receive) {
    if (part->is_done()) return end(*part, is_receive);
    part->when_done(is_receive ? &on_received : &on_sent, this);
  }

  comm::Request* whole = nullptr;

 private:
  static void on_sent(void* self, const comm::Request& part) {
    static_cast<SendWithReceive*>(self)->end(part, false);
  }
  static void on_received(void* self, const comm::Request& part) {
    static_cast<SendWithReceive*>(self)->end(part, true);
  }
  void end(const comm::Request& part, bool is_receive) {
    const Code failed = status.code;
    const p2p::Status ended = part.status();
    if (is_receive) status = ended;
    if (ended.code != Code::ok) status.code = ended.code;
    if (failed != Code::ok) status.code = failed;
    part.release();
    if (--left == 0) comm::complete(*whole, status);
  }

  std::unique_ptr<std::byte[]> packed;
  p2p::Status status;
  int left = 2;
};

}  // namespace

comm::Request* start_exchange(comm::Communicator& comm, const ExchangeSide& send,
                              const ExchangeSide& receive, std::unique_ptr<std::byte[]> packed) {
  auto owned = std::make_unique<SendWithReceive>(std::move(packed));
  SendWithReceive& exchange = *owned;
  exchange.whole = comm::open_request(comm, std::move(owned));
  comm::Request* const whole = exchange.whole;
  exchange.join(
      comm::irecv(comm, receive.data, receive.count, *receive.type, receive.peer, receive.tag),
      true);
  exchange.join(comm::isend(comm, p2p::Mode::standard, send.data, send.count, *send.type, send.peer,
                            send.tag),
                false);
  return whole;
}

}  // namespace tutti::mpi
