// Options that name files of words: programs (--app, --configfile, --multi-prog), parameters.
#include <optional>
#include <utility>

#include "base/text.h"
#include "cli/options.h"

namespace tutti::launch::cli {
namespace {

// A file of words, line by line, cut as a shell cuts them: quotes keep spaces, '#' begins a
// comment, and a '\' at the end of a line joins the next one to it.
class WordFile {
 public:
  struct Line {
    std::string where;  // "file:3", where it begins
    std::vector<std::string> words;
    std::string text;  // all of it, joined and without the comment
  };

  WordFile(std::string path, std::string text) : path_(std::move(path)), text_(std::move(text)) {}

  // The next line that has words; nothing: there is none.
  Result<std::optional<Line>> next() {
    while (at_ < text_.size()) {
      TUTTI_TRY(line, read_line());
      if (!line.words.empty()) return std::optional<Line>(std::move(line));
    }
    return std::optional<Line>();
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

  Result<Line> read_line() {
    Line line{path_ + ":" + std::to_string(number_), {}, {}};
    std::string word;
    bool open = false, is_comment = false;
    char quote = 0;
    for (; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      const char c = text_[at_];
      is_comment = is_comment || (c == '#' && quote == 0 && !open);
      if (is_comment) continue;
      if (c == '\\' && quote != '\'') {
        TUTTI_TRY(joined, join_next());
        if (joined) continue;
      }
      line.text += c;
      if (quote != 0 && c == quote) {
        quote = 0;
      } else if (quote == 0 && (c == '\'' || c == '"')) {
        quote = c;
        open = true;
      } else if (quote == 0 && is_blank(c)) {
        if (open) line.words.push_back(std::exchange(word, {}));
        open = false;
      } else {
        word += c;
        open = true;
      }
    }
    if (quote != 0) return fail(Code::arg, line.where + ": a quote is not closed");
    if (open) line.words.push_back(std::move(word));
    ++at_;
    ++number_;
    return line;
  }

  // At a '\': whether it ends its line, whose end is then passed over.
  Result<bool> join_next() {
    std::size_t end = at_ + 1;
    if (end < text_.size() && text_[end] == '\r') ++end;
    if (end < text_.size() && text_[end] != '\n') return false;
    if (end + 1 >= text_.size())
      return fail(Code::arg, path_ + ":" + std::to_string(number_) +
                                 ": ends in '\\', which joins the next line, and there is none");
    at_ = end;
    ++number_;
    return true;
  }

  const std::string path_, text_;
  std::size_t at_ = 0;
  int number_ = 1;
};

Result<void> no_parameter(const std::string& where, const std::string& what) {
  return fail(Code::arg, where + ": '" + what +
                             "' is no parameter of Open MPI's ('name = value', -mca, -x); settings "
                             "tuned for Intel MPI have no counterpart here, leave the file out");
}

Result<void> tune_line(Draft& draft, const WordFile::Line& line) {
  const std::vector<std::string>& words = line.words;
  if (!words[0].starts_with("-")) {
    const auto equals = line.text.find('=');
    if (equals == std::string::npos) return no_parameter(line.where, words[0]);
    const std::string name(text::trim(line.text.substr(0, equals)));
    const std::string value(text::trim(line.text.substr(equals + 1)));
    return apply::mca(draft, Given{name, {name, value}});
  }
  for (std::size_t i = 0; i < words.size();) {
    const bool is_export = words[i] == "-x" || words[i] == "--x";
    const std::size_t next = i + (is_export ? 2 : 3);
    if (next > words.size() || (!is_export && !words[i].ends_with("mca")))
      return no_parameter(line.where, words[i]);
    if (is_export) {
      TUTTI_DO(apply::export_variable(draft, Given{words[i], {words[i + 1]}}));
    } else {
      TUTTI_DO(apply::mca(draft, Given{words[i], {words[i + 1], words[i + 2]}}));
    }
    i = next;
  }
  return {};
}

// A file of programs as read: for each rank, which line names it, and its place among that line's.
struct Programs {
  struct Task {
    int line = -1, offset = 0;
  };
  std::vector<std::vector<std::string>> lines;
  std::vector<Task> tasks;
  std::optional<int> rest;  // the line of '*'
};

// Adds a line such as "0-3,8 ./a -x". `fixed`: the number of ranks is known already.
Result<void> add_program(Programs& all, std::vector<std::string> words, bool fixed,
                         const std::string& where) {
  if (words.size() < 2) return fail(Code::arg, where + ": no program behind " + words[0]);
  const int line = static_cast<int>(all.lines.size());
  const std::string named = words[0];
  words.erase(words.begin());
  all.lines.push_back(std::move(words));
  if (named == "*") {
    all.rest = line;
    return {};
  }
  TUTTI_TRY(ranks, number_list(Given{where, {}}, named));
  int offset = 0;
  for (const int rank : ranks) {
    const auto at = static_cast<std::size_t>(rank);
    if (at >= all.tasks.size() && fixed)
      return fail(Code::arg, where + ": rank " + std::to_string(rank) + ", but there are " +
                                 std::to_string(all.tasks.size()) + " (-n)");
    if (at >= all.tasks.size()) all.tasks.resize(at + 1);
    if (all.tasks[at].line >= 0)
      return fail(Code::arg, where + ": rank " + std::to_string(rank) + " is named a second time");
    all.tasks[at] = {line, offset++};
  }
  return {};
}

// Each rank has a line, or it is told which has none.
Result<void> fill_rest(Programs& all, const std::string& path) {
  if (all.lines.empty()) return fail(Code::arg, path + ": names no program");
  if (all.tasks.empty()) all.tasks.resize(1);
  int offset = 0;
  for (std::size_t rank = 0; rank < all.tasks.size(); ++rank) {
    if (all.tasks[rank].line >= 0) continue;
    if (!all.rest)
      return fail(Code::arg, path + ": no program for rank " + std::to_string(rank) + " of " +
                                 std::to_string(all.tasks.size()) +
                                 "; add its line, or one of '*' for all others");
    all.tasks[rank] = {*all.rest, offset++};
  }
  return {};
}

}  // namespace

// Ranks in a row that one line names are a program of the job.
Result<void> read_programs(Draft& draft) {
  const std::string path = draft.app.argv.empty() ? "" : draft.app.argv[0];
  TUTTI_TRY(file, file_of(draft, Given{"--multi-prog", {path}}));
  Programs all;
  all.tasks.resize(static_cast<std::size_t>(draft.app.ranks));
  WordFile lines(path, std::move(file));
  for (;;) {
    TUTTI_TRY(line, lines.next());
    if (!line) break;
    TUTTI_DO(add_program(all, std::move(line->words), draft.app.ranks > 0, line->where));
  }
  TUTTI_DO(fill_rest(all, path));
  const AppSpec like = std::move(draft.app);
  for (std::size_t rank = 0; rank < all.tasks.size(); ++rank) {
    const Programs::Task& task = all.tasks[rank];
    const bool goes_on = rank > 0 && all.tasks[rank - 1].line == task.line &&
                         all.tasks[rank - 1].offset + 1 == task.offset;
    if (!goes_on) {
      if (rank > 0) draft.job.apps.push_back(std::move(draft.app));
      draft.app = like;
      draft.app.ranks = 0;
      draft.app.fills_words = true;
      draft.app.first_offset = task.offset;
      draft.app.argv.clear();
      for (const std::string& word : all.lines[static_cast<std::size_t>(task.line)])
        draft.app.argv.push_back(ours_of_slurm(word));
    }
    ++draft.app.ranks;
  }
  return {};
}

Result<std::string> file_of(const Draft& draft, const Given& given) {
  if (given.words[0].empty()) return fail(Code::arg, given.spelling + " needs a file");
  if (!draft.around.read_file)
    return fail(Code::arg, given.spelling + " " + given.words[0] + ": cannot read it");
  return draft.around.read_file(given.words[0]);
}

namespace apply {

// Each line is a program with its options: ' : ' is put between them.
Result<void> app_file(Draft& draft, const Given& given) {
  constexpr int kMostFiles = 100;
  if (++draft.app_files > kMostFiles)
    return fail(Code::arg, given.words[0] + ": more than " + std::to_string(kMostFiles) +
                               " files of programs (does one name itself?)");
  TUTTI_TRY(file, file_of(draft, given));
  WordFile lines(given.words[0], std::move(file));
  for (;;) {
    TUTTI_TRY(line, lines.next());
    if (!line) break;
    const std::vector<std::string>& words = line->words;
    if (!draft.more.empty() && draft.more.back() != ":" && words.front() != ":")
      draft.more.emplace_back(":");
    draft.more.insert(draft.more.end(), words.begin(), words.end());
  }
  if (draft.more.empty()) return fail(Code::arg, given.words[0] + ": names no program");
  if (draft.more.back() == ":") draft.more.pop_back();
  return {};
}

// The file is the program's word, read when the program is known (see Parser).
Result<void> multi_prog(Draft& draft, const Given&) {
  draft.names_programs = true;
  return {};
}

// "name = value" lines, or an mpirun line's -mca NAME VALUE and -x NAME=VALUE words.
Result<void> tune(Draft& draft, const Given& given) {
  for (const std::string& path : text::split(given.words[0], ',')) {
    if (path.starts_with("-")) return no_parameter(given.spelling, path);
    TUTTI_TRY(file, file_of(draft, Given{given.spelling, {path}}));
    WordFile lines(path, std::move(file));
    for (;;) {
      TUTTI_TRY(line, lines.next());
      if (!line) break;
      TUTTI_DO(tune_line(draft, *line));
    }
  }
  return {};
}

}  // namespace apply
}  // namespace tutti::launch::cli
