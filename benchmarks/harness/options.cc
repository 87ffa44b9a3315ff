// options.cc: the command line that all benchmarks share.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "harness.h"

namespace bench {

namespace {

const char* const kUsage =
    "  --sizes A:B[:F]   from A to B bytes, each F times the one before (8:64M:2)\n"
    "  --min-time S      seconds of measurement per size (0.2)\n"
    "  --quick           fewer sizes, less time per size\n"
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

bool parse_sizes(const char* text, Options& options) {
  const char* rest = text;
  options.smallest = options.largest = parse_size(rest, &rest);
  if (*rest == ':') options.largest = parse_size(rest + 1, &rest);
  if (*rest == ':') options.factor = parse_size(rest + 1, &rest);
  return *rest == '\0' && options.smallest > 0 && options.largest >= options.smallest &&
         options.factor > 1;
}

bool take(const std::string& name, const char* value, Options& options) {
  if (name == "--sizes") return parse_sizes(value, options);
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

bool parse(int argc, char** argv, Options& options, bool is_loud) {
  for (int i = 0; i < argc; ++i) options.command += (i == 0 ? "" : " ") + std::string(argv[i]);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--quick") {
      options.is_quick = true;
      options.factor = 4;
      options.min_time = 0.03;
      continue;
    }
    if (i + 1 < argc && take(argument, argv[i + 1], options)) {
      ++i;
      continue;
    }
    if (is_loud) {
      std::fprintf(stderr, "%s: cannot use '%s'\nusage: %s [options]\n%s", argv[0], argv[i],
                   argv[0], kUsage);
    }
    return false;
  }
  return true;
}

std::vector<std::size_t> sizes_of(const Options& options) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = options.smallest; size < options.largest; size *= options.factor) {
    sizes.push_back(size);
  }
  sizes.push_back(options.largest);
  return sizes;
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
