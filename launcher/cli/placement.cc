// The grammar of --map-by, --rank-by and --bind-to.
//
//   --map-by  policy[:modifier[,modifier]...]      --map-by  ppr:N:object[:modifier...]
//   --bind-to target[:modifier...]                 Hydra's -bind-to core:2 is two cores
#include <algorithm>
#include <array>

#include "base/text.h"
#include "cli/options.h"

namespace tutti::launch::cli {
namespace {

struct MapName {
  const char* name;
  MapBy value;
};
constexpr std::array kMapNames{
    MapName{"slot", MapBy::slot},       MapName{"node", MapBy::node},
    MapName{"host", MapBy::node},       MapName{"machine", MapBy::node},
    MapName{"core", MapBy::core},       MapName{"numa", MapBy::numa},
    MapName{"package", MapBy::package}, MapName{"socket", MapBy::package},
    MapName{"board", MapBy::package},   MapName{"hwthread", MapBy::hwthread},
    MapName{"l3cache", MapBy::l3cache}, MapName{"l3", MapBy::l3cache},
    MapName{"l2cache", MapBy::l2cache}, MapName{"l2", MapBy::l2cache},
    MapName{"l1cache", MapBy::l1cache}, MapName{"l1", MapBy::l1cache},
    MapName{"seq", MapBy::seq},         MapName{"rankfile", MapBy::rankfile},
    MapName{"gpu", MapBy::gpu},         MapName{"nic", MapBy::nic},
    MapName{"dist", MapBy::gpu},        MapName{"block", MapBy::slot},
    MapName{"cyclic", MapBy::node},  // srun's words
    MapName{"arbitrary", MapBy::seq},   MapName{"plane", MapBy::slot},
    MapName{"sequential", MapBy::seq},  MapName{"distance", MapBy::gpu},
};

bool is_object(MapBy map_by) {
  switch (map_by) {
    case MapBy::core:
    case MapBy::hwthread:
    case MapBy::numa:
    case MapBy::package:
    case MapBy::l3cache:
    case MapBy::l2cache:
    case MapBy::l1cache:
      return true;
    default:
      return false;
  }
}

struct RankName {
  const char* name;
  RankBy value;
};
constexpr std::array kRankNames{RankName{"slot", RankBy::slot}, RankName{"node", RankBy::node},
                                RankName{"fill", RankBy::fill}, RankName{"span", RankBy::span}};

struct BindName {
  const char* name;
  BindTo value;
};
constexpr std::array kBindNames{
    BindName{"none", BindTo::none},
    BindName{"core", BindTo::core},
    BindName{"hwthread", BindTo::hwthread},
    BindName{"numa", BindTo::numa},
    BindName{"package", BindTo::package},
    BindName{"socket", BindTo::package},
    BindName{"l3cache", BindTo::l3cache},
    BindName{"l3", BindTo::l3cache},
    BindName{"l2cache", BindTo::l2cache},
    BindName{"l2", BindTo::l2cache},
    BindName{"l1cache", BindTo::l1cache},
    BindName{"l1", BindTo::l1cache},
    BindName{"cores", BindTo::core},
    BindName{"threads", BindTo::hwthread},
    BindName{"sockets", BindTo::package},
    BindName{"no", BindTo::none},
    BindName{"board", BindTo::package},
    BindName{"machine", BindTo::none},
    BindName{"rr", BindTo::core},
    BindName{"rank", BindTo::core},
    BindName{"ldoms", BindTo::numa},
    BindName{"node", BindTo::numa},
    BindName{"core-complex", BindTo::l3cache},
    BindName{"exclusive", BindTo::core},
};

tl::unexpected<Error> unknown_word(const Given& given, const std::string& word,
                                   const std::string& known,
                                   const std::vector<std::string>& candidates) {
  const std::string near = text::nearest(word, candidates);
  return fail(Code::arg,
              given.spelling + " " + given.words[0] + ": '" + word + "' is not known; " +
                  (near.empty() ? "known are " + known : "did you mean '" + near + "'?"));
}

Result<void> cpus_each(Draft& draft, const Given& given, const std::string& written) {
  constexpr int kMost = 1 << 20;
  const auto cpus = text::parse_int(std::string_view(written).substr(3));
  if (!cpus || *cpus < 1 || *cpus > kMost)
    return fail(Code::arg, given.spelling + " " + given.words[0] + ": '" + written +
                               "' needs a whole number from 1 to " + std::to_string(kMost) +
                               " after '='");
  draft.job.placement.cpus_per_rank = static_cast<int>(*cpus);
  return {};
}

// Modifiers that are a switch of the Placement.
struct Switch {
  const char* name;
  bool Placement::*on;
  bool Placement::*off;
};
constexpr std::array kSwitches{
    Switch{"oversubscribe", &Placement::oversubscribe, &Placement::no_oversubscribe},
    Switch{"nooversubscribe", &Placement::no_oversubscribe, &Placement::oversubscribe},
    Switch{"hwtcpus", &Placement::use_hwthreads, nullptr},
    Switch{"span", &Placement::span, nullptr},
    Switch{"ordered", &Placement::ordered, nullptr},
    Switch{"nolocal", &Placement::no_local, nullptr},
};

// As far as no other begins so: "OVERSUB" is enough.
constexpr std::array kModifiers{"oversubscribe", "nooversubscribe", "hwtcpus",      "corecpus",
                                "span",          "ordered",         "nolocal",      "inherit",
                                "noinherit",     "display",         "displayalloc", "displaydevel",
                                "donotlaunch"};

// "PE=2", "OVERSUBSCRIBE", ... What only describes the default is taken silently.
Result<void> modifier(Draft& draft, const Given& given, const std::string& written) {
  Placement& placement = draft.job.placement;
  const std::string whole = whole_word(written, kModifiers);
  const std::string word = whole.empty() ? text::lower(written) : whole;
  for (const Switch& row : kSwitches) {
    if (word != row.name) continue;
    placement.*row.on = true;
    if (row.off != nullptr) placement.*row.off = false;
    return {};
  }
  if (word.starts_with("pe=")) return cpus_each(draft, given, word);
  if (word.starts_with("file=")) {
    const Given file{given.spelling, {written.substr(5)}};
    return placement.map_by == MapBy::seq ? apply::hostfile(draft, file)
                                          : apply::rankfile(draft, file);
  }
  if (word == "display" || word == "displayalloc" || word == "displaydevel") {
    draft.job.display_map = true;
  } else if (word == "donotlaunch") {
    draft.job.dry_run = true;
  } else if (!word.empty() && word != "corecpus" && word != "inherit" && word != "noinherit" &&
             word != "gpu") {
    return unknown_word(
        given, written,
        "OVERSUBSCRIBE, NOOVERSUBSCRIBE, PE=N, SPAN, NOLOCAL, ORDERED, HWTCPUS, DISPLAY, FILE=F",
        {"oversubscribe", "nooversubscribe", "pe=1", "hwtcpus", "display", "span", "nolocal",
         "ordered"});
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

std::vector<const char*> beginnings(const std::vector<std::string>& names) {
  std::vector<const char*> all;
  for (const std::string& name : names) all.push_back(name.c_str());
  return all;
}

Result<MapBy> policy_of(const Given& given, const std::string& policy) {
  std::vector<std::string> names;
  for (const MapName& row : kMapNames) {
    names.emplace_back(row.name);
    if (policy == row.name) return row.value;
  }
  const std::string whole = whole_word(policy, beginnings(names));
  if (!whole.empty()) return policy_of(given, whole);
  return unknown_word(given, policy,
                      "slot, node, core, hwthread, l1cache, l2cache, l3cache, numa, package, seq, "
                      "rankfile, pe-list=LIST, device=gpu|nic|NAME, ppr:N:OBJECT",
                      names);
}

// ppr:N:object, ranks per object; the modifiers may come after a comma or a colon.
Result<void> map_ppr(Draft& draft, const Given& given, const std::vector<std::string>& parts) {
  const auto ranks = parts.size() > 2 ? text::parse_int(parts[1]) : std::nullopt;
  if (!ranks || *ranks < 1 || *ranks > (1 << 20))
    return fail(Code::arg, given.spelling + " " + given.words[0] +
                               ": write ppr:N:node (or core, numa, package...), N at least 1");
  const auto words = text::split(parts[2], ',');
  TUTTI_TRY(object, policy_of(given, text::lower(words[0])));
  if (object == MapBy::seq || object == MapBy::rankfile || object == MapBy::slot)
    return unknown_word(given, words[0], "node, package, numa, l3cache, core, hwthread", {});
  Placement& placement = draft.job.placement;
  placement.per_object = object;
  if (object == MapBy::node)
    placement.ranks_per_node = static_cast<int>(*ranks);
  else
    placement.ranks_per_object = static_cast<int>(*ranks), placement.map_by = object;
  for (std::size_t i = 1; i < words.size(); ++i) TUTTI_DO(modifier(draft, given, words[i]));
  return modifiers(draft, given, parts, 3);
}

Result<void> map_list(Draft& draft, const Given& given, const std::string& list) {
  TUTTI_DO(number_list(given, list));
  draft.job.placement.map_by = MapBy::pe_list;
  draft.job.placement.cpu_set = list;
  return {};
}

// The processors that --cpu-list names, all of them for each rank or, ":ordered", one each; or a
// list of its own, "cpu-list:0,2", one each.
Result<void> bind_to_list(Draft& draft, const Given& given, const std::vector<std::string>& parts) {
  draft.job.placement.map_by = MapBy::pe_list;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::string word = text::lower(parts[i]);
    if (word == "overload-allowed" || word == "if-supported") continue;
    draft.job.placement.ordered = true;
    if (word != "ordered") TUTTI_DO(map_list(draft, given, word));
  }
  return {};
}

// device=gpu, device=nic, device=mlx5_0, device=0000:17:00.0 (its colons were cut), dist:mlx5_0.
Result<void> map_device(Draft& draft, const Given& given, std::vector<std::string> parts) {
  std::vector<std::string> words = text::split(parts[0], ',');
  std::string name;
  std::size_t next = 1;
  if (const auto equals = words[0].find('='); equals != std::string::npos) {
    name = words[0].substr(equals + 1);
    if (name.empty())
      return fail(Code::arg, given.spelling + " device= needs gpu, nic or a device's name");
    const auto is_bus = [](const std::string& part) {
      return !part.empty() &&
             part.find_first_not_of("0123456789abcdefABCDEF.") == std::string::npos;
    };
    if (words.size() == 1 && is_bus(name))
      while (next < parts.size() && is_bus(parts[next])) name += ":" + text::lower(parts[next++]);
  } else if (words[0] != "dist" && words[0] != "DIST") {
    name = words[0];
  } else if (next < parts.size() && text::lower(parts[next]) != "span") {
    words = text::split(parts[next++], ',');
    name = words[0];
  }
  Placement& placement = draft.job.placement;
  const std::string kind = text::lower(name);
  placement.map_by = kind.empty() || kind == "gpu" || kind == "auto" ? MapBy::gpu
                     : kind == "nic"                                 ? MapBy::nic
                                                                     : MapBy::device;
  placement.device = name;
  for (std::size_t i = 1; i < words.size(); ++i) TUTTI_DO(modifier(draft, given, words[i]));
  return modifiers(draft, given, parts, next);
}

}  // namespace

namespace apply {

Result<void> map_by(Draft& draft, const Given& given) {
  const auto parts = text::split(given.words[0], ':');
  const std::string policy = text::lower(parts[0]);
  if (policy == "ppr") return map_ppr(draft, given, parts);
  if (policy.starts_with("pe-list=")) {
    TUTTI_DO(map_list(draft, given, policy.substr(8)));
    return modifiers(draft, given, parts, 1);
  }
  // "--map-by :OVERSUBSCRIBE" keeps the policy; "core,PE=2" separates by a comma.
  const auto words = text::split(parts[0], ',');
  std::string name = text::lower(words[0]);
  if (name.starts_with("device=") || name == "gpu" || name == "nic" || name == "dist")
    return map_device(draft, given, parts);
  if (name.starts_with("plane=")) name = "plane";
  if (!name.empty()) {
    TUTTI_TRY(found, policy_of(given, name));
    draft.job.placement.map_by = found;
  }
  for (std::size_t i = 1; i < words.size(); ++i) TUTTI_DO(modifier(draft, given, words[i]));
  if (draft.dialect == kSlurm || name == "block" || name == "cyclic") return {};  // "block:cyclic"
  return modifiers(draft, given, parts, 1);
}

Result<void> rank_by(Draft& draft, const Given& given) {
  const auto parts = text::split(text::lower(given.words[0]), ':');
  Placement& placement = draft.job.placement;
  placement.rank_object = MapBy::slot;
  for (const RankName& row : kRankNames) {
    if (parts[0] != row.name) continue;
    placement.rank_by = row.value;
    return {};
  }
  for (const MapName& row : kMapNames) {
    if (parts[0] != row.name || !is_object(row.value)) continue;
    placement.rank_object = row.value;
    const std::string how = parts.size() > 1 ? parts[1] : "";
    if (parts.size() > 2 || (!how.empty() && how != "span" && how != "fill"))
      return unknown_word(given, how, "span, fill", {"span", "fill"});
    placement.rank_by = how == "span"   ? RankBy::span
                        : how == "fill" ? RankBy::fill
                                        : RankBy::object;
    return {};
  }
  return unknown_word(given, parts[0], "slot, node, fill, span, and objects such as numa or core",
                      {"slot", "node", "fill", "span", "core", "numa", "package", "socket"});
}

Result<void> bind_to(Draft& draft, const Given& given) {
  auto parts = text::split(given.words[0], ':');
  std::string target = text::lower(parts[0]);
  draft.job.report_bindings |= target.starts_with('v');  // srun's verbose,TARGET
  for (const std::string talk : {"verbose,", "quiet,", "v,", "q,"})
    if ((target + ",").starts_with(talk)) target.erase(0, talk.size());
  if (target.empty() && !parts[0].empty()) return {};
  if (target == "cpu-list" || target == "cpulist") return bind_to_list(draft, given, parts);
  if ((target == "map_cpu" || target == "user") && parts.size() > 1) {
    draft.job.placement.ordered = true;
    return map_list(draft, given, parts[1]);
  }
  std::vector<std::string> names;
  for (const BindName& row : kBindNames) names.emplace_back(row.name);
  if (const std::string whole = whole_word(target, beginnings(names)); !whole.empty())
    target = whole;
  for (const BindName& row : kBindNames)
    if (target == row.name) draft.job.placement.bind_to = row.value;
  if (std::find(names.begin(), names.end(), target) == names.end())
    return unknown_word(given, target,
                        "none, hwthread, core, l1cache, l2cache, l3cache, numa, package, cpu-list",
                        names);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::string word = text::lower(parts[i]);
    const auto count = text::parse_int(word);
    if (count && *count >= 1 && *count <= (1 << 20))
      draft.job.placement.cpus_per_rank = static_cast<int>(*count);
    else if (word == "if-supported")
      draft.job.placement.bind_to_max = true;
    else if (word == "report")
      draft.job.report_bindings = true;
    else if (word != "overload-allowed" && word != "overload" && word != "no-overload")
      return unknown_word(given, word, "overload-allowed, if-supported",
                          {"overload-allowed", "if-supported"});
  }
  return {};
}

}  // namespace apply
}  // namespace tutti::launch::cli
