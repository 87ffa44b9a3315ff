// Options about hosts, output and running, and those that are accepted for others' sake.
#include <cmath>
#include <cstdlib>

#include "base/text.h"
#include "cli/options.h"

namespace tutti::launch {

Result<int> positive(const Given& given, std::size_t word) {
  const auto value = text::parse_int(given.words[word]);
  if (!value || *value < 1 || *value > (1 << 24))
    return fail(Code::arg, given.spelling + " needs a whole number of at least 1, not '" +
                               given.words[word] + "'");
  return static_cast<int>(*value);
}

namespace apply {

Result<void> ranks(Draft& draft, const Given& given) {
  TUTTI_TRY(count, positive(given));
  draft.app.ranks = count;
  return {};
}

Result<void> host(Draft& draft, const Given& given) {
  if (given.words[0].empty())
    return fail(Code::arg, given.spelling + " needs hosts, such as a:2,b:2");
  draft.app.hosts.push_back(given.words[0]);
  return {};
}

Result<void> hostfile(Draft& draft, const Given& given) {
  if (given.words[0].empty()) return fail(Code::arg, given.spelling + " needs a file");
  draft.app.hostfiles.push_back(given.words[0]);
  return {};
}

Result<void> virtual_hosts(Draft& draft, const Given&) {
  draft.job.starter = Starter::virtual_hosts;
  return {};
}

Result<void> link_rate(Draft& draft, const Given& given) {
  draft.job.virtual_rate = given.words[0];
  return {};
}

Result<void> link_delay(Draft& draft, const Given& given) {
  draft.job.virtual_delay = given.words[0];
  return {};
}

// The agent may bring its own arguments: --launch-agent "ssh -p 2222".
Result<void> launch_agent(Draft& draft, const Given& given) {
  std::vector<std::string> words;
  for (const std::string& word : text::split(given.words[0], ' '))
    if (!word.empty()) words.push_back(word);
  if (words.empty()) return fail(Code::arg, given.spelling + " needs a command");
  draft.job.launch_agent = words[0];
  draft.job.agent_args.insert(draft.job.agent_args.end(), words.begin() + 1, words.end());
  return {};
}

Result<void> launcher(Draft& draft, const Given& given) {
  const std::string& name = given.words[0];
  if (name == "ssh") return {};
  if (name == "rsh")
    draft.job.launch_agent = "rsh";
  else if (name == "fork")
    draft.job.starter = Starter::local;
  else
    return fail(Code::unsupported,
                given.spelling + " " + name + " is not supported; known are ssh, rsh, fork");
  return {};
}

Result<void> report_links(Draft& draft, const Given&) {
  draft.job.report_links = true;
  return {};
}

Result<void> tag_output(Draft& draft, const Given&) {
  draft.job.output.tag = true;
  return {};
}

Result<void> label(Draft& draft, const Given&) {
  draft.job.output.label = true;
  return {};
}

Result<void> timestamps(Draft& draft, const Given&) {
  draft.job.output.timestamps = true;
  return {};
}

Result<void> merge_stderr(Draft& draft, const Given&) {
  draft.job.output.merge_stderr = true;
  return {};
}

Result<void> output_directory(Draft& draft, const Given& given) {
  if (given.words[0].empty()) return fail(Code::arg, given.spelling + " needs a folder");
  draft.job.output.directory = given.words[0];
  return {};
}

Result<void> output(Draft& draft, const Given& given) {
  OutputSpec& spec = draft.job.output;
  for (const std::string& word : text::split(given.words[0], ',')) {
    const auto cut = word.find_first_of("=:");
    const std::string name = word.substr(0, cut);
    const std::string value = cut == std::string::npos ? "" : word.substr(cut + 1);
    if (name == "tag" || name == "tag-detailed" || name == "tag-fullname")
      spec.tag = true;
    else if (name == "rank")
      spec.label = true;
    else if (name == "timestamp")
      spec.timestamps = true;
    else if (name == "merge-stderr-to-stdout" || name == "merge")
      spec.merge_stderr = true;
    else if ((name == "dir" || name == "directory" || name == "file") && !value.empty())
      spec.directory = value;
    else
      return fail(Code::arg,
                  given.spelling + " '" + word +
                      "' is not known; known are tag, rank, timestamp, merge, dir=FOLDER");
  }
  return {};
}

Result<void> stdin_to(Draft& draft, const Given& given) {
  std::vector<std::string> who;
  for (const std::string& word : text::split(given.words[0], ',')) {
    const auto rank = text::parse_int(word);
    const bool alone = (word == "all" || word == "none") && given.words[0] == word;
    if (!alone && (!rank || *rank < 0))
      return fail(Code::arg, given.spelling + " needs all, none or ranks such as 0,2, not '" +
                                 given.words[0] + "'");
    who.push_back(word);
  }
  draft.job.stdin_to = std::move(who);
  return {};
}

Result<void> timeout(Draft& draft, const Given& given) {
  const std::string& word = given.words[0];
  char* end = nullptr;
  const double seconds = std::strtod(word.c_str(), &end);
  const bool whole = !word.empty() && *end == '\0';
  if (!whole || !std::isfinite(seconds) || seconds <= 0 || seconds > 1e9)
    return fail(Code::arg, given.spelling + " needs seconds, not '" + word + "'");
  draft.job.timeout_s = seconds;
  return {};
}

Result<void> dry_run(Draft& draft, const Given&) {
  draft.job.dry_run = true;
  return {};
}

Result<void> display(Draft& draft, const Given& given) {
  for (const std::string& written : text::split(given.words[0], ',')) {
    const std::string word = written.substr(0, written.find_first_of(":="));
    if (word == "map" || word == "map-devel")
      draft.job.display_map = true;
    else if (word == "allocation" || word == "alloc")
      draft.job.display_allocation = true;
    else if (word == "bindings" || word == "bind")
      draft.job.report_bindings = true;
    else
      return fail(Code::arg, given.spelling + " '" + written +
                                 "' is not known; known are map, allocation, bindings");
  }
  return {};
}

Result<void> display_map(Draft& draft, const Given&) {
  draft.job.display_map = true;
  return {};
}

Result<void> display_allocation(Draft& draft, const Given&) {
  draft.job.display_allocation = true;
  return {};
}

Result<void> verbose(Draft& draft, const Given&) {
  draft.job.verbose = true;
  return {};
}

Result<void> show_help(Draft& draft, const Given& given) {
  draft.job.show = given.words.empty() ? "help" : "help=" + given.words[0];
  return {};
}

Result<void> show_version(Draft& draft, const Given&) {
  draft.job.show = "version";
  return {};
}

Result<void> show_check(Draft& draft, const Given&) {
  draft.job.show = "check";
  return {};
}

Result<void> as_always(Draft&, const Given&) {
  return {};
}

Result<void> no_effect(Draft& draft, const Given& given) {
  draft.ignored.push_back(given.spelling);
  return {};
}

Result<void> not_yet(Draft&, const Given& given) {
  return fail(Code::unsupported, given.spelling + " is not supported yet; leave it out");
}

}  // namespace apply
}  // namespace tutti::launch
