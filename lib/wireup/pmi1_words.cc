// Reading and writing the words of PMI version 1.
#include "wireup/pmi1_words.h"

#include <algorithm>
#include <cstddef>

#include "base/text.h"

namespace tutti::wireup {
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

Pmi1Command pmi1_command_of(std::string_view line) {
  Pmi1Command command;
  while (!line.empty()) {
    const bool to_the_end = line.starts_with("value=") || line.starts_with("message=");
    const std::size_t space = to_the_end ? line.size() : line.find(' ');
    add_word(command, line.substr(0, space));
    if (space >= line.size()) break;
    line.remove_prefix(space + 1);
  }
  return command;
}

bool take_pmi1_command(std::string& received, Pmi1Command* command) {
  *command = {};
  std::size_t end = received.find('\n');
  if (end == std::string::npos) return false;
  if (!received.starts_with("mcmd=")) {
    *command = pmi1_command_of(std::string_view(received).substr(0, end));
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

std::string host_in_mapping(const std::string& mapping, std::int64_t rank) {
  constexpr std::int64_t kMost = 1 << 20;
  std::string numbers;
  for (const char c : mapping) numbers += (c >= '0' && c <= '9') ? c : ' ';
  std::vector<std::int64_t> all;
  for (const std::string& one : text::split(numbers, ' '))
    if (!one.empty()) all.push_back(text::parse_int(one).value_or(kMost + 1));
  if (std::any_of(all.begin(), all.end(), [](std::int64_t one) { return one > kMost; })) return {};
  if (all.size() < 3 || all.size() % 3 != 0) return {};
  for (std::size_t i = 0, turns = 0; turns < 1'000'000; i = (i + 3) % all.size(), ++turns) {
    const std::int64_t first = all[i], hosts = all[i + 1], ranks = all[i + 2];
    if (hosts <= 0 || ranks <= 0) return {};
    if (rank < hosts * ranks) return std::to_string(first + rank / ranks);
    rank -= hosts * ranks;
  }
  return {};
}

}  // namespace tutti::wireup
