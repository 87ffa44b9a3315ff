#include "base/shortage.h"

#include "catch.h"

using tutti::kMoreThreads;
using tutti::no_process;

namespace {

bool names(const std::string& text, const char* limit) {
  return text.find(limit) != std::string::npos;
}

}  // namespace

TEST_CASE("what there is not enough of names the limit to raise", "[shortage]") {
  CHECK(names(no_process(EAGAIN), "ulimit -u"));
  CHECK_FALSE(names(no_process(EAGAIN), "ulimit -v"));
  CHECK(names(no_process(ENOMEM), "ulimit -v"));
  CHECK_FALSE(names(no_process(ENOMEM), "ulimit -u"));
  // The C library says EAGAIN of a thread whose stack has no room, too.
  CHECK((names(kMoreThreads, "ulimit -u") && names(kMoreThreads, "ulimit -v")));
}
