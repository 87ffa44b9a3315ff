// Knobs: every variable a user may set, in one table (knobs.cc), read once at start.
//
// A knob is a row: name, unit, default, owner, why it exists. Budget: 60 rows. Nobody else
// reads TUTTI_* variables (wireup reads those that the launcher sets).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti {

inline constexpr std::int64_t kMostTcpRails = 16;  // by which the parts of a message go in turn

struct KnobRow {
  const char* name;      // "TUTTI_EAGER_BYTES"
  const char* unit;      // "bytes", "us", "0/1", "name"
  const char* fallback;  // default, as text
  const char* owner;     // room
  const char* why;
};

// Values of one process, fixed at start: defaults, overridden by the environment.
class Knobs {
 public:
  using Lookup = std::function<const char*(const char*)>;  // getenv in a process, a map in tests

  // Reads every row. Errors: a value that does not parse names variable, value and form.
  static Result<Knobs> read(const Lookup& lookup);
  static Knobs defaults();
  static const std::vector<KnobRow>& rows();

  // Asking for a name that has no row stops the process: it is our mistake.
  std::int64_t integer(std::string_view name) const;
  bool flag(std::string_view name) const { return integer(name) != 0; }
  const std::string& text(std::string_view name) const;
  bool is_set(std::string_view name) const;  // the user said so

 private:
  struct Value {
    std::string text;
    std::int64_t number = 0;
    bool set = false;
  };
  std::vector<Value> values_;  // parallel to rows()
};

}  // namespace tutti
