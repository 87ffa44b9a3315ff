// Endpoint: each call is the core's of the same name.
#include <exception>

#include "p2p/core.h"

namespace tutti::p2p {

Endpoint::Endpoint(std::unique_ptr<Core> core) : core_(std::move(core)) {}

Endpoint::~Endpoint() = default;

Result<std::unique_ptr<Endpoint>> Endpoint::open_over(wireup::Wireup& wireup, const Knobs& knobs,
                                                      const Opener& opener, types::Vendor* gpus) {
  auto core = std::make_unique<Core>(wireup, knobs);
  if (gpus != nullptr) core->devices().add(*gpus);
  TUTTI_DO(core->start(opener));
  return std::unique_ptr<Endpoint>(new Endpoint(std::move(core)));
}

Result<std::unique_ptr<Endpoint>> Endpoint::open(wireup::Wireup& wireup, const Knobs& knobs,
                                                 types::Vendor* gpus) {
  return open_over(wireup, knobs, &transport::open_all, gpus);
}

std::uint32_t Endpoint::try_send(int peer, const Envelope& envelope, const void* data,
                                 std::size_t bytes) {
  return core_->try_send(peer, envelope, data, bytes);
}

Pending* Endpoint::send(Mode mode, int peer, const Envelope& envelope,
                        const types::Buffer& buffer) {
  return core_->send(mode, peer, envelope, buffer);
}

Pending* Endpoint::recv(int peer, const Envelope& envelope, const types::Buffer& buffer) {
  return core_->recv(peer, envelope, buffer);
}

Status Endpoint::recv_now(int peer, const Envelope& envelope, const types::Buffer& buffer) {
  return core_->recv_now(peer, envelope, buffer);
}

bool Endpoint::give_to_self(const Envelope& envelope, const void* data, std::size_t bytes) {
  return core_->give_to_self(envelope, data, bytes);
}

bool Endpoint::probe(int peer, const Envelope& envelope, Status* status) {
  return core_->probe(peer, envelope, status);
}

KeptMessage* Endpoint::take(int peer, const Envelope& envelope, Status* status) {
  return core_->take(peer, envelope, status);
}

Pending* Endpoint::recv_taken(KeptMessage* message, const types::Buffer& buffer) {
  return core_->recv_taken(message, buffer);
}

Pending* Endpoint::recall(int peer, std::uint32_t number) {
  return core_->recall(peer, number);
}

void Endpoint::cancel(Pending* request) {
  core_->cancel(request);
}

void Endpoint::cancel(std::uint32_t context, Code code) {
  core_->cancel(context, code);
}

void Endpoint::release(Pending* request) {
  core_->release(request);
}

types::Devices& Endpoint::devices() {
  return core_->devices();
}

Pending* Endpoint::copy(const types::Buffer& from, const types::Buffer& into) {
  return core_->copy(from, into);
}

Pending* Endpoint::await_caller(types::Device& device) {
  return core_->await_caller(device);
}
Code Endpoint::end(Pending* work) {
  std::exception_ptr thrown;
  while (!work->done) {
    try {
      core_->wait(work);
    } catch (...) {
      thrown = std::current_exception();
    }
  }
  const Code code = work->status.code;
  core_->release(work);
  if (thrown) std::rethrow_exception(thrown);
  return code;
}
Pending* Endpoint::fold(const types::Fold& fold) {
  return core_->fold(fold);
}

Partitioned* Endpoint::send_partitioned(int peer, const Envelope& envelope,
                                        const Partitioned::Shape& shape) {
  return core_->send_partitioned(peer, envelope, shape);
}

Partitioned* Endpoint::recv_partitioned(int peer, const Envelope& envelope,
                                        const Partitioned::Shape& shape) {
  return core_->recv_partitioned(peer, envelope, shape);
}

int Endpoint::progress() {
  return core_->progress();
}

int Endpoint::progress_or_yield() {
  return core_->progress_or_yield();
}

void Endpoint::wait(Pending* request) {
  core_->wait(request);
}

void Endpoint::idle() {
  core_->idle();
}

void Endpoint::active() {
  core_->active();
}

bool Endpoint::reads_devices(int peer, MemoryKind kind) {
  return core_->reads_devices(peer, kind);
}

bool Endpoint::lets_read(int peer, const types::Buffer& buffer) {
  return core_->lets_read(peer, buffer);
}

bool Endpoint::lets_read_packed(int peer, types::Device& device, std::uint64_t bytes) {
  struct Room {
    ~Room() {
      if (at != nullptr) of.give_scratch(at);
    }
    types::Device& of;
    std::byte* const at;
  };
  bytes = std::min(bytes, kWindow);
  const Room room{device, device.take_scratch(bytes)};
  auto window = types::Buffer::plain(room.at, static_cast<types::Count>(bytes));
  window.device = &device;
  return room.at != nullptr && core_->lets_read(peer, window);
}

transport::Traits Endpoint::traits(int peer) {
  return core_->traits(peer);
}

std::string Endpoint::link_name(int peer) {
  return core_->link_name(peer);
}

std::string Endpoint::gpu_links_text() {
  return core_->gpu_links_text();
}

std::string Endpoint::links_text() {
  return core_->links_text();
}

std::string Endpoint::sent_text() const {
  return core_->sent_text();
}

MessageFailure Endpoint::failure_of(const Pending& request) const {
  return core_->failure_of(request);
}

const std::string& Endpoint::loss_text() const {
  return core_->loss_text();
}
Code Endpoint::loss_code() const {
  return core_->loss_code();
}

void Endpoint::set_fingerprint_text(std::function<std::string(std::uint32_t)> describe) {
  core_->other_calls().set_text(std::move(describe));
}

Counters Endpoint::counters() const {
  return core_->counters();
}

void Endpoint::later(void (*then)(Pending* self), void* owner) {
  core_->later(then, owner);
}
void Endpoint::when_lost(void (*then)(Pending* self), void* owner) {
  core_->when_lost(then, owner);
}
void Endpoint::set_observer(Observer observer) {
  core_->set_observer(observer);
}
bool Endpoint::is_observed() const {
  return core_->is_observed();
}

wireup::Wireup& Endpoint::wireup() {
  return core_->wireup();
}

transport::Waiter& Endpoint::waiter() {
  return core_->waiter();
}

void Endpoint::set_gate(transport::Waiter::Gate* gate) {
  core_->set_gate(gate);
}

void Endpoint::grow() {
  core_->grow();
}

FrameTable& Endpoint::frames() {
  return core_->frames();
}

Endpoint::Posted Endpoint::post_frame(int peer, const transport::FrameHeader& header,
                                      std::span<const std::byte> payload) {
  return core_->post_frame(peer, header, payload);
}

bool Endpoint::is_used(std::uint32_t context) const {
  return core_->is_used(context);
}

void Endpoint::see_off(End end) {
  core_->see_off(end);
}

void Endpoint::close() {
  core_->close();
}

}  // namespace tutti::p2p
