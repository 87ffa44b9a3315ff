// The choice: what the user forces, else what the model says is quickest.
//
// Everything it depends on is equal on all ranks of the team, so all of them choose alike
// without a word: sizes, hosts, link classes and knobs, never addresses or timings of one rank.
#include <algorithm>

#include "base/text.h"
#include "select/candidates.h"
#include "select/select.h"

namespace tutti::select {
namespace {

using coll::Algorithm;
using coll::Collective;

// What a user forces and where it was said: info key, TUTTI_<COLLECTIVE>, TUTTI_ALGORITHMS.
struct Forced {
  std::string name;
  std::string source;
};

// The v forms obey the knob of their plain form when it names something they have.
Collective plain_form(Collective collective) {
  const std::string_view knob = row_of(collective).knob;
  return std::ranges::find(kCollectiveRows, knob, &CollectiveRow::knob)->collective;
}

Result<Forced> from_list(std::string_view list, std::string_view wanted) {
  for (const std::string& entry : text::split(list, ',')) {
    const auto word = text::trim(entry);
    if (word.empty()) continue;
    const auto equals = word.find('=');
    const auto key = text::trim(word.substr(0, equals));
    std::vector<std::string> known;
    for (const CollectiveRow& row : kCollectiveRows) known.emplace_back(row.name);
    const bool is_known = std::find(known.begin(), known.end(), key) != known.end();
    if (equals == std::string_view::npos || !is_known) {
      const std::string near = text::nearest(key, known);
      return fail(Code::arg, "TUTTI_ALGORITHMS: '" + std::string(word) +
                                 "' is not COLLECTIVE=ALGORITHM" +
                                 (near.empty() ? "" : "; did you mean " + near + "=...?"));
    }
    if (key == wanted)
      return Forced{std::string(text::trim(word.substr(equals + 1))), "TUTTI_ALGORITHMS"};
  }
  return Forced{};
}

Result<Forced> forced_name(const Question& question, const Knobs& knobs) {
  if (!question.forced.empty()) return Forced{question.forced, "the communicator's info"};
  const char* const knob = row_of(question.collective).knob;
  if (!knobs.text(knob).empty()) return Forced{knobs.text(knob), knob};
  const std::string& list = knobs.text("TUTTI_ALGORITHMS");
  if (list.empty()) return Forced{};
  TUTTI_TRY(exact, from_list(list, coll::name_of(question.collective)));
  if (!exact.name.empty()) return exact;
  return from_list(list, coll::name_of(plain_form(question.collective)));
}

std::vector<std::string> names_of(Collective collective) {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : coll::catalogue())
    if (algorithm.collective == collective) names.emplace_back(algorithm.name);
  if (coll::delegated(collective).kind != coll::Delegated::never)
    names.emplace_back(coll::kDelegateName);
  if (coll::has_gpu_library_form(collective)) names.emplace_back(coll::kGpuLibraryName);
  return names;
}

tl::unexpected<Error> unknown(Collective collective, const Forced& forced) {
  const auto names = names_of(collective);
  const std::string near = text::nearest(forced.name, names);
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return fail(Code::arg, forced.source + ": " + std::string(coll::name_of(collective)) +
                             " has no algorithm '" + forced.name + "'" +
                             (near.empty() ? "" : "; did you mean " + near + "?") +
                             " (there are: " + all + ")");
}

// Whether a forced name is meant for another form of the collective: TUTTI_ALLGATHER=
// recursive_doubling leaves allgatherv, which has no such algorithm, to the model.
bool is_for_plain_form(const Question& question, const Forced& forced) {
  const Collective plain = plain_form(question.collective);
  if (plain == question.collective || !question.forced.empty()) return false;
  const auto names = names_of(plain);
  return std::find(names.begin(), names.end(), forced.name) != names.end();
}

Result<Choice> forced_choice(const Question& question, const TeamFacts& team, const Knobs& knobs,
                             const Forced& forced) {
  Choice choice;
  choice.why = "forced by " + forced.source;
  if (forced.name == coll::kDelegateName &&
      coll::delegated(question.collective).kind != coll::Delegated::never) {
    if (!delegate_can(question, team))
      return fail(Code::unsupported, forced.source + ": shm cannot serve this " +
                                         std::string(coll::name_of(question.collective)) +
                                         " (the ranks are not all on one host)");
    return choice;
  }
  choice.algorithm = coll::find(question.collective, forced.name);
  if (choice.algorithm == nullptr) return unknown(question.collective, forced);
  if (choice.algorithm->needs_commutative && !question.commutative)
    return fail(Code::op, forced.source + ": " + forced.name +
                              " needs a commutative operation and this one is not; unset it or "
                              "choose another");
  choice.segment_bytes = segment_for(*choice.algorithm, question, team, knobs);
  return choice;
}

}  // namespace

std::string forced_algorithm(Collective collective, const std::string& by_info,
                             const Knobs& knobs) {
  Question question;
  question.collective = collective;
  question.forced = by_info;
  const auto forced = forced_name(question, knobs);  // errors were told at the start
  return forced ? forced->name : "";
}

Result<void> check_forced(const Knobs& knobs) {
  for (const CollectiveRow& row : kCollectiveRows) {
    const Collective collective = row.collective;
    Question question;
    question.collective = collective;
    TUTTI_TRY(forced, forced_name(question, knobs));
    const auto names = names_of(collective);
    if (forced.name.empty() || is_for_plain_form(question, forced) ||
        std::find(names.begin(), names.end(), forced.name) != names.end())
      continue;
    return unknown(collective, forced);
  }
  return {};
}

std::string library_forced_by(const Knobs& knobs) {
  for (const CollectiveRow& row : kCollectiveRows) {
    Question question;
    question.collective = row.collective;
    const auto forced = forced_name(question, knobs);
    if (forced && forced->name == coll::kGpuLibraryName) return forced->source;
  }
  return "";
}

Result<Choice> choose(const Question& question, const TeamFacts& team, const Knobs& knobs,
                      bool explain) {
  TUTTI_TRY(forced, forced_name(question, knobs));
  const bool names_other =
      (forced.name == coll::kDelegateName && !question.may_delegate) ||
      (forced.name == coll::kGpuLibraryName && coll::has_gpu_library_form(question.collective));
  const bool obeys =
      !forced.name.empty() && !names_other &&
      (coll::find(question.collective, forced.name) || !is_for_plain_form(question, forced));
  if (obeys) return forced_choice(question, team, knobs, forced);
  const auto all = candidates(question, team, knobs);
  const auto best = std::min_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.predicted_us < b.predicted_us;
  });
  if (best == all.end())
    return fail(Code::unsupported, "no algorithm of " +
                                       std::string(coll::name_of(question.collective)) +
                                       " can serve this call");
  Choice choice{best->algorithm, best->segment_bytes, ""};
  if (explain) choice.why = explanation(team, all);
  return choice;
}

}  // namespace tutti::select
