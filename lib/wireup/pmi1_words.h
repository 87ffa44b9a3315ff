// The words of PMI version 1, as values: pure. Read by the client (pmi_client.cc) and by prun's
// server for programs of other MPIs (launcher/serve).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::wireup {

struct Pmi1Command {
  std::string name;
  std::map<std::string, std::string> words;
  // Empty when it is not there.
  std::string word(const std::string& key) const;
};

// "cmd=NAME key=value ...". The last value of a put, or of its answer, runs to the end of the line.
Pmi1Command pmi1_command_of(std::string_view line);
// Takes one whole command off the front; false: there is none yet. A command is such a line, or
// lines from "mcmd=NAME" to "endcmd".
bool take_pmi1_command(std::string& received, Pmi1Command* command);

// Who shares a host, in the form of PMI_process_mapping: "(vector,(0,2,4))" says that from host 0
// on two hosts have four ranks each; blocks repeat until all ranks are placed.
std::string process_mapping(const std::vector<int>& host_of);
// The number of a rank's host in it. Empty: no job has such numbers.
std::string host_in_mapping(const std::string& mapping, std::int64_t rank);

}  // namespace tutti::wireup
