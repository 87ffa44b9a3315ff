#include "prun/answers.h"

#include <climits>

#include "base/printable.h"
#include "base/text.h"
#include "hosts/hosts.h"

namespace tutti::launch::prun {
namespace {

std::vector<std::string> words_of(const std::string& answer) {
  return text::split(std::string(text::trim(answer)), '\t');
}

// A host's name as a user could have typed it; not an option, and nothing that a shell would act
// on.
bool could_be_typed(const std::string& word) {
  const auto read = hosts::parse_dash_host({word});
  return read && read->hosts.size() == 1 && read->hosts[0].name == word;
}

}  // namespace

std::optional<std::vector<std::string>> columns_of(const std::string& answer) {
  auto columns = words_of(answer);
  if (columns.size() != kJobColumns) return std::nullopt;
  for (std::string& column : columns) column = text::printable(column);
  return columns;
}

std::string shown(const std::string& answer) {
  return text::printable(answer, "\n\t");
}

// "at TAB pid TAB host TAB here or there", or "error TAB why".
Result<ProcessPlace> place_in(const std::string& answer) {
  const auto words = words_of(answer);
  if (words.size() == 2 && words[0] == "error") return fail(Code::arg, text::printable(words[1]));
  const auto senseless = [] { return fail(Code::intern, ""); };
  if (words.size() != 4 || words[0] != "at") return senseless();
  const auto pid = text::parse_int(words[1]);
  const bool is_here = words[3] == "here";
  if (!pid || *pid <= 1 || *pid > INT_MAX ||
      (!is_here && (words[3] != "there" || !could_be_typed(words[2]))))
    return senseless();
  return ProcessPlace{static_cast<int>(*pid), words[2], is_here};
}

}  // namespace tutti::launch::prun
