// Transports that read no memory of peers: what they say when they are asked to.
#include "transport/transport.h"

namespace tutti::transport {
namespace {

tl::unexpected<Error> no_get() {
  return fail(Code::unsupported, "this link does not read a peer's memory");
}

}  // namespace

Result<std::unique_ptr<Region>> Transport::expose(const Memory&) {
  return no_get();
}
Result<std::unique_ptr<Remote>> Link::import(BlobView) {
  return no_get();
}
Result<void> Link::get(Remote&, std::uint64_t, const types::Buffer&, Done*) {
  return no_get();
}

}  // namespace tutti::transport
