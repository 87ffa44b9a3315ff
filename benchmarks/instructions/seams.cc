// The seams, inside of the library that is counted.
//
//   join       the rank is told who it is by the program, which made both, as in unit tests
//   open_all   each transport, when it is polled in vain, lets the other rank run
//   nudge      said to a rank that may wait for what was stored (delegates): that rank runs
//
// So nobody ever polls twice for the same thing: what is counted does not depend on who is fast.
// The linker sends calls of NAME to __wrap_NAME, and __real_NAME is what they were for. A name
// that the library no longer has does not link.
#include "instructions/seams.h"

#include <utility>

#include "transport/transport.h"

namespace tutti::ruler {
namespace {

Seams g_seams{};

class Stepped final : public transport::Transport {
 public:
  explicit Stepped(std::unique_ptr<transport::Transport> inner) : inner_(std::move(inner)) {}
  const char* name() const override { return inner_->name(); }
  transport::Traits traits(const transport::Peer& peer) const override {
    return inner_->traits(peer);
  }
  Blob address() const override { return inner_->address(); }
  Result<std::unique_ptr<transport::Link>> connect(const transport::Peer& peer,
                                                   BlobView address) override {
    return inner_->connect(peer, address);
  }
  Result<std::unique_ptr<transport::Region>> expose(const Memory& memory) override {
    return inner_->expose(memory);
  }
  int progress() override {
    const int events = inner_->progress();
    if (events == 0) g_seams.turn();
    return events;
  }
  int wait_fd() override { return inner_->wait_fd(); }
  void look_around() override { inner_->look_around(); }

 private:
  std::unique_ptr<transport::Transport> inner_;
};

}  // namespace

Result<std::unique_ptr<wireup::Wireup>> join(const wireup::Lookup&) asm(
    "__wrap__ZN5tutti6wireup4joinERKSt8functionIFPKcS3_EE");
Result<std::unique_ptr<wireup::Wireup>> join(const wireup::Lookup&) {
  return std::unique_ptr<wireup::Wireup>(std::exchange(g_seams.wireup, nullptr));
}

transport::Opened real_open_all(const transport::Surroundings& around) asm(
    "__real__ZN5tutti9transport8open_allERKNS0_12SurroundingsE");
transport::Opened open_all(const transport::Surroundings& around) asm(
    "__wrap__ZN5tutti9transport8open_allERKNS0_12SurroundingsE");
transport::Opened open_all(const transport::Surroundings& around) {
  transport::Opened opened = real_open_all(around);
  for (auto& transport : opened.transports)
    transport = std::make_unique<Stepped>(std::move(transport));
  return opened;
}

void real_nudge(const transport::Waker& waker) asm("__real__ZNK5tutti9transport5Waker5nudgeEv");
void nudge(const transport::Waker& waker) asm("__wrap__ZNK5tutti9transport5Waker5nudgeEv");
void nudge(const transport::Waker& waker) {
  real_nudge(waker);
  g_seams.turn();
}

}  // namespace tutti::ruler

void ruler_attach(const tutti::ruler::Seams& seams) {
  tutti::ruler::g_seams = seams;
}
