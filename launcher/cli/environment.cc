// Options that change the ranks' environment and working folder.
//
// -x and -genv reach every program, unless a program sets the same name by itself; -env and a
// later program's -x are that program's own.
#include <algorithm>

#include "base/interface_list.h"
#include "base/knobs.h"
#include "base/text.h"
#include "cli/options.h"
#include "wireup/protocol.h"

namespace tutti::launch::cli {
namespace {

Result<EnvChange> change_of(const Given& given, const std::string& word) {
  const auto equals = word.find('=');
  EnvChange change;
  change.name = word.substr(0, equals);
  if (equals != std::string::npos) change.value = word.substr(equals + 1);
  if (change.name.empty())
    return fail(Code::arg,
                given.spelling + " '" + word + "' has no variable name; write NAME or NAME=VALUE");
  return change;
}

// A second mention of a name replaces the first.
void put(std::vector<EnvChange>& changes, EnvChange change) {
  for (EnvChange& known : changes) {
    if (known.name != change.name || known.join != 0) continue;
    known = std::move(change);
    return;
  }
  changes.push_back(std::move(change));
}

// One word "NAME=VALUE", or two.
Result<EnvChange> pair_of(const Given& given) {
  if (given.words.size() == 1) return change_of(given, given.words[0]);
  if (given.words[0].empty()) return fail(Code::arg, given.spelling + " has no variable name");
  EnvChange change;
  change.name = given.words[0];
  change.value = given.words[1];
  return change;
}

Result<void> put_list(std::vector<EnvChange>& changes, const Given& given) {
  for (const std::string& word : text::split(given.words[0], ',')) {
    TUTTI_TRY(change, change_of(given, word));
    put(changes, std::move(change));
  }
  return {};
}

}  // namespace

namespace apply {

Result<void> export_variable(Draft& draft, const Given& given) {
  TUTTI_TRY(change, change_of(given, given.words[0]));
  put(draft.job.apps.empty() ? draft.shared : draft.app.environment, std::move(change));
  return {};
}

Result<void> set_variable(Draft& draft, const Given& given) {
  TUTTI_TRY(change, pair_of(given));
  put(draft.app.environment, std::move(change));
  return {};
}

Result<void> list_variables(Draft& draft, const Given& given) {
  draft.lists_variables = true;
  return put_list(draft.app.environment, given);
}

Result<void> set_shared_variable(Draft& draft, const Given& given) {
  TUTTI_TRY(change, pair_of(given));
  put(draft.shared, std::move(change));
  return {};
}

Result<void> link_security(Draft& draft, const Given& given) {
  const std::string& level = given.words[0];
  if (level != "none" && level != "integrity" && level != "encrypted")
    return fail(Code::arg,
                given.spelling + " " + level + " is none of none, integrity and encrypted");
  return set_shared_variable(draft, Given{given.spelling, {"TUTTI_LINK_SECURITY", level}});
}

// yes and no, and what MPICH's family and Cray's variables say for them.
Result<void> gpu_support(Draft& draft, const Given& given) {
  const std::string word = text::lower(given.words[0]);
  const bool is_off = word == "no" || word == "off" || word == "0" || word == "false";
  const bool is_on = word == "yes" || word == "on" || word == "1" || word == "true";
  if (!is_on && !is_off && word != "auto")
    return fail(Code::arg, given.spelling + " " + given.words[0] + " is none of auto, yes and no");
  return set_shared_variable(draft, Given{given.spelling,
                                          {"TUTTI_GPU_SUPPORT", is_on    ? "yes"
                                                                : is_off ? "no"
                                                                         : "auto"}});
}

// One letter changed, missing or too many, or two letters swapped.
bool is_slip(std::string_view word, std::string_view meant) {
  const std::size_t distance = text::edit_distance(word, meant);
  return distance == 1 || (distance == 2 && word.size() == meant.size() &&
                           std::is_permutation(word.begin(), word.end(), meant.begin()));
}

// Others than these may be asked for, and are not provided; misspelt they are told.
Result<void> memory_kinds(Draft& draft, const Given& given) {
  static const std::vector<std::string> kKinds = {"system", "mpi", "cuda", "rocm", "level_zero"};
  static const std::vector<std::string> kRestrictors = {
      "host", "device", "managed", "shared", "alloc_mem", "win_allocate", "win_allocate_shared"};
  if (given.words[0].empty())
    return fail(Code::arg, given.spelling + " needs kinds, such as system,mpi,cuda:device");
  for (const std::string& kind : text::split(given.words[0], ',')) {
    const auto words = text::split(text::trim(kind), ':');
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string near = text::nearest(words[i], i == 0 ? kKinds : kRestrictors);
      if (!near.empty() && is_slip(words[i], near))
        return fail(Code::arg, given.spelling + ": '" + std::string(text::trim(kind)) +
                                   "' is no kind of memory; did you mean " + near + "?");
    }
  }
  return set_shared_variable(draft,
                             Given{given.spelling, {"TUTTI_MEMORY_ALLOC_KINDS", given.words[0]}});
}

Result<void> interfaces(Draft& draft, const Given& given) {
  if (const auto list = InterfaceList::parse(given.words[0]); !list)
    return fail(Code::arg, given.spelling + ": " + list.error().text);
  return set_shared_variable(draft, Given{given.spelling, {"TUTTI_INTERFACES", given.words[0]}});
}

Result<void> other_interfaces(Draft& draft, const Given& given) {
  return interfaces(draft, Given{given.spelling, {"^" + given.words[0]}});
}

// A single one needs no rails beside it.
Result<void> tcp_links(Draft& draft, const Given& given) {
  const auto links = text::parse_int(given.words[0]);
  if (!links || *links < 1)
    return fail(Code::arg,
                given.spelling + " needs a number of connections to each peer, 1 or more");
  const std::int64_t rails = *links == 1 ? 0 : std::min<std::int64_t>(*links, kMostTcpRails);
  return set_shared_variable(draft,
                             Given{given.spelling, {"TUTTI_TCP_RAILS", std::to_string(rails)}});
}

Result<void> costs(Draft& draft, const Given& given) {
  return set_shared_variable(draft,
                             Given{given.spelling, {wireup::kCostsVariable, given.words[0]}});
}

Result<void> list_shared_variables(Draft& draft, const Given& given) {
  draft.lists_variables = true;
  return put_list(draft.shared, given);
}

Result<void> unset_variable(Draft& draft, const Given& given) {
  TUTTI_TRY(named, change_of(given, given.words[0]));
  EnvChange gone;
  gone.name = named.name;
  gone.unset = true;
  put(draft.app.environment, std::move(gone));
  return {};
}

// "NAME" or Open MPI's "NAME[c]", c the separator.
Result<void> append_variable(Draft& draft, const Given& given) {
  TUTTI_TRY(change, pair_of(given));
  if (!change.value) return fail(Code::arg, given.spelling + " needs NAME VALUE");
  change.join = ':';
  const auto size = change.name.size();
  if (size > 3 && change.name[size - 3] == '[' && change.name[size - 1] == ']') {
    change.join = change.name[size - 2];
    change.name.resize(size - 3);
  }
  draft.app.environment.push_back(std::move(change));
  return {};
}

Result<void> prepend_variable(Draft& draft, const Given& given) {
  TUTTI_DO(append_variable(draft, given));
  draft.app.environment.back().in_front = true;
  return {};
}

Result<void> search_path(Draft& draft, const Given& given) {
  return prepend_variable(draft, Given{given.spelling, {"PATH", given.words[0]}});
}

Result<void> app_prefix(Draft& draft, const Given& given) {
  TUTTI_DO(search_path(draft, Given{given.spelling, {given.words[0] + "/bin"}}));
  return prepend_variable(draft,
                          Given{given.spelling, {"LD_LIBRARY_PATH", given.words[0] + "/lib"}});
}

Result<void> clean(Draft& draft, const Given&) {
  draft.app.clean_environment = true;
  return {};
}

Result<void> shared_clean(Draft& draft, const Given&) {
  draft.shared_clean = true;
  return {};
}

Result<void> export_list(Draft& draft, const Given& given) {
  bool all = false;
  for (const std::string& word : text::split(given.words[0], ',')) {
    all = all || word == "ALL";
    if (word == "ALL" || word == "NONE" || word == "NIL") continue;
    TUTTI_TRY(change, change_of(given, word));
    put(draft.app.environment, std::move(change));
  }
  draft.lists_variables = true;
  draft.job.whole_environment = all;
  draft.app.clean_environment = !all;
  return {};
}

Result<void> working_directory(Draft& draft, const Given& given) {
  if (given.words[0].empty()) return fail(Code::arg, given.spelling + " needs a folder");
  draft.app.working_directory = given.words[0];
  return {};
}

Result<void> shared_working_directory(Draft& draft, const Given& given) {
  if (given.words[0].empty()) return fail(Code::arg, given.spelling + " needs a folder");
  draft.shared_directory = given.words[0];
  return {};
}

}  // namespace apply
}  // namespace tutti::launch::cli
