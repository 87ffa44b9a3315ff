// Options that place, number and bind ranks; the grammar of --map-by and --bind-to.
//
//   --map-by  policy[:modifier[,modifier]...]      --map-by  ppr:N:node[:modifier...]
//   --bind-to target[:modifier...]                 Hydra's -bind-to core:2 is two cores
#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "cli/options.h"

namespace tutti::launch {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

struct MapName {
  const char* name;
  MapBy value;
};
constexpr std::array kMapNames{
    MapName{"slot", MapBy::slot},       MapName{"node", MapBy::node},
    MapName{"host", MapBy::node},       MapName{"core", MapBy::core},
    MapName{"numa", MapBy::numa},       MapName{"package", MapBy::package},
    MapName{"socket", MapBy::package},  MapName{"hwthread", MapBy::hwthread},
    MapName{"l3cache", MapBy::l3cache}, MapName{"l3", MapBy::l3cache},
    MapName{"block", MapBy::slot},      MapName{"cyclic", MapBy::node},  // srun's words
};

struct BindName {
  const char* name;
  BindTo value;
};
constexpr std::array kBindNames{
    BindName{"none", BindTo::none},         BindName{"core", BindTo::core},
    BindName{"hwthread", BindTo::hwthread}, BindName{"numa", BindTo::numa},
    BindName{"package", BindTo::package},   BindName{"socket", BindTo::package},
    BindName{"l3cache", BindTo::l3cache},   BindName{"l3", BindTo::l3cache},
    BindName{"cores", BindTo::core},        BindName{"threads", BindTo::hwthread},
    BindName{"sockets", BindTo::package},   BindName{"no", BindTo::none},
};

tl::unexpected<Error> unknown_word(const Given& given, const std::string& word,
                                   const std::string& known,
                                   const std::vector<std::string>& candidates) {
  const std::string near = text::nearest(word, candidates);
  return fail(Code::arg,
              given.spelling + " " + given.words[0] + ": '" + word + "' is not known; " +
                  (near.empty() ? "known are " + known : "did you mean '" + near + "'?"));
}

// "PE=2", "OVERSUBSCRIBE", ... What only describes the default is taken silently.
Result<void> modifier(Draft& draft, const Given& given, const std::string& written) {
  Placement& placement = draft.job.placement;
  const std::string word = lower(written);
  if (word.empty()) return {};
  if (word == "oversubscribe") {
    placement.oversubscribe = true;
    placement.no_oversubscribe = false;
  } else if (word == "nooversubscribe") {
    placement.no_oversubscribe = true;
    placement.oversubscribe = false;
  } else if (word == "hwtcpus") {
    placement.use_hwthreads = true;
  } else if (word == "display") {
    draft.job.display_map = true;
  } else if (word == "donotlaunch") {
    draft.job.dry_run = true;
  } else if (word.rfind("pe=", 0) == 0) {
    const auto cpus = text::parse_int(std::string_view(word).substr(3));
    if (!cpus || *cpus < 1 || *cpus > (1 << 20))
      return fail(Code::arg, given.spelling + " " + given.words[0] + ": '" + written +
                                 "' needs a whole number of at least 1 after '='");
    placement.cpus_per_rank = static_cast<int>(*cpus);
  } else if (word != "corecpus" && word != "inherit" && word != "noinherit" && word != "ordered") {
    return unknown_word(given, written, "OVERSUBSCRIBE, NOOVERSUBSCRIBE, PE=N, HWTCPUS, DISPLAY",
                        {"oversubscribe", "nooversubscribe", "pe=1", "hwtcpus", "display"});
  }
  return {};
}

Result<void> modifiers(Draft& draft, const Given& given, const std::vector<std::string>& parts,
                       std::size_t from) {
  for (std::size_t i = from; i < parts.size(); ++i)
    for (const std::string& word : text::split(parts[i], ','))
      TUTTI_DO(modifier(draft, given, word));
  return {};
}

Result<void> map_policy(Draft& draft, const Given& given, const std::string& policy) {
  std::vector<std::string> names;
  for (const MapName& row : kMapNames) {
    names.emplace_back(row.name);
    if (policy != row.name) continue;
    draft.job.placement.map_by = row.value;
    return {};
  }
  return unknown_word(given, policy,
                      "slot, node, core, hwthread, l3cache, numa, package, ppr:N:node", names);
}

// ppr:N:node, ranks per resource. For objects inside a host the number of ranks would depend on
// machines that are not known yet.
Result<void> map_ppr(Draft& draft, const Given& given, const std::vector<std::string>& parts) {
  const auto ranks = parts.size() > 2 ? text::parse_int(parts[1]) : std::nullopt;
  if (!ranks || *ranks < 1 || *ranks > (1 << 20))
    return fail(Code::arg,
                given.spelling + " " + given.words[0] + ": write ppr:N:node, N at least 1");
  const std::string object = lower(parts[2]);
  if (object != "node" && object != "host")
    return fail(Code::unsupported, given.spelling + " " + given.words[0] + ": ranks per " + object +
                                       " are not supported yet; write ppr:N:node --map-by " +
                                       object);
  draft.job.placement.ranks_per_node = static_cast<int>(*ranks);
  return modifiers(draft, given, parts, 3);
}

}  // namespace

namespace apply {

Result<void> map_by(Draft& draft, const Given& given) {
  const auto parts = text::split(given.words[0], ':');
  const std::string policy = lower(parts[0]);
  if (policy == "ppr") return map_ppr(draft, given, parts);
  // "--map-by :OVERSUBSCRIBE" keeps the policy; "core,PE=2" separates by a comma.
  const auto words = text::split(policy, ',');
  if (!words[0].empty()) TUTTI_DO(map_policy(draft, given, words[0]));
  for (std::size_t i = 1; i < words.size(); ++i) TUTTI_DO(modifier(draft, given, words[i]));
  return modifiers(draft, given, parts, 1);
}

Result<void> map_by_node(Draft& draft, const Given&) {
  draft.job.placement.map_by = MapBy::node;
  return {};
}

Result<void> map_by_slot(Draft& draft, const Given&) {
  draft.job.placement.map_by = MapBy::slot;
  return {};
}

Result<void> map_by_core(Draft& draft, const Given&) {
  draft.job.placement.map_by = MapBy::core;
  return {};
}

Result<void> rank_by(Draft& draft, const Given& given) {
  const std::string order = lower(given.words[0].substr(0, given.words[0].find(':')));
  RankBy& rank_by = draft.job.placement.rank_by;
  if (order == "slot" || order == "fill" || order == "core" || order == "hwthread")
    rank_by = RankBy::slot;
  else if (order == "node" || order == "span")
    rank_by = RankBy::node;
  else
    return unknown_word(given, order, "slot, node", {"slot", "node", "fill", "span"});
  return {};
}

Result<void> bind_to(Draft& draft, const Given& given) {
  const auto parts = text::split(given.words[0], ':');
  const std::string target = lower(parts[0]);
  std::vector<std::string> names;
  for (const BindName& row : kBindNames) {
    names.emplace_back(row.name);
    if (target == row.name) draft.job.placement.bind_to = row.value;
  }
  if (std::find(names.begin(), names.end(), target) == names.end())
    return unknown_word(given, target, "none, hwthread, core, l3cache, numa, package", names);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::string word = lower(parts[i]);
    const auto count = text::parse_int(word);
    if (count && *count >= 1 && *count <= (1 << 20))
      draft.job.placement.cpus_per_rank = static_cast<int>(*count);
    else if (word != "overload-allowed" && word != "overload" && word != "if-supported" &&
             word != "no-overload")
      return unknown_word(given, word, "overload-allowed, if-supported",
                          {"overload-allowed", "if-supported"});
  }
  return {};
}

Result<void> bind_to_core(Draft& draft, const Given&) {
  draft.job.placement.bind_to = BindTo::core;
  return {};
}

Result<void> bind_to_none(Draft& draft, const Given&) {
  draft.job.placement.bind_to = BindTo::none;
  return {};
}

Result<void> ranks_per_node(Draft& draft, const Given& given) {
  TUTTI_TRY(ranks, positive(given));
  draft.job.placement.ranks_per_node = ranks;
  return {};
}

Result<void> one_per_node(Draft& draft, const Given&) {
  draft.job.placement.ranks_per_node = 1;
  return {};
}

Result<void> cpus_per_rank(Draft& draft, const Given& given) {
  TUTTI_TRY(cpus, positive(given));
  draft.job.placement.cpus_per_rank = cpus;
  return {};
}

Result<void> use_hwthreads(Draft& draft, const Given&) {
  draft.job.placement.use_hwthreads = true;
  return {};
}

Result<void> oversubscribe(Draft& draft, const Given&) {
  draft.job.placement.oversubscribe = true;
  draft.job.placement.no_oversubscribe = false;
  return {};
}

Result<void> no_oversubscribe(Draft& draft, const Given&) {
  draft.job.placement.no_oversubscribe = true;
  draft.job.placement.oversubscribe = false;
  return {};
}

Result<void> report_bindings(Draft& draft, const Given&) {
  draft.job.report_bindings = true;
  return {};
}

}  // namespace apply
}  // namespace tutti::launch
