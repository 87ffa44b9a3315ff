// Fingerprints of collective calls, and their words.
#include "comm/fingerprint.h"

#include <bit>

#include "base/text.h"

namespace tutti::comm {
namespace {

constexpr std::uint32_t kUserOp = 31;
constexpr Handle kFirstOp = 0x20;  // MPI_OP_NULL in the standard ABI
constexpr int kMantissa = 10;
constexpr std::uint32_t kNeighbours = 1U << 23;  // no collective: these have 1 .. 15 above bit 28

constexpr const char* kOpNames[] = {"no op",
                                    "sum",
                                    "min",
                                    "max",
                                    "product",
                                    "",
                                    "",
                                    "",
                                    "bitwise and",
                                    "bitwise or",
                                    "bitwise xor",
                                    "",
                                    "",
                                    "",
                                    "",
                                    "",
                                    "logical and",
                                    "logical or",
                                    "logical xor",
                                    "",
                                    "",
                                    "",
                                    "",
                                    "",
                                    "minloc",
                                    "maxloc",
                                    "",
                                    "",
                                    "replace",
                                    "no-op",
                                    "",
                                    "user op"};

std::uint32_t pack_bytes(Count bytes) {
  const auto value = static_cast<std::uint64_t>(bytes);
  const int width = static_cast<int>(std::bit_width(value));
  const int shift = width > kMantissa ? width - kMantissa : 0;
  return static_cast<std::uint32_t>((shift << kMantissa) |
                                    static_cast<int>((value >> shift) & ((1U << kMantissa) - 1)));
}

}  // namespace

std::uint32_t fingerprint_of(coll::Collective collective, const types::Op* op, int root,
                             Count bytes) {
  std::uint32_t which = 0;
  if (op != nullptr)
    which =
        op->is_predefined() ? static_cast<std::uint32_t>(op->handle() - kFirstOp) & 31U : kUserOp;
  return (static_cast<std::uint32_t>(collective) + 1) << 28 | which << 23 |
         (static_cast<std::uint32_t>(root) & 127U) << 16 | pack_bytes(bytes);
}

std::uint32_t neighbour_fingerprint(coll::Collective collective) {
  return kNeighbours | static_cast<std::uint32_t>(collective);
}

std::string describe_fingerprint(std::uint32_t fingerprint) {
  const std::uint32_t which = fingerprint >> 28;
  if ((fingerprint & ~0xffU) == kNeighbours)
    return "a neighbourhood " +
           std::string(coll::name_of(static_cast<coll::Collective>(fingerprint & 0xffU)));
  if (which == 0 || which > static_cast<std::uint32_t>(coll::kCollectives))
    return fingerprint == 1 ? "a collective that failed there" : "no collective";
  const auto collective = static_cast<coll::Collective>(which - 1);
  const std::uint32_t shift = (fingerprint & 0xffffU) >> kMantissa;
  const std::uint64_t mantissa = fingerprint & ((1U << kMantissa) - 1);
  std::string text(coll::name_of(collective));
  if (collective == coll::Collective::barrier) return text;
  text += (shift > 0 ? " of about " : " of ") + text::format_bytes(mantissa << shift);
  if (const std::uint32_t op = (fingerprint >> 23) & 31U; op != 0)
    text += std::string(", ") + kOpNames[op];
  return text + ", root " + std::to_string((fingerprint >> 16) & 127U);
}

}  // namespace tutti::comm
