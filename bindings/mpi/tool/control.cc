// Control variables are the knobs. Before MPI_Init a value written here comes before the
// environment's; afterwards most are fixed, because what they decide has been built.
#include <cstring>
#include <map>

#include "base/knobs.h"
#include "base/log.h"
#include "mpi/tool/tool.h"

namespace tutti::mpi::tool {
namespace {

std::map<std::string, std::string>& overrides() {
  static auto& all = *new std::map<std::string, std::string>;  // kept: see process.h
  return all;
}

const KnobRow& row(int knob) {
  return Knobs::rows()[static_cast<std::size_t>(knob)];
}
bool has_unit(int knob, const char* unit) {
  return std::strcmp(row(knob).unit, unit) == 0;
}
bool is(int knob, const char* name) {
  return std::strcmp(row(knob).name, name) == 0;
}

// As MPI_Init would read it.
Result<Knobs> read_all() {
  return Knobs::read(&knob_from_environment);
}

}  // namespace

bool is_switch(int knob) {
  return has_unit(knob, "0/1");
}
bool is_text(int knob) {
  return has_unit(knob, "name") || has_unit(knob, "text");
}
bool is_settable_now(int knob) {
  return process.world == nullptr || is(knob, "TUTTI_EXPLAIN") || is(knob, "TUTTI_CHECKS");
}

const char* overridden(const char* name) {
  const auto found = overrides().find(name);
  return found == overrides().end() ? nullptr : found->second.c_str();
}

std::string knob_text(int knob) {
  const auto known = read_all();
  const Knobs& now = process.world != nullptr ? process.world->knobs() : *known;
  if (process.world == nullptr && !known) return row(knob).fallback;
  if (is_text(knob)) return now.text(row(knob).name);
  if (process.world != nullptr && is(knob, "TUTTI_EXPLAIN")) return log::explains() ? "1" : "0";
  if (process.world != nullptr && is(knob, "TUTTI_CHECKS")) return process.checks ? "1" : "0";
  return std::to_string(now.integer(row(knob).name));
}

int set_knob(int knob, const std::string& text) {
  if (!is_settable_now(knob)) return MPI_T_ERR_CVAR_SET_NOT_NOW;
  if (process.world != nullptr) {
    if (text != "0" && text != "1") return MPI_T_ERR_INVALID;
    if (is(knob, "TUTTI_EXPLAIN"))
      log::set_explain(text == "1");
    else
      process.checks = text == "1";
    return MPI_SUCCESS;
  }
  const char* const before = overridden(row(knob).name);
  const std::string kept = before == nullptr ? "" : before;
  overrides()[row(knob).name] = text;
  if (read_all()) return MPI_SUCCESS;
  if (before == nullptr)
    overrides().erase(row(knob).name);
  else
    overrides()[row(knob).name] = kept;
  return MPI_T_ERR_INVALID;
}

}  // namespace tutti::mpi::tool
