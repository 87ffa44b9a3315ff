// options.cc: the command line that all benchmarks share.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "harness.h"

namespace bench {

namespace {

const char* const kUsage =
    "  --min-time S      seconds of measurement per size (0.2)\n"
    "  --quick           fewer sizes, less time per size\n"
    "  --cold            write all buffers anew before each call\n"
    "  --json FILE       also write a report for programs (-: to standard output)\n"
    "  --label TEXT      what is special about this run\n";

// "64K" -> 65536; 0 when it is no size.
std::size_t parse_size(const char* text, const char** rest) {
  char* end = nullptr;
  std::size_t size = std::strtoull(text, &end, 10);
  if (end == text) return 0;
  const char* const units = "KMG";
  if (const char* unit = *end != '\0' ? std::strchr(units, *end) : nullptr) {
    size <<= 10 * (unit - units + 1);
    ++end;
  }
  *rest = end;
  return size;
}

// One of "A", "A:B" and "A:B:F", and where it ends; false when it is none of them.
bool parse_range(const char** text, std::size_t factor, std::vector<std::size_t>& sizes) {
  const char* rest = *text;
  const std::size_t smallest = parse_size(rest, &rest);
  std::size_t largest = smallest;
  if (*rest == ':') largest = parse_size(rest + 1, &rest);
  if (*rest == ':') factor = parse_size(rest + 1, &rest);
  if (smallest == 0 || largest < smallest || factor < 2) return false;
  for (std::size_t size = smallest; size < largest; size *= factor) sizes.push_back(size);
  sizes.push_back(largest);
  *text = rest;
  return true;
}

bool parse_sizes(const char* text, std::size_t factor, std::vector<std::size_t>& sizes) {
  while (parse_range(&text, factor, sizes)) {
    if (*text == '\0') return true;
    if (*text++ != ',') return false;
  }
  return false;
}

bool take(const std::string& name, const char* value, Options& options, std::string& sizes) {
  if (name == "--sizes") {
    sizes = value;
    return true;
  }
  if (name == "--json") {
    options.json = value;
    return true;
  }
  if (name == "--label") {
    options.label = value;
    return true;
  }
  if (name == "--min-time") {
    options.min_time = std::atof(value);
    return options.min_time > 0;
  }
  return false;
}

}  // namespace

bool parse(int argc, char** argv, Options& options, std::string sizes, bool is_loud) {
  const std::string defaults = sizes;
  const char* wrong = nullptr;
  for (int i = 0; i < argc; ++i) options.command += (i == 0 ? "" : " ") + std::string(argv[i]);
  for (int i = 1; i < argc && wrong == nullptr; ++i) {
    const std::string argument = argv[i];
    if (argument == "--cold") {
      options.is_cold = true;
    } else if (argument == "--quick") {
      options.is_quick = true;
      options.min_time = 0.03;
    } else if (i + 1 < argc && take(argument, argv[i + 1], options, sizes)) {
      ++i;
    } else {
      wrong = argv[i];
    }
  }
  if (wrong == nullptr && !parse_sizes(sizes.c_str(), options.is_quick ? 4 : 2, options.sizes)) {
    wrong = sizes.c_str();
  }
  if (wrong == nullptr) return true;
  if (is_loud) {
    std::fprintf(stderr,
                 "%s: cannot use '%s'\nusage: %s [options]\n"
                 "  --sizes A:B[:F]   from A to B bytes, each F (2) times the one before;\n"
                 "                    several of these, or single sizes, with commas (%s)\n%s",
                 argv[0], wrong, argv[0], defaults.c_str(), kUsage);
  }
  return false;
}

std::string size_text(std::size_t bytes) {
  const char* unit = "";
  for (const char* larger : {"K", "M", "G"}) {
    if (bytes < 1024 || bytes % 1024 != 0) break;
    bytes /= 1024;
    unit = larger;
  }
  return std::to_string(bytes) + unit;
}

}  // namespace bench
