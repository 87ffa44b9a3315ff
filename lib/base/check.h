// TUTTI_CHECK: stops the process when *we* are wrong, with the state that matters.
#pragma once

#include <string>

namespace tutti {
[[noreturn]] void check_failed(const char* file, int line, const char* what,
                               const std::string& state);
}

// TUTTI_CHECK(condition, "state as text"): the text is only built on failure.
#define TUTTI_CHECK(condition, ...)                                                 \
  do {                                                                              \
    if (!(condition)) [[unlikely]]                                                  \
      ::tutti::check_failed(__FILE__, __LINE__, #condition, std::string{__VA_ARGS__}); \
  } while (false)
