// One character of UTF-8 at a time; everything else byte by byte.
#include "base/printable.h"

#include "base/hex.h"

namespace tutti::text {
namespace {

// Length of the printable character at the front; 0: none, or one that steers terminals.
std::size_t printable_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (first >= 0xf5 || length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // The second set of control characters; longer than needed, half of a pair, beyond the last;
  // marks that turn the direction of writing.
  const bool wrong = (first == 0xc2 && byte(1) < 0xa0) || (first == 0xe0 && byte(1) < 0xa0) ||
                     (first == 0xed && byte(1) > 0x9f) || (first == 0xf0 && byte(1) < 0x90) ||
                     (first == 0xf4 && byte(1) > 0x8f);
  const bool turns = first == 0xe2 && ((byte(1) == 0x80 && byte(2) >= 0xa8 && byte(2) <= 0xae) ||
                                       (byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9));
  return wrong || turns ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::size_t length = printable_length(text);
    if (length == 0 && kept.find(text.front()) != std::string_view::npos) length = 1;
    if (length > 0) {
      out.append(text.substr(0, length));
    } else {
      out.append("\\x").append(hex(text.data(), 1));
      length = 1;
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  constexpr std::string_view kIndent = "    ";
  while (text.ends_with('\n')) text.remove_suffix(1);
  const std::string shown = printable(text, "\n\t");
  std::string out;
  out.reserve(shown.size());
  for (std::size_t i = 0; i < shown.size(); ++i) {
    out += shown[i];
    if (shown[i] == '\n' && shown.compare(i + 1, kIndent.size(), kIndent) != 0) out += kIndent;
  }
  return out;
}

}  // namespace tutti::text
