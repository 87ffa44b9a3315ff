// Options about what ranks write: tags, files, filters.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "cli/options.h"

namespace tutti::launch::cli {
namespace {

using spec::OutputTag;

Result<std::string> pattern_of(const Given& given) {
  if (given.words[0].empty()) return fail(Code::arg, given.spelling + " needs a file");
  return given.words[0];
}

std::string nowhere(const std::string& pattern) {
  return pattern == "none" ? "/dev/null" : pattern;
}

Result<std::string> slurm_pattern(const Given& given) {
  TUTTI_TRY(pattern, pattern_of(given));
  return nowhere(ours_of_slurm(pattern));
}

// "3", or "0:3,1:1" by local rank.
Result<std::map<int, int>> streams_of(const Given& given) {
  std::map<int, int> streams;
  const bool one = given.words[0].find(':') == std::string::npos;
  for (const std::string& word : text::split(given.words[0], ',')) {
    const auto colon = word.find(':');
    const auto rank =
        one ? std::optional<std::int64_t>(-1) : text::parse_int(word.substr(0, colon));
    const auto what = text::parse_int(one ? word : word.substr(colon + 1));
    if (!rank || *rank < -1 || *rank > (1 << 20) || !what || *what < 0 || *what > 3)
      return fail(Code::arg, given.spelling + " needs 0 to 3, or 0:3,1:1 by local rank, not '" +
                                 given.words[0] + "'");
    streams[static_cast<int>(*rank)] = static_cast<int>(*what);
  }
  return streams;
}

// A word of Open MPI's list, in letters of either case, whole or as far as no other begins so.
constexpr std::array kWords{"tag",
                            "tag-detailed",
                            "tag-fullname",
                            "rank",
                            "json",
                            "xml",
                            "fold",
                            "timestamp",
                            "copy",
                            "nocopy",
                            "merge-stderr-to-stdout",
                            "raw",
                            "dir",
                            "directory",
                            "file",
                            "pattern"};

OutputTag tag_of(const std::string& name) {
  return name == "tag"            ? OutputTag::tag
         : name == "tag-detailed" ? OutputTag::detailed
         : name == "tag-fullname" ? OutputTag::fullname
         : name == "rank"         ? OutputTag::label
         : name == "json"         ? OutputTag::json
         : name == "xml"          ? OutputTag::xml
                                  : OutputTag::none;
}

// "tag", "dir=out". False: not known.
bool output_word(OutputSpec& spec, const std::string& word) {
  const auto cut = word.find_first_of("=:");
  const std::string name = whole_word(word.substr(0, cut), kWords);
  const std::string value = cut == std::string::npos ? "" : word.substr(cut + 1);
  const bool takes_value = name == "dir" || name == "directory" || name == "file";
  if (name.empty() || takes_value == value.empty()) return false;
  if (const OutputTag tag = tag_of(name); tag != OutputTag::none) spec.tag = tag;
  if (name == "fold") spec.fold = true;
  if (name == "timestamp") spec.timestamps = true;
  if (name == "merge-stderr-to-stdout") spec.merge_stderr = true;
  if (name == "copy" || name == "nocopy") spec.copy = name == "copy";
  if (name == "dir" || name == "directory") spec.directory = value;
  if (name == "file") spec.out_file = value + ".%r.out", spec.err_file = value + ".%r.err";
  return true;
}

// "dir=out:nocopy": what stands behind the last colons belongs to all words.
bool output_words(OutputSpec& spec, std::string word) {
  for (auto colon = word.rfind(':'); colon != std::string::npos; colon = word.rfind(':')) {
    const std::string last = text::lower(word.substr(colon + 1));
    if (last != "copy" && last != "nocopy" && last != "raw" && last != "pattern") break;
    output_word(spec, last);
    word.resize(colon);
  }
  return output_word(spec, word);
}

// The same letter of ours; empty: it is none of srun's.
std::string letter_of_slurm(char letter) {
  switch (letter) {
    case 't':
      return "r";
    case 'N':
      return "h";
    case 'A':
    case 'j':
      return "j";
    case 'J':
      return "j.0";  // with the step
    case 'n':
    case 'o':
    case '%':
      return std::string(1, letter);
    default:
      return "";
  }
}

// Open MPI's, behind the folder's last colon. False: none of them is one, so the name goes on.
Result<bool> folder_words(Draft& draft, const Given& given, const std::string& list) {
  const std::vector<std::string> words = text::split(list, ',');
  const auto is_known = [](const std::string& word) {
    return word == "copy" || word == "nocopy" || word == "jobid" || word == "nojobid";
  };
  if (std::none_of(words.begin(), words.end(), is_known)) return false;
  for (const std::string& word : words) {
    if (!is_known(word))
      return fail(Code::arg, given.spelling + " " + given.words[0] + ": '" + word +
                                 "' is not known; known are copy, nocopy, jobid, nojobid");
    const bool is_yes = !word.starts_with("no");
    (word.ends_with("copy") ? draft.job.output.copy : draft.job.output.job_folder) = is_yes;
  }
  return true;
}

}  // namespace

std::string ours_of_slurm(const std::string& pattern) {
  std::string ours;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    ours += pattern[i];
    if (pattern[i] != '%' || i + 1 == pattern.size()) continue;
    const std::size_t at = pattern.find_first_not_of("0123456789", i + 1);
    const std::string width = pattern.substr(i + 1, at == std::string::npos ? at : at - i - 1);
    const char letter = at == std::string::npos ? '\0' : pattern[at];
    const std::string mine = letter_of_slurm(letter);
    ours += mine.empty() ? "%" : width + mine;  // what is none of srun's stays as it is
    if (!mine.empty()) i = at;
  }
  return ours;
}

namespace apply {

Result<void> tag_output(Draft& draft, const Given&) {
  draft.job.output.tag = OutputTag::tag;
  return {};
}

Result<void> label(Draft& draft, const Given&) {
  draft.job.output.tag = OutputTag::label;
  return {};
}

Result<void> slurm_label(Draft& draft, const Given&) {
  draft.job.output.tag = OutputTag::pattern;
  draft.job.output.tag_pattern = "%r: ";
  return {};
}

Result<void> json(Draft& draft, const Given&) {
  draft.job.output.tag = OutputTag::json;
  return {};
}

Result<void> xml(Draft& draft, const Given&) {
  draft.job.output.tag = OutputTag::xml;
  return {};
}

Result<void> tag_pattern(Draft& draft, const Given& given) {
  draft.job.output.tag = OutputTag::pattern;
  draft.job.output.tag_pattern = given.words[0];
  return {};
}

Result<void> output_directory(Draft& draft, const Given& given) {
  const std::string& word = given.words[0];
  const auto colon = word.rfind(':');
  TUTTI_TRY(are_ours, colon == std::string::npos
                          ? false
                          : folder_words(draft, given, word.substr(colon + 1)));
  draft.job.output.directory = are_ours ? word.substr(0, colon) : word;
  if (draft.job.output.directory.empty())
    return fail(Code::arg, given.spelling + " needs a folder");
  return {};
}

// Open MPI 4's shows the lines as well, unless ":nocopy" says that it is not to.
Result<void> output_filename(Draft& draft, const Given& given) {
  draft.job.output.copy = true;
  return output_directory(draft, given);
}

Result<void> out_file(Draft& draft, const Given& given) {
  TUTTI_TRY(pattern, pattern_of(given));
  draft.job.output.out_file = std::move(pattern);
  return {};
}

Result<void> err_file(Draft& draft, const Given& given) {
  TUTTI_TRY(pattern, pattern_of(given));
  draft.job.output.err_file = std::move(pattern);
  return {};
}

// srun sends standard error along unless -e says otherwise; "none" is nowhere.
Result<void> slurm_out_file(Draft& draft, const Given& given) {
  TUTTI_TRY(pattern, slurm_pattern(given));
  if (given.words[0] == "all") return {};
  draft.job.output.out_file = std::move(pattern);
  if (draft.job.output.err_file.empty()) draft.job.output.merge_stderr = true;
  return {};
}

Result<void> slurm_err_file(Draft& draft, const Given& given) {
  TUTTI_TRY(pattern, slurm_pattern(given));
  draft.job.output.err_file = std::move(pattern);
  draft.job.output.merge_stderr = false;
  return {};
}

Result<void> only_ranks(Draft& draft, const Given& given) {
  if (given.words[0] == "all") return {};
  TUTTI_TRY(ranks, number_list(given, given.words[0]));
  draft.job.output.only_ranks = std::move(ranks);
  return {};
}

Result<void> only_local_ranks(Draft& draft, const Given& given) {
  TUTTI_TRY(ranks, number_list(given, given.words[0]));
  draft.job.output.only_local_ranks = std::move(ranks);
  return {};
}

Result<void> redirects(Draft& draft, const Given& given) {
  TUTTI_TRY(streams, streams_of(given));
  draft.job.output.redirects = std::move(streams);
  return {};
}

Result<void> tees(Draft& draft, const Given& given) {
  TUTTI_TRY(streams, streams_of(given));
  draft.job.output.tees = std::move(streams);
  return {};
}

Result<void> log_folder(Draft& draft, const Given& given) {
  TUTTI_TRY(folder, pattern_of(given));
  draft.job.torch.log_folder = std::move(folder);
  return {};
}

Result<void> output(Draft& draft, const Given& given) {
  // srun's --output is a file name; a name like those of the list is the list.
  if (draft.dialect == kSlurm || given.words[0].find('%') != std::string::npos)
    return slurm_out_file(draft, given);
  for (const std::string& word : text::split(given.words[0], ',')) {
    if (!output_words(draft.job.output, word))
      return fail(Code::arg, given.spelling + " '" + word +
                                 "' is not known; known are tag, tag-detailed, rank, timestamp, "
                                 "merge, json, xml, fold, copy, dir=FOLDER, file=NAME");
  }
  return {};
}

}  // namespace apply
}  // namespace tutti::launch::cli
