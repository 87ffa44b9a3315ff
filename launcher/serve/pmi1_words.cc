// Reading and writing the words of PMI version 1.
#include "serve/pmi1_words.h"

#include <cstddef>

#include "base/text.h"

namespace tutti::launch::serve {
namespace {

struct HostRun {
  int first, hosts, ranks;
  bool operator==(const HostRun&) const = default;
};

// "key=value"; a word without '=' is dropped.
void add_word(Pmi1Command& command, std::string_view word) {
  const auto equals = word.find('=');
  if (equals == std::string_view::npos) return;
  const std::string key(word.substr(0, equals));
  const std::string value(word.substr(equals + 1));
  if (key == "cmd" || key == "mcmd")
    command.name = value;
  else
    command.words[key] = value;
}

void read_line(Pmi1Command& command, std::string_view line) {
  while (!line.empty()) {
    const bool to_the_end = line.starts_with("value=") || line.starts_with("message=");
    const std::size_t space = to_the_end ? line.size() : line.find(' ');
    add_word(command, line.substr(0, space));
    if (space >= line.size()) return;
    line.remove_prefix(space + 1);
  }
}

// One block for each stretch of ranks on a host, then equal ones on neighbouring hosts together.
std::vector<HostRun> blocks_of(const std::vector<int>& host_of) {
  std::vector<HostRun> runs, blocks;
  for (const int host : host_of) {
    if (!runs.empty() && runs.back().first == host)
      ++runs.back().ranks;
    else
      runs.push_back({host, 1, 1});
  }
  for (const HostRun& run : runs) {
    const bool joins = !blocks.empty() && blocks.back().ranks == run.ranks &&
                       blocks.back().first + blocks.back().hosts == run.first;
    if (joins)
      ++blocks.back().hosts;
    else
      blocks.push_back(run);
  }
  return blocks;
}

}  // namespace

std::string Pmi1Command::word(const std::string& key) const {
  const auto found = words.find(key);
  return found == words.end() ? "" : found->second;
}

bool take_command(std::string& received, Pmi1Command* command) {
  *command = {};
  std::size_t end = received.find('\n');
  if (end == std::string::npos) return false;
  if (!received.starts_with("mcmd=")) {
    read_line(*command, std::string_view(received).substr(0, end));
    received.erase(0, end + 1);
    return true;
  }
  const std::size_t last = received.find("endcmd\n");
  if (last == std::string::npos) return false;
  for (const std::string& line : text::split(received.substr(0, last), '\n'))
    add_word(*command, line);
  received.erase(0, last + 7);
  return true;
}

std::string answer_to(const std::string& name) {
  for (const char* known : {"publish", "unpublish", "lookup"})
    if (name == std::string(known) + "_name") return std::string(known) + "_result";
  return name + "_result";
}

std::string process_mapping(const std::vector<int>& host_of) {
  std::vector<HostRun> blocks = blocks_of(host_of);
  // Dealt out in turn: the same block over and over says itself.
  bool same = true;
  for (const HostRun& block : blocks) same = same && block == blocks.front();
  if (same && !blocks.empty()) blocks.erase(blocks.begin() + 1, blocks.end());
  std::string text = "(vector";
  for (const HostRun& block : blocks)
    text += ",(" + std::to_string(block.first) + "," + std::to_string(block.hosts) + "," +
            std::to_string(block.ranks) + ")";
  return text + ")";
}

std::string join_pairs(const std::map<std::string, std::string>& pairs) {
  std::string text;
  for (const auto& [key, value] : pairs) text += key + '\0' + value + '\0';
  return text;
}

void split_pairs(std::string_view text, std::map<std::string, std::string>& pairs) {
  while (!text.empty()) {
    const std::size_t key = text.find('\0');
    const std::size_t value = key == std::string_view::npos ? key : text.find('\0', key + 1);
    if (value == std::string_view::npos) return;
    pairs[std::string(text.substr(0, key))] = text.substr(key + 1, value - key - 1);
    text.remove_prefix(value + 1);
  }
}

}  // namespace tutti::launch::serve
