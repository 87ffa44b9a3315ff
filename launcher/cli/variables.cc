// Misspelt TUTTI_* variables, which nobody reads, and values that every rank would refuse: the
// user is told once, before anything starts.
#include <algorithm>
#include <array>
#include <functional>
#include <optional>

#include "base/knobs.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "model/costs.h"
#include "select/select.h"
#include "wireup/protocol.h"

namespace tutti::launch::cli {
namespace {

// Read or set beside the knobs: by the launcher in its ranks, and by mpicc and mpicxx.
constexpr std::array kOthers{"TUTTI_JOIN_KEY", "TUTTI_CC", "TUTTI_CXX", "TUTTI_WRAPPED"};
// Whoever writes tests and benchmarks of this project uses these beginnings.
constexpr std::array kFreePrefixes{"TUTTI_TEST_", "TUTTI_UPDATE_", "TUTTI_BENCH_"};

Result<void> check_name(const std::string& name, const std::string& cure) {
  if (!name.starts_with("TUTTI_") ||
      std::any_of(kFreePrefixes.begin(), kFreePrefixes.end(),
                  [&name](const char* prefix) { return name.starts_with(prefix); }))
    return {};
  std::vector<std::string> known(kOthers.begin(), kOthers.end());
  known.insert(known.end(), wireup::kLaunchersOwn.begin(), wireup::kLaunchersOwn.end());
  for (const KnobRow& row : Knobs::rows()) known.emplace_back(row.name);
  if (std::find(known.begin(), known.end(), name) != known.end()) return {};
  const std::string near = text::nearest(name, known);
  return fail(Code::arg, "unknown variable " + name +
                             (near.empty() ? "; docs/env.md lists those that are read; " + cure
                                           : "; did you mean " + near + "?"));
}

// `value` as Knobs::read takes it.
Result<void> check_values(const std::function<const char*(const char*)>& value) {
  TUTTI_TRY(values, Knobs::read(value));
  return select::check_forced(values);
}

}  // namespace

std::vector<std::string> drop_launchers_own(std::vector<EnvChange>& changes) {
  std::vector<std::string> dropped;
  std::erase_if(changes, [&dropped](const EnvChange& change) {
    const auto& own = wireup::kLaunchersOwn;
    if (std::find(own.begin(), own.end(), change.name) == own.end()) return false;
    dropped.push_back(change.name);
    return true;
  });
  return dropped;
}

Result<void> check_variables(const std::vector<std::string>& environment) {
  for (const std::string& entry : environment)
    TUTTI_DO(check_name(entry.substr(0, entry.find('=')), "unset it"));
  return check_values([&environment](const char* name) -> const char* {
    const std::string start = std::string(name) + "=";
    for (const std::string& entry : environment)
      if (entry.starts_with(start)) return entry.c_str() + start.size();
    return nullptr;
  });
}

Result<void> check_given_variables(const std::vector<AppSpec>& apps) {
  for (const AppSpec& app : apps) {
    for (const EnvChange& change : app.environment)
      TUTTI_DO(check_name(change.name, "leave it out"));
    TUTTI_DO(check_values([&app](const char* name) -> const char* {
      for (const EnvChange& change : app.environment)
        if (change.name == name && change.value && change.join == 0) return change.value->c_str();
      return nullptr;
    }));
  }
  return {};
}

Result<std::string> costs_of(const std::vector<AppSpec>& apps, const std::string& own) {
  const std::string name = wireup::kCostsVariable;
  std::optional<std::string> given;
  for (const AppSpec& app : apps)
    for (const EnvChange& change : app.environment) {
      if (change.name != name || !change.value) continue;
      if (given && *given != *change.value)
        return fail(Code::arg, name + " differs between programs ('" + *given + "' and '" +
                                   *change.value + "'): one table serves the whole job; give one");
      given = change.value;
    }
  auto table = model::parse_costs(given.value_or(own));
  if (!table) return fail(Code::arg, name + ": " + table.error().text);
  return model::text_of(*table);
}

}  // namespace tutti::launch::cli
