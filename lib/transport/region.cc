// Links that reach no memory of peers: what they say when they are asked to. And atomics on memory
// of this process.
#include <atomic>
#include <cstring>

#include "transport/host_region.h"

namespace tutti::transport {
namespace {

tl::unexpected<Error> no_way() {
  return fail(Code::unsupported, "this link does not reach a peer's memory like that");
}

// acq_rel: partners are the atomics of others on this word.
template <class Word>
Word apply(const Atomic& what, Word* at) {
  const std::atomic_ref<Word> word(*at);
  const auto operand = static_cast<Word>(what.operand);
  if (what.kind == Atomic::Kind::add) return word.fetch_add(operand, std::memory_order_acq_rel);
  if (what.kind == Atomic::Kind::swap) return word.exchange(operand, std::memory_order_acq_rel);
  auto seen = static_cast<Word>(what.expected);
  word.compare_exchange_strong(seen, operand, std::memory_order_acq_rel, std::memory_order_acquire);
  return seen;
}

template <class Word>
void apply_to(std::uint64_t at, const Atomic& what, void* before) {
  const Word seen = apply(what, reinterpret_cast<Word*>(at));
  std::memcpy(before, &seen, sizeof seen);
}

}  // namespace

Result<void> atomic_here(const Atomic& what, std::uint64_t at, const Memory& before) {
  const bool is_short = before.bytes == sizeof(std::uint32_t);
  if ((!is_short && before.bytes != sizeof(std::uint64_t)) || at % before.bytes != 0)
    return fail(Code::intern, "an atomic on " + std::to_string(before.bytes) + " bytes at " +
                                  std::to_string(at) + ": no word of 4 or 8 bytes at its place");
  if (is_short)
    apply_to<std::uint32_t>(at, what, before.data);
  else
    apply_to<std::uint64_t>(at, what, before.data);
  return {};
}

Result<std::unique_ptr<Region>> Transport::expose(const Memory&) {
  return no_way();
}
Result<std::unique_ptr<Remote>> Link::import(BlobView) {
  return no_way();
}
Result<void> Link::get(Remote&, std::uint64_t, const types::Buffer&, Done*) {
  return no_way();
}
Result<void> Link::put(Remote&, std::uint64_t, const types::Buffer&, Done*) {
  return no_way();
}
Result<void> Link::atomic(Remote&, std::uint64_t, const Atomic&, const Memory&, Done*) {
  return no_way();
}
Result<void> Link::flush(Done* done) {
  done->fire(done, true);
  return {};
}

}  // namespace tutti::transport
