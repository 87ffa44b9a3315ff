// Reads a plan case.
#include "read_case.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "catch.h"

using tutti::text::split;
using tutti::text::trim;

namespace {

// "machine a: rest" -> key "machine", name "a", value "rest".
struct Line {
  std::string key, name, value;
};

Line cut(const std::string& line) {
  const auto colon = line.find(": ");
  const auto end = colon == std::string::npos ? line.rfind(':') : colon;
  REQUIRE(end != std::string::npos);
  const std::string head = line.substr(0, end);
  const auto space = head.find(' ');
  Line parts;
  parts.key = head.substr(0, space);
  if (space != std::string::npos) parts.name = head.substr(space + 1);
  parts.value = std::string(trim(line.substr(end + 1)));
  return parts;
}

void apply(PlanCase& one, const Line& line, std::string*& open_file) {
  open_file = nullptr;
  if (line.key == "command") {
    for (const auto& word : split(line.value, ' '))
      if (!word.empty()) one.command.push_back(word);
  } else if (line.key == "this") {
    const auto words = split(line.value, ' ');
    REQUIRE(words.size() == 2);
    one.this_host = words[0];
    one.this_cores = std::stoi(words[1]);
  } else if (line.key == "file") {
    open_file = &one.files[line.name];
  } else if (line.key == "machine") {
    one.machines[line.name] = line.value;
  } else if (line.key == "boot") {
    one.boots[line.name] = line.value;
  } else if (line.key == "visible") {
    one.visible[line.name] = line.value;
  } else if (line.key == "quota") {
    one.quotas[line.name] = std::strtod(line.value.c_str(), nullptr);
  } else {
    FAIL("unknown line '" << line.key << "'");
  }
}

}  // namespace

PlanCase read_case(const std::string& path) {
  INFO(path);
  std::ifstream file(path);
  REQUIRE(file);
  PlanCase one;
  std::string* open_file = nullptr;
  std::string line;
  while (std::getline(file, line) && line != "---") {
    one.input += line + "\n";
    if (line.rfind("#", 0) == 0 || line.empty()) continue;
    if (line.rfind("  ", 0) == 0 && open_file != nullptr)
      *open_file += line.substr(2) + "\n";
    else
      apply(one, cut(line), open_file);
  }
  REQUIRE(line == "---");
  one.input += "---\n";
  std::ostringstream rest;
  rest << file.rdbuf();
  one.expected = rest.str();
  REQUIRE_FALSE(one.command.empty());
  return one;
}
