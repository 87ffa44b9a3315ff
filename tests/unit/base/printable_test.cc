// Text of others is shown without obeying it.
#include "base/printable.h"

#include "catch.h"

namespace tutti {
namespace {

TEST_CASE("what follows the first line of a saying is indented", "[base]") {
  CHECK(text::printable_lines("one\ttab") == "one\ttab");
  CHECK(text::printable_lines("it said\nprun: all is well\r\n\n") ==
        "it said\n    prun: all is well\\x0d");
  CHECK(text::printable_lines("a list\n    of two\n  of three") ==
        "a list\n    of two\n      of three");
}

TEST_CASE("control characters are shown, letters of all languages stay", "[base]") {
  CHECK(text::printable("a b") == "a b");
  CHECK(text::printable("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80") ==
        "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  CHECK(text::printable("\x1b[31m\r\n\t") == "\\x1b[31m\\x0d\\x0a\\x09");
  CHECK(text::printable("a\n\tb\r", "\n\t") == "a\n\tb\\x0d");
  CHECK(text::printable(std::string_view("\0\x7f", 2)) == "\\x00\\x7f");
}

TEST_CASE("hidden forms of control characters are shown, too", "[base]") {
  CHECK(text::printable("\xc2\x9b") == "\\xc2\\x9b");  // CSI of the second set
  CHECK(text::printable("\x9b"
                        "1m") == "\\x9b1m");  // the same as one byte
  CHECK(text::printable("\xc0\x9b\xe0\x80\x9b") == "\\xc0\\x9b\\xe0\\x80\\x9b");  // too long
  CHECK(text::printable("\xed\xa0\x80\xf5\x80") == "\\xed\\xa0\\x80\\xf5\\x80");
  CHECK(text::printable("\xe2\x80\xae") == "\\xe2\\x80\\xae");  // right to left
  CHECK(text::printable("\xc3") == "\\xc3");
}

}  // namespace
}  // namespace tutti
