// report.cc: one table a person can read, and JSON for programs.
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <fstream>

#include "harness.h"

namespace bench {

namespace {

std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));
std::string format(const char* pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') made += '\\';
    if (c == '\n') {
      made += "\\n";
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      made += c;
    }
  }
  return made + "\"";
}

std::string now() {
  char text[32];
  const std::time_t seconds = std::time(nullptr);
  std::tm parts;
  gmtime_r(&seconds, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string point_json(const Report& report, const Point& point) {
  const std::string figure =
      report.figure.empty() ? "" : format("\"%s\": %.4f, ", report.figure.c_str(), point.figure);
  return format(
      "    {\"bytes\": %zu, \"median_us\": %.4f, \"p5_us\": %.4f, \"p95_us\": %.4f, "
      "\"spread\": %.3f, \"bandwidth_gbs\": %.4f, %s\"iterations\": %ld, \"samples\": %zu, "
      "\"verified\": %s}",
      point.bytes, point.time.median * 1e6, point.time.p5 * 1e6, point.time.p95 * 1e6,
      point.time.spread, point.bandwidth / 1e9, figure.c_str(), point.iterations, point.samples,
      point.is_right ? "true" : "false");
}

}  // namespace

std::string table_head(const Report& report) {
  const std::string first_line = report.library.substr(0, report.library.find('\n'));
  std::string text = "# " + report.name + ", " + std::to_string(report.ranks) + " ranks, " +
                     first_line + (report.options.label.empty() ? "" : ", ") +
                     report.options.label + "\n";
  text += format("%10s %12s %12s %12s %8s %10s\n", "bytes", "median us", "p5 us", "p95 us",
                 "spread", report.figure.empty() ? "GB/s" : report.figure.c_str());
  return text;
}

std::string table_row(const Report& report, const Point& point) {
  std::string text = format("%10s %12.3f %12.3f %12.3f %7.0f%%", size_text(point.bytes).c_str(),
                            point.time.median * 1e6, point.time.p5 * 1e6, point.time.p95 * 1e6,
                            point.time.spread * 100);
  if (!report.figure.empty())
    text += format(" %10.2f", point.figure);
  else
    text += point.bandwidth > 0 ? format(" %10.3f", point.bandwidth / 1e9) : format(" %10s", "-");
  return text + (point.is_right ? "\n" : "  WRONG RESULT\n");
}

std::string json_text(const Report& report) {
  const Machine machine = this_machine();
  std::string text = "{\n";
  text += "  \"benchmark\": " + quoted(report.name) + ",\n";
  text += "  \"label\": " + quoted(report.options.label) + ",\n";
  text += "  \"time\": " + quoted(now()) + ",\n";
  text += "  \"command\": " + quoted(report.options.command) + ",\n";
  text += "  \"library\": " + quoted(report.library) + ",\n";
  text += "  \"ranks\": " + std::to_string(report.ranks) + ",\n";
  for (const auto& [key, value] : report.facts) {
    text += "  " + quoted(key) + ": " + quoted(value) + ",\n";
  }
  text += "  \"machine\": {\"processor\": " + quoted(machine.processor) +
          ", \"cores\": " + std::to_string(machine.cores) +
          ", \"memory_mib\": " + std::to_string(machine.memory_mib) +
          ", \"kernel\": " + quoted(machine.kernel) + ", \"host\": " + quoted(machine.host) +
          "},\n";
  text += "  \"results\": [\n";
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    text += point_json(report, report.points[i]) + (i + 1 < report.points.size() ? ",\n" : "\n");
  }
  return text + "  ]\n}\n";
}

bool write_file(const std::string& path, const std::string& text) {
  if (path == "-") return std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file)
    std::fprintf(stderr, "cannot write %s: check the folder and its space\n", path.c_str());
  return static_cast<bool>(file);
}

}  // namespace bench
