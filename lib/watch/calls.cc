// Recent calls, and fingerprints in words.
#include "watch/calls.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <iterator>

#include "base/collectives.h"
#include "base/text.h"
#include "watch/watch.h"

namespace tutti::watch {
namespace {

// Sizes: below so many bits all of it; above, where from and the five bits there, and what remains
// by 31, in which neighbours differ.
constexpr int kExact = 10, kPart = 5;
constexpr std::uint32_t kRemainders = (1U << kPart) - 1;
// No collectives: these have 1 .. 15 from bit 28 on.
constexpr std::uint32_t kNeighbours = 1U << 23, kOwn = 1U << 27;
// Of an own print, from where: the purpose in two bits, the collective in four, its operation or
// root in five, and the size.
constexpr std::uint32_t kPurpose = 25, kOwnCollective = 21, kOpOrRoot = 16;

constexpr const char* kPurposes[] = {"", "MPI_Finalize", "a function that makes a communicator",
                                     "a collective, whose members ask each other about GPUs"};

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
constexpr const char* kElementNames[] = {"",
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
  const bool known = code < std::size(kElementNames) && kElementNames[code] != nullptr;
  return known ? kElementNames[code] : "an element of another type";
}

std::uint64_t size_of_element(std::uint32_t code) {
  constexpr std::uint64_t sizes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, sizeof(long double)};
  return code < std::size(sizes) ? sizes[code] : 0;
}

std::uint32_t pack_bytes(std::uint64_t value) {
  const int width = static_cast<int>(std::bit_width(value));
  if (width <= kExact) return static_cast<std::uint32_t>(value);
  const int shift = width - kPart;
  return static_cast<std::uint32_t>(shift) << kExact |
         static_cast<std::uint32_t>(value >> shift << kPart | value % kRemainders);
}

struct Said {
  std::uint32_t print;
  std::uint64_t root, bytes;
  bool exact;
};

// Members need not say alike how much, so a print says nothing of it.
bool has_own_sizes(Collective collective) {
  return collective == Collective::gatherv || collective == Collective::scatterv ||
         collective == Collective::alltoallv;
}

std::string size_of(const Said& said, std::uint32_t element) {
  const std::string about = said.exact ? "" : "about ";
  const std::uint64_t size = size_of_element(element);
  if (element != 0 && size > 0)
    return about + std::to_string(said.bytes / size) + " x " + name_of_element(element);
  return about + text::format_bytes(said.bytes);
}

// The brackets and what stands between them.
std::string describe_arguments(const Said& said) {
  const std::uint32_t collective = (said.print >> 28) - 1;
  if (collective == 0) return "";
  const std::uint32_t op = (said.print >> 23) & 31U;
  const CollectiveRow& row = kCollectiveRows[collective];
  const std::uint32_t element = op != 0 && !row.has_root ? (said.print >> 16) & 127U : 0;
  std::string words;
  const auto add = [&words](const std::string& word) {
    words += (words.empty() ? "(" : ", ") + word;
  };
  if (row.has_root) add("root " + std::to_string(said.root));
  if (!has_own_sizes(row.collective)) add(size_of(said, element));
  if (op != 0) add(kOpNames[op]);
  return words.empty() ? "" : words + ")";
}

bool is_collective(std::uint32_t print) {
  return print >> 28 != 0 && print >> 28 <= kCollectiveRows.size();
}

// Purpose::users: a call of the user's.
Purpose purpose_of(std::uint32_t print) {
  const bool is_own = (print >> 27) == kOwn >> 27;
  return is_own ? static_cast<Purpose>((print >> kPurpose) & 3U) : Purpose::users;
}

// Makers of communicators begin with different collectives.
std::string describe_own(std::uint32_t print) {
  const Purpose purpose = purpose_of(print);
  const std::string words = kPurposes[static_cast<std::size_t>(purpose)];
  if (purpose != Purpose::makes_comm) return words;
  return words + ", by " + collective_name((print >> kOwnCollective) & 15U);
}

std::string in_capital(const char* name) {
  std::string text = std::string("MPI_") + name;
  text[4] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[4])));
  return text;
}

bool contains(std::string text, const char* part) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text.find(part) != std::string::npos;
}

}  // namespace

bool has_root(std::uint32_t collective) {
  return collective < kCollectiveRows.size() && kCollectiveRows[collective].has_root;
}

const char* collective_name(std::uint32_t collective) {
  return collective < kCollectiveRows.size() ? kCollectiveRows[collective].name : "";
}

const char* op_name(std::uint32_t op) {
  return op < std::size(kOpNames) ? kOpNames[op] : "";
}

std::uint32_t pack_fingerprint(const Fingerprint& print) {
  // A reduction that has no root says its type there.
  const bool says_type = print.op != 0 && !has_root(print.collective);
  return (print.collective + 1) << 28 | print.op << 23 |
         ((says_type ? print.element : print.root) & 127U) << 16 | pack_bytes(print.bytes);
}

std::uint32_t neighbour_fingerprint(std::uint32_t collective) {
  return kNeighbours | collective;
}

std::uint32_t mark_own(Purpose purpose, std::uint32_t print) {
  const std::uint32_t op = (print >> 23) & 31U, root = (print >> 16) & 31U;
  return kOwn | static_cast<std::uint32_t>(purpose) << kPurpose |
         ((print >> 28) - 1) << kOwnCollective | (op != 0 ? op : root) << kOpOrRoot |
         (print & 0xffffU);
}

std::string describe_fingerprint(std::uint32_t print) {
  if ((print & ~0xffU) == kNeighbours)
    return std::string("a neighbourhood ") + collective_name(print & 0xffU);
  if (purpose_of(print) != Purpose::users) return describe_own(print);
  if (!is_collective(print)) return "no collective";
  const std::uint32_t shift = (print & 0xffffU) >> kExact;
  const std::uint64_t low = print & ((1U << kExact) - 1);
  const std::uint64_t bytes = shift == 0 ? low : low >> kPart << shift;
  return in_capital(kCollectiveRows[(print >> 28) - 1].name) +
         describe_arguments({print, (print >> 16) & 127U, bytes, shift == 0});
}

std::string describe_call(const wireup::CallRecord& call) {
  // Whatever a callback called in between.
  if (purpose_of(call.fingerprint) == Purpose::finalize)
    return describe_fingerprint(call.fingerprint);
  const std::string function = call.function > 0 ? function_name(call.function - 1) : "";
  if (!is_collective(call.fingerprint))
    return function.empty() ? describe_fingerprint(call.fingerprint) : function;
  const char* name = kCollectiveRows[(call.fingerprint >> 28) - 1].name;
  // A call of another name that is served by this collective: their arguments differ.
  if (!function.empty() && !contains(function, name)) return function;
  return (function.empty() ? in_capital(name) : function) +
         describe_arguments({call.fingerprint | call.terms, static_cast<std::uint64_t>(call.root),
                             call.bytes, true});
}

bool is_same_call(const wireup::CallRecord& a, const wireup::CallRecord& b, bool terms) {
  constexpr std::uint32_t kAlike = kNonblocking | kInter;
  return a.fingerprint == b.fingerprint && a.bytes == b.bytes && a.root == b.root &&
         (a.flags & kAlike) == (b.flags & kAlike) && (!terms || a.terms == b.terms);
}

std::string difference_between(const wireup::CallRecord& a, const wireup::CallRecord& b) {
  std::string text;
  const auto add = [&text](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  const auto two = [&add](const std::string& what, const std::string& one,
                          const std::string& other) {
    if (one != other) add(what + " " + one + " and " + other);
  };
  const auto inside = [](const wireup::CallRecord& call) {
    return is_collective(call.fingerprint)
               ? std::string(kCollectiveRows[(call.fingerprint >> 28) - 1].name)
               : describe_fingerprint(call.fingerprint);
  };
  const auto kind = [](const wireup::CallRecord& call) {
    return std::string((call.flags & kNonblocking) != 0 ? "nonblocking" : "blocking");
  };
  two("collectives", inside(a), inside(b));
  two("kinds", kind(a), kind(b));
  two("roots", std::to_string(a.root), std::to_string(b.root));
  two("sizes", std::to_string(a.bytes) + " B", std::to_string(b.bytes) + " B");
  const auto code = [](std::uint32_t print) {
    if (!is_collective(print)) return std::to_string(print);
    return "operation " + std::to_string((print >> 23) & 31U) + " on element type " +
           std::to_string((print >> 16) & 127U);
  };
  if (text.empty()) two("codes", code(a.fingerprint | a.terms), code(b.fingerprint | b.terms));
  return text;
}

std::vector<wireup::CallRecord> recent_calls(const wireup::RecentCalls& recent) {
  std::vector<wireup::CallRecord> all;
  for (const auto& kind : recent.kinds) {
    // acquire: partner of the release in close_record().
    const std::uint64_t begun = kind.begun.load(std::memory_order_acquire);
    const auto first = static_cast<std::ptrdiff_t>(all.size());
    all.insert(all.end(), std::begin(kind.calls), std::end(kind.calls));
    std::atomic_thread_fence(std::memory_order_acquire);
    const std::uint64_t after = kind.begun.load(std::memory_order_relaxed);
    // Those written since, and the one that may be half written.
    for (std::uint64_t i = begun; i <= after && i < begun + wireup::kRecentCalls; ++i)
      all[static_cast<std::size_t>(first) + i % wireup::kRecentCalls].number = 0;
  }
  std::erase_if(all, [](const wireup::CallRecord& call) { return call.number == 0; });
  return all;
}

std::uint64_t calls_begun(const wireup::RecentCalls& recent) {
  std::uint64_t sum = 0;
  // acquire: partner of the release in close_record().
  for (const auto& kind : recent.kinds) sum += kind.begun.load(std::memory_order_acquire);
  return sum;
}

}  // namespace tutti::watch
