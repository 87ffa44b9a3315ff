// Command lines in tests are one string, cut at spaces.
#pragma once

#include <string>

#include "base/text.h"
#include "cli/cli.h"

inline std::vector<std::string> cut(const std::string& line) {
  std::vector<std::string> words;
  for (const std::string& word : tutti::text::split(line, ' '))
    if (!word.empty()) words.push_back(word);
  return words;
}

inline tutti::Result<tutti::launch::cli::JobSpec> parse(const std::string& line) {
  return tutti::launch::cli::parse_command_line(cut(line));
}

inline std::string error_of(const std::string& line) {
  const auto job = parse(line);
  return job ? "no error" : job.error().text;
}
