// The command line of collview.
#include "options.h"

#include <algorithm>

#include "base/text.h"

namespace tutti::collview {
namespace {

Result<coll::Count> number(const std::string& name, const std::string& text, coll::Count least) {
  const auto value = text::parse_int(text);
  if (!value || *value < least)
    return fail(Code::arg,
                name + " takes a number from " + std::to_string(least) + ", not '" + text + "'");
  return *value;
}

Result<std::vector<int>> hosts(const std::string& text, int size) {
  std::vector<int> host_of;
  const auto words = text::split(text, ',');
  for (const std::string& word : words) {
    TUTTI_TRY(value, number("--hosts", word, words.size() == 1 ? 1 : 0));
    host_of.push_back(static_cast<int>(value));
  }
  if (words.size() == 1) {
    const int each = host_of[0];
    host_of.clear();
    for (int rank = 0; rank < size; ++rank) host_of.push_back(rank / each);
  }
  if (host_of.size() != static_cast<std::size_t>(size))
    return fail(Code::arg, "--hosts names " + std::to_string(host_of.size()) + " ranks, -p says " +
                               std::to_string(size));
  return host_of;
}

Result<const coll::Algorithm*> algorithm(const std::string& collective, const std::string& name) {
  std::vector<std::string> collectives;
  std::vector<std::string> names;
  for (const auto& entry : coll::catalogue()) {
    collectives.emplace_back(coll::name_of(entry.collective));
    if (coll::name_of(entry.collective) == collective) names.emplace_back(entry.name);
    if (names.size() > 0 && coll::name_of(entry.collective) == collective && entry.name == name)
      return &entry;
  }
  const bool is_known = !names.empty();
  const std::string near =
      text::nearest(is_known ? name : collective, is_known ? names : collectives);
  return fail(Code::arg,
              (is_known ? collective + " has no algorithm '" + name + "'"
                        : "no collective '" + collective + "'") +
                  (near.empty() ? "; see collview list" : "; did you mean " + near + "?"));
}

}  // namespace

Result<Options> parse(const std::vector<std::string>& words) {
  Options options;
  std::vector<std::string> plain;
  std::string hosts_text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--markdown") {
      options.markdown = true;
      continue;
    }
    if (word.size() < 2 || word[0] != '-') {
      plain.push_back(word);
      continue;
    }
    if (i + 1 == words.size()) return fail(Code::arg, word + " needs a value");
    const std::string& value = words[++i];
    if (word == "-o") {
      options.output = value;
    } else if (word == "--hosts") {
      hosts_text = value;
    } else if (word == "-p" || word == "-n" || word == "--root" || word == "--segment" ||
               word == "--rank" || word == "--seeds") {
      TUTTI_TRY(given, number(word, value, word == "-p" || word == "--seeds" ? 1 : 0));
      if (word == "-n") options.count = given;
      if (word == "--segment") options.segment = given;
      const int small = static_cast<int>(given);
      if (word == "-p") options.size = small;
      if (word == "--root") options.root = small;
      if (word == "--rank") options.rank = small;
      if (word == "--seeds") options.seeds = small;
    } else {
      return fail(Code::arg, "unknown option " + word);
    }
  }
  const std::vector<std::string> verbs{"list", "draw", "check", "cost", "dump", "time"};
  if (plain.empty() || std::find(verbs.begin(), verbs.end(), plain[0]) == verbs.end())
    return fail(Code::arg, plain.empty() ? "what to do is missing" : "unknown verb " + plain[0]);
  options.verb = plain[0];
  if (options.verb == "list") return options;
  if (plain.size() != 3)
    return fail(Code::arg, options.verb + " takes a collective and an algorithm");
  TUTTI_TRY(entry, algorithm(plain[1], plain[2]));
  options.algorithm = entry;
  if (options.root >= options.size || options.rank >= options.size)
    return fail(Code::arg, "--root and --rank are below -p");
  if (hosts_text.empty() && entry->needs_hosts) hosts_text = "2";
  if (!hosts_text.empty()) {
    TUTTI_TRY(host_of, hosts(hosts_text, options.size));
    options.host_of = host_of;
  }
  return options;
}

}  // namespace tutti::collview
