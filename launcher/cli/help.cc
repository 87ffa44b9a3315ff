// Help, printed from the table of options and from the table of exit statuses.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "cli/options.h"
#include "status/status.h"

namespace tutti::launch::cli {
namespace {

constexpr std::array kSections{
    SectionName{Section::ranks, "ranks", "How many ranks"},
    SectionName{Section::placement, "placement", "Where they go"},
    SectionName{Section::hosts, "hosts", "Hosts, and how to reach them"},
    SectionName{Section::environment, "environment", "Environment of the ranks"},
    SectionName{Section::output, "output", "Output"},
    SectionName{Section::running, "running", "Running"},
    SectionName{Section::torchrun, "torchrun", "torchrun's own"},
    SectionName{Section::accepted, "accepted", "Accepted for other launchers' sake"},
};

// What other launchers call these topics, and what else somebody might look for them by.
struct OtherWords {
  const char* topic;
  const char* words;
};
constexpr std::array kOtherWords{
    OtherWords{"ranks", "rank number count processes"},
    OtherWords{"placement", "mapping map ranking binding bindings bind affinity cores gpu gpus"},
    OtherWords{"hosts", "launch node ssh slurm network"},
    OtherWords{"environment", "variables"},
    OtherWords{"output", "files tags"},
    OtherWords{"running", "general run job debug debugging devel monitoring"},
    OtherWords{"torchrun", "torch elastic"},
    OtherWords{"accepted", "compatibility compat unsupported openmpi hydra mpich"},
    OtherWords{"exit", "status exit-status exitstatus exit-codes"},
    OtherWords{"all", "options topics list"},
};

constexpr const char* kUsage =
    "usage: prun [options] PROGRAM [arguments] [: [options] PROGRAM [arguments]]...\n"
    "\n"
    "  prun -np 4 ./app                          this machine\n"
    "  prun -np 4 -H a:2,b:2 ./app               two hosts, by ssh\n"
    "  prun -np 4 --hostfile FILE ./app          hosts of a file\n"
    "  prun --virtual -np 4 -H a:2,b:2 ./app     two hosts made on this machine\n"
    "  prun -np 1 ./head : -np 3 ./worker        two programs\n"
    "\n"
    "Options take one or two dashes, '-' or '_', and '=' or a space before a value.\n"
    "The options of mpirun (Open MPI), mpiexec (Hydra), torchrun and srun are known; called by\n"
    "one of these names, prun takes that launcher's meaning where they disagree.\n";

// What most command lines are made of, for the first page.
constexpr std::array kFirst{"np",      "N",     "host",          "hostfile",   "bind-to",
                            "map-by",  "x",     "oversubscribe", "tag-output", "output-directory",
                            "timeout", "stats", "dry-run",       "check",      "ps",
                            "stacks"};
constexpr std::size_t kColumn = 26;

std::string padded(std::string text) {
  if (text.size() < kColumn) text.resize(kColumn, ' ');
  return text + " ";
}

// Its first spelling and the first part of its meaning.
std::string short_text(const OptionRow& row) {
  std::string name = dashed(names_of(row).front());
  if (row.words[0] != '\0') name += (row.words[0] == '[' ? "=" : " ") + std::string(row.words);
  const std::string meaning = row.meaning;
  return "  " + padded(name) + meaning.substr(0, meaning.find(';')) + "\n";
}

std::string first_page() {
  std::string text = std::string(kUsage) + "\nOften used:\n";
  for (const char* name : kFirst)
    if (const OptionRow* row = find_option(name)) text += short_text(*row);
  text += "\nAll about one topic:\n";
  for (const SectionName& section : kSections)
    text += "  " + padded(std::string("--help=") + section.topic) + section.title + "\n";
  return text + "  " + padded("--help=exit") + "What the exit status says\n  " +
         padded("--help=OPTION") + "One option\n  " + padded("--help=all") +
         "Everything; also in the manual page\n";
}

std::string row_text(const OptionRow& row) {
  std::string line = " ";
  bool first = true;
  for (const std::string& name : names_of(row)) {
    line += (first ? " " : ", ") + dashed(name);
    if (first && row.words[0] != '\0')
      line += (row.words[0] == '[' ? "=" : " ") + std::string(row.words);
    first = false;
  }
  return line + "\n      " + meaning_of(row) + "\n";
}

std::string section_text(const SectionName& section) {
  std::string text = std::string(section.title) + " (--help=" + section.topic + "):\n";
  for (const OptionRow& row : option_rows())
    if (row.section == section.section) text += row_text(row);
  return text;
}

std::string exit_text() {
  std::string text =
      "prun ends with the status of the first rank that failed, or:\n\n"
      "  128+N  the first rank to fail was killed by signal N (139: segmentation fault)\n";
  for (const status::ExitStatusRow& row : status::kExitStatuses) {
    std::string number = std::to_string(status::of(row.status));
    number.insert(0, 5 - number.size(), ' ');
    text += number + "    " + row.meaning + "\n";
  }
  return text;
}

// The topic that this is another word for, else the word itself.
std::string topic_of(const std::string& word) {
  for (const OtherWords& row : kOtherWords)
    for (const std::string& other : text::split(row.words, ' '))
      if (word == other) return row.topic;
  return word;
}

}  // namespace

std::span<const SectionName> section_names() {
  return kSections;
}

Result<std::string> help_text(const std::string& word) {
  const std::string topic = topic_of(word);
  if (topic == "exit") return exit_text();
  if (topic.empty()) return first_page();
  std::string text;
  for (const SectionName& section : kSections) {
    if (topic == section.topic)
      return section_text(section) + "\nOther topics: --help, --help=all.\n";
    if (topic == "all") text += "\n" + section_text(section);
  }
  if (!text.empty()) return kUsage + text + "\n" + "Exit statuses: --help=exit.\n";
  const auto letters = topic.find_first_not_of('-');
  if (letters != std::string::npos)
    if (const OptionRow* row = find_option(topic.substr(letters))) return row_text(*row);
  std::vector<std::string> known{"exit", "all"};
  for (const SectionName& section : kSections) known.emplace_back(section.topic);
  for (const OptionRow& row : option_rows())
    for (const std::string& name : names_of(row)) known.push_back(name);
  const std::string near = text::nearest(topic.substr(std::min(letters, topic.size())), known);
  text = "no help on '" + topic + "'";
  if (!near.empty()) return fail(Code::arg, text + "; did you mean --help=" + near + "?");
  text += "; topics are exit, all, any option,";
  for (const SectionName& section : kSections) text += std::string(" ") + section.topic;
  return fail(Code::arg, text);
}

}  // namespace tutti::launch::cli
