// Fingerprints of collective calls, and their words.
#include "comm/fingerprint.h"

#include <bit>
#include <cctype>
#include <iterator>

#include "base/text.h"

namespace tutti::comm {
namespace {

constexpr std::uint32_t kUserOp = 31;
constexpr Handle kFirstOp = 0x20;  // MPI_OP_NULL in the standard ABI
constexpr int kMantissa = 10;
constexpr std::uint32_t kNeighbours = 1U << 23;  // no collective: these have 1 .. 15 above bit 28

constexpr const char* kOpNames[] = {"no op",
                                    "MPI_SUM",
                                    "MPI_MIN",
                                    "MPI_MAX",
                                    "MPI_PROD",
                                    "",
                                    "",
                                    "",
                                    "MPI_BAND",
                                    "MPI_BOR",
                                    "MPI_BXOR",
                                    "",
                                    "",
                                    "",
                                    "",
                                    "",
                                    "MPI_LAND",
                                    "MPI_LOR",
                                    "MPI_LXOR",
                                    "",
                                    "",
                                    "",
                                    "",
                                    "",
                                    "MPI_MINLOC",
                                    "MPI_MAXLOC",
                                    "",
                                    "",
                                    "MPI_REPLACE",
                                    "MPI_NO_OP",
                                    "",
                                    "an operation of its own"};

// What a reduction is of, by types::Element: MPI_INT and MPI_INT32_T are one, as they fold alike.
constexpr const char* kElementNames[types::kElements] = {"",
                                                         "MPI_BYTE",
                                                         "MPI_INT8_T",
                                                         "MPI_INT16_T",
                                                         "MPI_INT",
                                                         "MPI_INT64_T",
                                                         "MPI_UINT8_T",
                                                         "MPI_UINT16_T",
                                                         "MPI_UNSIGNED",
                                                         "MPI_UINT64_T",
                                                         "MPI_REAL2",
                                                         "MPI_FLOAT",
                                                         "MPI_DOUBLE",
                                                         "MPI_LONG_DOUBLE"};

const char* name_of_element(std::uint32_t code) {
  const bool known = code < types::kElements && kElementNames[code] != nullptr;
  return known ? kElementNames[code] : "an element of another type";
}

Count size_of_element(std::uint32_t code) {
  constexpr Count sizes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, sizeof(long double)};
  return code < std::size(sizes) ? sizes[code] : 0;
}

std::uint32_t pack_bytes(Count bytes) {
  const auto value = static_cast<std::uint64_t>(bytes);
  const int width = static_cast<int>(std::bit_width(value));
  const int shift = width > kMantissa ? width - kMantissa : 0;
  return static_cast<std::uint32_t>((shift << kMantissa) |
                                    static_cast<int>((value >> shift) & ((1U << kMantissa) - 1)));
}

}  // namespace

bool has_root(coll::Collective collective) {
  switch (collective) {
    case coll::Collective::bcast:
    case coll::Collective::reduce:
    case coll::Collective::gather:
    case coll::Collective::scatter:
    case coll::Collective::gatherv:
    case coll::Collective::scatterv:
      return true;
    default:
      return false;
  }
}

std::uint32_t fingerprint_of(coll::Collective collective, const types::Op* op, int root,
                             Count bytes, const types::Datatype* type) {
  std::uint32_t which = 0;
  if (op != nullptr)
    which =
        op->is_predefined() ? static_cast<std::uint32_t>(op->handle() - kFirstOp) & 31U : kUserOp;
  auto where = static_cast<std::uint32_t>(root);
  // A reduction that has no root says its type there.
  if (op != nullptr && !has_root(collective))
    where = type == nullptr ? 0 : static_cast<std::uint32_t>(type->element());
  return (static_cast<std::uint32_t>(collective) + 1) << 28 | which << 23 | (where & 127U) << 16 |
         pack_bytes(bytes);
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
  std::string text = "MPI_" + std::string(coll::name_of(collective));
  text[4] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[4])));
  if (collective == coll::Collective::barrier) return text;
  const std::uint32_t shift = (fingerprint & 0xffffU) >> kMantissa;
  const std::uint64_t bytes = std::uint64_t{fingerprint & ((1U << kMantissa) - 1)} << shift;
  const std::uint32_t op = (fingerprint >> 23) & 31U;
  const std::uint32_t root = (fingerprint >> 16) & 127U;
  text += has_root(collective) ? "(root " + std::to_string(root) + ", " : "(";
  const std::uint32_t element = op != 0 && !has_root(collective) ? root : 0;
  const auto size = static_cast<std::uint64_t>(size_of_element(element));
  if (shift > 0) text += "about ";
  if (element != 0 && size > 0)
    text += std::to_string(bytes / size) + " x " + name_of_element(element);
  else
    text += text::format_bytes(bytes);
  if (op != 0) text += std::string(", ") + kOpNames[op];
  return text + ")";
}

}  // namespace tutti::comm
