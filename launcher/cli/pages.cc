// Other pages of the table of options: the manual, the table of the documentation, completion.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "cli/options.h"
#include "status/status.h"

namespace tutti::launch::cli {
namespace {

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

const char* whose(const OptionRow& row) {
  return row.dialect == kTorch   ? "torchrun"
         : row.dialect == kSlurm ? "srun"
         : row.dialect == kHydra ? "mpiexec"
                                 : "";
}

const char* effect_of(const OptionRow& row) {
  switch (row.action.effect) {
    case Effect::acts:
      return "acts";
    case Effect::as_always:
      return "as always";
    case Effect::noted:
      return "accepted, noted";
    case Effect::refused:
      return "refused";
  }
  return "";
}

// The table of docs/options.md.
std::string markdown() {
  std::string page = "| option | takes | effect | meaning |\n| --- | --- | --- | --- |\n";
  for (const OptionRow& row : option_rows()) {
    std::string names;
    for (const std::string& name : names_of(row))
      names += (names.empty() ? "`" : " `") + dashed(name) + "`";
    const std::string who = whose(row);
    page += "| " + names + (who.empty() ? "" : " (" + who + ")") + " | " +
            replaced(row.words, "|", "\\|") + " | " + effect_of(row) + " | " +
            replaced(meaning_of(row), "|", "\\|") + " |\n";
  }
  return page;
}

// A list without spaces may be broken behind a comma.
std::string escaped(const std::string& text) {
  std::string out = replaced(replaced(text, "\\", "\\e"), "-", "\\-");
  out = replaced(replaced(out, ",", ",\\:"), ",\\: ", ", ");
  if (!out.empty() && (out[0] == '.' || out[0] == '\'')) out.insert(0, "\\&");
  return out;
}

std::string manual() {
  std::string page =
      ".TH PRUN 1\n.ad l\n.SH NAME\nprun, mpirun, mpiexec, torchrun \\- run programs of several "
      "processes\n"
      ".SH SYNOPSIS\n.B prun\n[options] program [arguments] [: [options] program [arguments]]...\n"
      ".SH DESCRIPTION\nStarts the ranks of a job on this machine, on hosts reached by ssh, or on "
      "virtual hosts made here, forwards what they write, and leaves nothing behind. The options "
      "of "
      "mpirun (Open MPI), mpiexec (Hydra), torchrun and srun are known; called by one of these "
      "names, that launcher's meaning counts where they disagree. Options take one or two "
      "dashes.\n";
  for (const SectionName& section : section_names()) {
    page += ".SH " + std::string(section.title) + "\n";
    for (const OptionRow& row : option_rows()) {
      if (row.section != section.section) continue;
      std::string names;
      for (const std::string& name : names_of(row))
        names += (names.empty() ? "\\fB" : ", \\fB") + escaped(dashed(name)) + "\\fR";
      page += ".TP\n" + names + (row.words[0] != 0 ? " \\fI" + escaped(row.words) + "\\fR" : "") +
              "\n" + escaped(meaning_of(row)) + "\n";
    }
  }
  page +=
      ".SH EXIT STATUS\nThat of the first rank that failed; 128 + N when signal N killed it; or\n";
  for (const status::ExitStatusRow& row : status::kExitStatuses)
    page += ".TP\n" + std::to_string(status::of(row.status)) + "\n" + escaped(row.meaning) + "\n";
  return page;
}

std::vector<std::string> all_names() {
  std::vector<std::string> all;
  for (const OptionRow& row : option_rows())
    for (const std::string& name : names_of(row)) all.push_back(dashed(name));
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::string topics() {
  std::string words = "exit all";
  for (const SectionName& section : section_names()) words += std::string(" ") + section.topic;
  return words;
}

// What completes the word after an option: a file, a folder, a host, one of a list, or nothing.
std::string kind_of(const OptionRow& row) {
  const std::string words = row.words;
  if (words == "FILE" || words == "FILES") return "file";
  if (words == "FOLDER" || words == "FOLDERS") return "folder";
  if (words == "HOSTS") return "host";
  if (words == "PAGE") return "man bash zsh fish options";
  switch (row.id) {
    case Option::map_by:
      return "slot node core hwthread l1cache l2cache l3cache numa package seq ppr: pe-list= "
             "device=gpu device=nic";
    case Option::bind_to:
      return "none hwthread core l1cache l2cache l3cache numa package";
    case Option::rank_by:
      return "slot node fill span";
    case Option::display:
      return "map allocation bindings topo";
    case Option::stdin_to:
      return "all none";
    case Option::help:
      return topics();
    case Option::launcher:
      return "ssh rsh slurm fork";
    default:
      break;
  }
  return words.empty() || words[0] == '[' ? "" : "any";
}

constexpr std::array kTools{"prun", "mpirun", "mpiexec", "torchrun"};

// The spellings of a row, with one dash and two, as a pattern of case.
std::string pattern_of(const OptionRow& row) {
  std::string names;
  for (const std::string& name : names_of(row))
    names += (names.empty() ? "" : "|") + std::string("-") + name + "|--" + name;
  return replaced(names, "?", "\\?");
}

// What bash does with the word after an option.
std::string bash_values() {
  std::string values;
  for (const OptionRow& row : option_rows()) {
    const std::string kind = kind_of(row);
    if (kind.empty()) continue;
    const std::string what = kind == "file"     ? "compgen -f"
                             : kind == "folder" ? "compgen -d"
                             : kind == "host"   ? "compgen -A hostname"
                             : kind == "any"    ? ""
                                                : "compgen -W '" + kind + "'";
    values += "    " + pattern_of(row) + ") COMPREPLY=(" +
              (what.empty() ? "" : "$(" + what + " -- \"$current\")") + "); return ;;\n";
  }
  return values;
}

// For bash --bind-to=co is three words. Skips options and their words from the line's beginning, or
// from behind the last ':'. Where a program stands there before the word that is completed, files
// follow.
std::string bash() {
  std::string skips, plain, tools;
  for (const OptionRow& row : option_rows())
    if (const int words = words_of(row); words > 0)
      skips += "      " + pattern_of(row) + ") at=$((at + " + std::to_string(words) + ")) ;;\n";
  for (const std::string& name : all_names()) plain += " " + name;
  for (const char* tool : kTools) tools += std::string(" ") + tool;
  return "# bash completion of prun; put into share/bash-completion/completions/prun\n_prun() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} at=1 i "
         "line\n"
         "  if [[ $current == = ]]; then\n    current=\n"
         "  elif [[ $before == = ]]; then\n    before=${COMP_WORDS[COMP_CWORD-2]}\n  fi\n"
         "  read -ra line <<<\"${COMP_LINE:0:COMP_POINT}\"\n"
         "  [[ ${COMP_LINE:COMP_POINT-1:1} == ' ' ]] || unset \"line[-1]\"\n"
         "  for i in \"${!line[@]}\"; do [[ ${line[i]} == : ]] && at=$((i + 1)); done\n"
         "  while [[ ${line[at]} == -?* ]]; do\n    case ${line[at]} in\n" +
         skips +
         "    esac\n    at=$((at + 1))\n  done\n"
         "  if ((at < ${#line[@]})); then\n"
         "    COMPREPLY=($(compgen -f -- \"$current\"))\n    return\n  fi\n"
         "  case $before in\n" +
         bash_values() + "  esac\n  if [[ $current == -* ]]; then\n    COMPREPLY=($(compgen -W '" +
         plain +
         "' -- \"$current\"))\n  else\n    COMPREPLY=($(compgen -c -f -- \"$current\"))\n  fi\n}\n"
         "complete -o filenames -F _prun" +
         tools + "\n";
}

std::string quoted(const std::string& text) {
  return replaced(text, "'", "'\\''");
}

std::string zsh() {
  std::string tools, rows;
  for (const char* tool : kTools) tools += std::string(" ") + tool;
  for (const OptionRow& row : option_rows()) {
    const std::string kind = kind_of(row);
    const std::string meaning =
        replaced(replaced(replaced(row.meaning, "[", "("), "]", ")"), ":", " ");
    for (const std::string& name : names_of(row)) {
      rows += " \\\n  '*" + dashed(name) + "[" + quoted(meaning) + "]";
      if (kind == "file")
        rows += ":file:_files";
      else if (kind == "folder")
        rows += ":folder:_files -/";
      else if (kind == "host")
        rows += ":host:_hosts";
      else if (kind == "any")
        rows += ":value: ";
      else if (!kind.empty())
        rows += ":value:(" + replaced(kind, ":", "\\:") + ")";
      rows += "'";
    }
  }
  return "#compdef" + tools +
         "\n# zsh completion of prun; put into a folder of $fpath as _prun\n"
         "_arguments -S" +
         rows + " \\\n  '*::program:_normal'\n";
}

std::string fish() {
  std::string page = "# fish completion of prun; put into completions/prun.fish\n";
  for (const char* tool : kTools)
    for (const OptionRow& row : option_rows()) {
      const std::string kind = kind_of(row);
      for (const std::string& name : names_of(row)) {
        page += "complete -c " + std::string(tool) + (name.size() == 1 ? " -s " : " -l ") +
                (name == "?" ? "'?'" : name) + " -d '" + replaced(row.meaning, "'", "\\'") + "'";
        if (kind == "file")
          page += " -r -F";
        else if (kind == "folder")
          page += " -x -a '(__fish_complete_directories)'";
        else if (kind == "host")
          page += " -x -a '(__fish_print_hostnames)'";
        else if (kind == "any")
          page += " -x";
        else if (!kind.empty())
          page += " -x -a '" + kind + "'";
        page += "\n";
      }
    }
  return page;
}

}  // namespace

std::string page_text(const std::string& page) {
  if (page == "options") return markdown();
  if (page == "man") return manual();
  if (page == "bash") return bash();
  if (page == "zsh") return zsh();
  return page == "fish" ? fish() : "";
}

}  // namespace tutti::launch::cli
