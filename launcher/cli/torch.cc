// torchrun's words, and what they make of a job: nodes that meet, python before the script.
//
// Called as torchrun the job has one rank a node unless --nproc-per-node says otherwise, and
// PET_* variables are defaults of the options of their name. Under other names any of these
// words but the plain settings (MASTER_ADDR, ROLE_NAME, ...) makes the job torchrun's kind.
#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/text.h"
#include "cli/options.h"

namespace tutti::launch::cli {
namespace {

constexpr int kMostNodes = 1 << 20;

std::string variable_of(std::string name) {
  for (char& c : name)
    c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return "PET_" + name;
}

// "0", "1", "true": what argparse's flags take from PET_*.
bool is_off(const std::string& value) {
  return value.empty() || value == "0" || value == "false" || value == "False";
}

// What torch takes for a truth value.
std::optional<bool> truth_of(const std::string& value) {
  const std::string word = text::lower(value);
  for (const char* yes : {"1", "true", "t", "yes", "y"})
    if (word == yes) return true;
  for (const char* no : {"0", "false", "f", "no", "n"})
    if (word == no) return false;
  return std::nullopt;
}

// torchrun takes its program for a script; other names only what is one and cannot run by itself.
Result<bool> goes_to_python(const Draft& draft, const AppSpec& app, const std::string& tool) {
  const TorchSpec& torch = draft.job.torch;
  const CommandLineContext& around = draft.around;
  if (app.argv.empty() || torch.no_python || !(torch.used || tool == "prun")) return false;
  if (torch.module) return true;
  const std::string& name = app.argv[0];
  const bool is_elsewhere = !name.starts_with('/') && !app.working_directory.empty();
  const std::string path = is_elsewhere ? app.working_directory + "/" + name : name;
  const bool is_here = around.is_file && around.is_file(path);
  const bool can_run = around.is_program && (around.is_program(path) || around.is_program(name));
  if (!torch.agent) return name.ends_with(".py") && !can_run && (is_here || torch.used);
  if (!is_here && can_run)
    return fail(Code::arg, "no script " + name + " here, but a program; --no-python runs it");
  return true;
}

// What a script is told its local rank by: torch 2's spelling, unless it knows the older one only.
std::string local_rank_word(const Draft& draft, const AppSpec& app, const std::string& script) {
  const bool is_elsewhere = !script.starts_with('/') && !app.working_directory.empty();
  const std::string path = is_elsewhere ? app.working_directory + "/" + script : script;
  const auto text = draft.around.read_file && draft.around.is_file && draft.around.is_file(path)
                        ? draft.around.read_file(path)
                        : Result<std::string>("");
  const bool is_older = text && text->find("--local_rank") != std::string::npos &&
                        text->find("--local-rank") == std::string::npos;
  return is_older ? "--local_rank=" : "--local-rank=";
}

}  // namespace

Result<void> read_torch_variables(Draft& draft) {
  if (!draft.around.variable) return {};
  for (const OptionRow& row : option_rows()) {
    const std::string name = names_of(row)[0].size() > 1 ? names_of(row)[0] : names_of(row).back();
    const bool taken =
        row.dialect == kTorch || row.id == Option::ranks_per_node || row.id == Option::max_restarts;
    if (!taken || name.size() < 2) continue;
    const auto value = draft.around.variable(variable_of(name));
    if (!value || value->empty()) continue;
    Given given{variable_of(name), {}};
    if (words_of(row) > 0)
      given.words.push_back(*value);
    else if (is_off(*value))
      continue;
    TUTTI_DO(row.action.apply(draft, given));
  }
  return {};
}

Result<void> finish_torch(Draft& draft, const std::string& tool) {
  TorchSpec& torch = draft.job.torch;
  for (AppSpec& app : draft.job.apps) {
    TUTTI_TRY(python, goes_to_python(draft, app, tool));
    if (python) {
      const auto name = draft.around.variable ? draft.around.variable("PYTHON_EXEC") : std::nullopt;
      std::vector<std::string> words{name.value_or("python3"), "-u"};
      if (torch.module) words.push_back("-m");
      app.argv.insert(app.argv.begin(), words.begin(), words.end());
    }
    if (!torch.pass_local_rank || app.argv.empty()) continue;
    const int at = !python ? 1 : torch.module ? 4 : 3;
    const std::string script = torch.module ? "" : app.argv[static_cast<std::size_t>(at - 1)];
    app.argv.insert(app.argv.begin() + at, local_rank_word(draft, app, script));
    app.local_rank_at = at;
  }
  if (!torch.used) return {};
  if (torch.backend == "static" && !torch.standalone && torch.node_rank >= torch.max_nodes)
    return fail(Code::arg, "--node-rank " + std::to_string(torch.node_rank) + " of at most " +
                               std::to_string(torch.max_nodes) +
                               " nodes (--nnodes): they are 0 to " +
                               std::to_string(torch.max_nodes - 1));
  if (draft.job.rank.run_id.empty()) draft.job.rank.run_id = "none";
  Placement& placement = draft.job.placement;
  if (placement.ranks_per_node == 0 && placement.per_node_word.empty() && draft.app.ranks == 0)
    placement.ranks_per_node = 1;
  draft.job.output.directory.clear();
  return {};
}

namespace apply {

Result<void> standalone(Draft& draft, const Given&) {
  draft.job.torch.used = draft.job.torch.standalone = true;
  draft.job.torch.min_nodes = draft.job.torch.max_nodes = 1;
  return {};
}

Result<void> nnodes(Draft& draft, const Given& given) {
  const auto parts = text::split(given.words[0], ':');
  const auto least = text::parse_int(parts[0]);
  const auto most = text::parse_int(parts.back());
  if (!least || !most || parts.size() > 2 || *least < 1 || *most < *least || *most > kMostNodes)
    return fail(Code::arg, given.spelling + " needs N or MIN:MAX, not '" + given.words[0] + "'");
  TorchSpec& torch = draft.job.torch;
  torch.used = true;
  torch.min_nodes = static_cast<int>(*least);
  torch.max_nodes = static_cast<int>(*most);
  return {};
}

Result<void> per_node_word(Draft& draft, const Given& given) {
  const std::string& word = given.words[0];
  if (word != "auto" && word != "cpu" && word != "gpu") {
    const auto count = text::parse_int(word);
    if (!count || *count < 1 || *count > kMostNodes)
      return fail(Code::arg,
                  given.spelling + " needs a number, auto, cpu or gpu, not '" + word + "'");
    return ranks_per_node(draft, given);
  }
  draft.job.placement.per_node_word = word;
  draft.job.placement.ranks_per_node = 0;
  return {};
}

Result<void> node_rank(Draft& draft, const Given& given) {
  const auto rank = text::parse_int(given.words[0]);
  if (!rank || *rank < 0 || *rank >= kMostNodes)
    return fail(Code::arg, given.spelling + " needs a whole number, not '" + given.words[0] + "'");
  draft.job.torch.used = true;
  draft.job.torch.node_rank = static_cast<int>(*rank);
  return {};
}

Result<void> run_id(Draft& draft, const Given& given) {
  draft.job.torch.used = true;
  draft.job.rank.run_id = given.words[0];
  return {};
}

Result<void> rendezvous_backend(Draft& draft, const Given& given) {
  const std::string& name = given.words[0];
  if (name != "static" && name != "c10d" && name != "etcd" && name != "etcd-v2")
    return fail(Code::arg,
                given.spelling + " " + name + " is not known; known are static and c10d");
  draft.job.torch.used = true;
  draft.job.torch.backend = name == "static" ? "static" : "c10d";
  if (name.starts_with("etcd")) draft.ignored.push_back(given.spelling + " " + name);
  return {};
}

Result<void> rendezvous_endpoint(Draft& draft, const Given& given) {
  if (given.words[0].empty()) return {};
  draft.job.torch.used = true;
  draft.job.torch.endpoint = given.words[0];
  return {};
}

Result<void> rendezvous_conf(Draft& draft, const Given& given) {
  draft.job.torch.used = true;
  for (const std::string& word : text::split(given.words[0], ',')) {
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (name == "rank") {
      TUTTI_DO(node_rank(draft, Given{given.spelling + " rank", {value}}));
    } else if (name == "timeout" || name == "join_timeout") {
      TUTTI_TRY(seconds, positive(Given{given.spelling + " " + name, {value}}, kMostSeconds));
      draft.job.torch.join_timeout_s = seconds;
    } else if (name == "last_call_timeout") {
      TUTTI_TRY(seconds, positive(Given{given.spelling + " " + name, {value}}, kMostSeconds));
      draft.job.torch.last_call_s = seconds;
    } else if (name == "is_host") {
      draft.job.torch.is_host = truth_of(value);
      if (!draft.job.torch.is_host)
        return fail(Code::arg, given.spelling + " is_host needs 1 or 0, not '" + value + "'");
    } else if (!name.empty()) {
      draft.ignored.push_back(given.spelling + " " + name);
    }
  }
  return {};
}

Result<void> master_port(Draft& draft, const Given& given) {
  const auto port = text::parse_int(given.words[0]);
  if (!port || *port < 0 || *port > 65535)
    return fail(Code::arg, given.spelling +
                               " needs a port, at most 65535 (0: any that is free), not '" +
                               given.words[0] + "'");
  draft.job.rank.master_port = static_cast<int>(*port);
  draft.job.torch.any_port = *port == 0;
  return {};
}

Result<void> module(Draft& draft, const Given&) {
  draft.job.torch.used = draft.job.torch.module = true;
  return {};
}

Result<void> no_python(Draft& draft, const Given&) {
  draft.job.torch.used = draft.job.torch.no_python = true;
  return {};
}

Result<void> run_path(Draft& draft, const Given&) {
  draft.job.torch.used = true;
  return {};
}

Result<void> pass_local_rank(Draft& draft, const Given&) {
  draft.job.torch.used = draft.job.torch.pass_local_rank = true;
  return {};
}

Result<void> use_environment(Draft& draft, const Given&) {
  draft.job.torch.pass_local_rank = false;
  return {};
}

}  // namespace apply
}  // namespace tutti::launch::cli
