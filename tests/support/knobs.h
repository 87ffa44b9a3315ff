// The knobs of a test: those that it names, and the rest as by default.
#pragma once

#include <map>
#include <string>

#include "base/knobs.h"
#include "catch.h"

namespace tutti::test {

inline Knobs knobs_with(const std::map<std::string, std::string>& values) {
  const auto knobs = Knobs::read([&](const char* name) -> const char* {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  });
  REQUIRE(knobs.has_value());
  return *knobs;
}

}  // namespace tutti::test
