// The words of PMI version 1, as values: pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::launch::serve {

struct Pmi1Command {
  std::string name;
  std::map<std::string, std::string> words;
  // Empty when it is not there.
  std::string word(const std::string& key) const;
};

// Takes one whole command off the front; false: there is none yet. A command is a line
// "cmd=NAME key=value ...", or lines from "mcmd=NAME" to "endcmd". The last value of a put runs
// to the end of its line.
bool take_command(std::string& received, Pmi1Command* command);
// The name by which a command is answered: "spawn" by "spawn_result".
std::string answer_to(const std::string& name);

// Who shares a host, in the form of PMI_process_mapping: "(vector,(0,2,4))" says that from host 0
// on two hosts have four ranks each; blocks repeat until all ranks are placed.
std::string process_mapping(const std::vector<int>& host_of);

// Pairs of keys and values in one text, and back.
std::string join_pairs(const std::map<std::string, std::string>& pairs);
void split_pairs(std::string_view text, std::map<std::string, std::string>& pairs);

}  // namespace tutti::launch::serve
