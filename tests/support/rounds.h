// How long a test that repeats itself with other numbers goes on.
#pragma once

#include <cstdlib>

namespace tutti::test {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

// A quarter in sanitized builds with --quick, each of whose rounds takes some ten times as long;
// the plain build has gone through all of them then.
inline int rounds(int usual) {
  return kIsSanitized && std::getenv("TUTTI_TEST_QUICK") != nullptr ? (usual + 3) / 4 : usual;
}

}  // namespace tutti::test
