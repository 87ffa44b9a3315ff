// The table of options, and what its rows act on. Inside the room only.
//
// A row is a flag: its spellings (first is the one help shows), the words it takes, its
// section, what it means, its default, and the function that applies it to the draft. The
// parser, help and the nearest-name search all work from this one table.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/cli.h"

namespace tutti::launch {

// The command line as far as it has been read.
struct Draft {
  JobSpec job;
  AppSpec app;                    // the one whose options are being read
  std::vector<EnvChange> shared;  // -genv, and -x of the first program: for every program
  std::string shared_directory;
  std::vector<std::string> ignored;  // options without effect, as written
  std::vector<std::string> ignored_mca;
};

// An option as found: its spelling as the user wrote it and its words.
struct Given {
  std::string spelling;
  std::vector<std::string> words;
};

using Apply = Result<void> (*)(Draft& draft, const Given& given);

enum class Section { ranks, placement, hosts, environment, output, running, accepted };

struct OptionRow {
  const char* names;  // "np n c": separated by spaces, without dashes, '-' for '_'
  const char* words;  // "N", "NAME VALUE", "" for none, "[TOPIC]" for one after '=' only
  Section section;
  const char* meaning;
  const char* fallback;  // default as help shows it; "" for none
  Apply apply;
};

std::span<const OptionRow> option_rows();
std::vector<std::string> names_of(const OptionRow& row);
int words_of(const OptionRow& row);  // how many it takes; optional ones do not count
// `name` without dashes; '_' counts as '-'. nullptr: no such option.
const OptionRow* find_option(std::string name);
// "--np" and "-n": with the dashes help shows.
std::string dashed(const std::string& name);

// Shared by the functions that apply: a whole number of at least 1, or an error naming both.
Result<int> positive(const Given& given, std::size_t word = 0);

// The functions of the table, by file.
namespace apply {
// placement.cc
Result<void> map_by(Draft& draft, const Given& given);
Result<void> map_by_node(Draft& draft, const Given& given);
Result<void> map_by_slot(Draft& draft, const Given& given);
Result<void> map_by_core(Draft& draft, const Given& given);
Result<void> rank_by(Draft& draft, const Given& given);
Result<void> bind_to(Draft& draft, const Given& given);
Result<void> bind_to_core(Draft& draft, const Given& given);
Result<void> bind_to_none(Draft& draft, const Given& given);
Result<void> ranks_per_node(Draft& draft, const Given& given);
Result<void> one_per_node(Draft& draft, const Given& given);
Result<void> cpus_per_rank(Draft& draft, const Given& given);
Result<void> use_hwthreads(Draft& draft, const Given& given);
Result<void> oversubscribe(Draft& draft, const Given& given);
Result<void> no_oversubscribe(Draft& draft, const Given& given);
Result<void> report_bindings(Draft& draft, const Given& given);
// environment.cc
Result<void> export_variable(Draft& draft, const Given& given);
Result<void> set_variable(Draft& draft, const Given& given);
Result<void> list_variables(Draft& draft, const Given& given);
Result<void> set_shared_variable(Draft& draft, const Given& given);
Result<void> list_shared_variables(Draft& draft, const Given& given);
Result<void> unset_variable(Draft& draft, const Given& given);
Result<void> export_list(Draft& draft, const Given& given);
Result<void> working_directory(Draft& draft, const Given& given);
Result<void> shared_working_directory(Draft& draft, const Given& given);
// mca.cc
Result<void> mca(Draft& draft, const Given& given);
// settings.cc
Result<void> ranks(Draft& draft, const Given& given);
Result<void> host(Draft& draft, const Given& given);
Result<void> hostfile(Draft& draft, const Given& given);
Result<void> virtual_hosts(Draft& draft, const Given& given);
Result<void> link_rate(Draft& draft, const Given& given);
Result<void> link_delay(Draft& draft, const Given& given);
Result<void> launch_agent(Draft& draft, const Given& given);
Result<void> launcher(Draft& draft, const Given& given);
Result<void> report_links(Draft& draft, const Given& given);
Result<void> tag_output(Draft& draft, const Given& given);
Result<void> label(Draft& draft, const Given& given);
Result<void> timestamps(Draft& draft, const Given& given);
Result<void> merge_stderr(Draft& draft, const Given& given);
Result<void> output_directory(Draft& draft, const Given& given);
Result<void> output(Draft& draft, const Given& given);
Result<void> stdin_to(Draft& draft, const Given& given);
Result<void> timeout(Draft& draft, const Given& given);
Result<void> dry_run(Draft& draft, const Given& given);
Result<void> display(Draft& draft, const Given& given);
Result<void> display_map(Draft& draft, const Given& given);
Result<void> display_allocation(Draft& draft, const Given& given);
Result<void> verbose(Draft& draft, const Given& given);
Result<void> show_help(Draft& draft, const Given& given);
Result<void> show_version(Draft& draft, const Given& given);
Result<void> show_check(Draft& draft, const Given& given);
Result<void> as_always(Draft& draft, const Given& given);  // what prun does anyway: no note
Result<void> no_effect(Draft& draft, const Given& given);  // accepted, noted once
Result<void> not_yet(Draft& draft, const Given& given);    // would change the job: an error
}  // namespace apply

}  // namespace tutti::launch
