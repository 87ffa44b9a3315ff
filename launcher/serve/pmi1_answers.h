// What the server of PMI version 1 answers, and what hosts tell each other of puts: pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tutti::launch::serve {

// The name by which a command is answered: "spawn" by "spawn_result".
std::string answer_to(const std::string& name);

// Pairs of keys and values in one text, and back.
std::string join_pairs(const std::map<std::string, std::string>& pairs);
void split_pairs(std::string_view text, std::map<std::string, std::string>& pairs);

}  // namespace tutti::launch::serve
