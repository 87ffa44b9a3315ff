// Reductions of short vectors: everyone says his vector in his entry, who needs the result, or a
// block of it, folds all of them in rank order. The order is fixed, so all ranks get the same bits,
// and operations that do not commute are right.
#include <cstring>

#include "delegate/team.h"

namespace tutti::delegate {
namespace {

constexpr std::size_t kAlwaysShort = 512;
constexpr std::size_t kPairShort = 4 << 10;
constexpr std::size_t kMostRead = 24 << 10;  // bytes one rank reads, above that they share work

}  // namespace

Code ShmTeam::fold(const Call& call) {
  const types::Op::Kernel kernel = call.op->kernel(*call.type);
  const auto each = static_cast<std::size_t>(call.count * call.type->extent());
  const std::size_t bytes = scatters(call) ? each * static_cast<std::size_t>(size_) : each;
  const std::size_t read = each * static_cast<std::size_t>(size_ - 1);
  const bool is_short = size_ == 2 && !is_oversubscribed_
                            ? bytes <= kPairShort
                            : bytes <= kAlwaysShort || read <= kMostRead;
  if (is_short && bytes <= geometry_.entry_bytes) return fold_short(call, kernel, bytes);
  return size_ == 2 ? fold_pair(call, kernel) : fold_long(call, kernel);
}

Code ShmTeam::fold_short(const Call& call, types::Op::Kernel kernel, std::size_t bytes) {
  if (const Code code = claim_entry(); code != Code::ok) return code;
  const bool everyone = call.collective != coll::Collective::reduce;
  const std::size_t from =
      scatters(call) ? bytes / static_cast<std::size_t>(size_) * static_cast<std::size_t>(me_) : 0;
  const auto operand = [&](int member) { return entry(member).payload(bytes) + from; };
  if (bytes > 0) std::memcpy(entry(me_).payload(bytes), call.send, bytes);
  publish(call.fingerprint);
  if (everyone || me_ == call.root) {
    if (const Code code = hear_all(call.fingerprint); code != Code::ok) return code;
    if (bytes > 0) kernel(operand(0), operand(1), call.recv, call.count);
    for (int member = 2; member < size_ && bytes > 0; ++member)
      kernel(call.recv, operand(member), call.recv, call.count);
    all_entered();
  }
  if (!everyone) end_call();
  return Code::ok;
}

}  // namespace tutti::delegate
