// Lines and tags. A line longer than 1 MiB is passed on in pieces rather than kept for ever.
#include "daemon/output.h"

#include <array>
#include <cstdio>
#include <ctime>
#include <utility>

namespace tutti::launch::daemon {
namespace {

using Tag = control::OutputPart::Tag;

constexpr std::size_t kLongestLine = 1U << 20;
// Red is for standard error.
constexpr std::array kColors{"\033[32m", "\033[33m", "\033[34m", "\033[35m", "\033[36m"};

std::string time_stamp() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::tm local{};
  ::localtime_r(&now.tv_sec, &local);
  std::array<char, 40> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &local);
  const std::string millis = std::to_string(1000 + now.tv_nsec / 1'000'000).substr(1);
  return std::string(text.data(), length) + "." + millis;
}

// Length of the UTF-8 sequence at the front; 0: it is none.
std::size_t utf8_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  return length;
}

// A JSON string: what is no UTF-8 becomes the replacement character.
void add_json_text(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
      out += code.data();
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

void add_xml_text(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (static_cast<unsigned char>(c) >= 0x20 || c == '\t')
      out += c;
  }
}

std::string prefix_of(const control::OutputPart& how, const Writer& writer,
                      const std::string& stream) {
  const std::string rank = std::to_string(writer.rank);
  switch (static_cast<Tag>(how.tag)) {
    case Tag::tag:
      return "[1," + rank + "]<" + stream + ">: ";
    case Tag::label:
      return "[" + rank + "] ";
    case Tag::detailed:
      return "[1," + rank + "][" + writer.host_name + "]<" + stream + ">: ";
    case Tag::fullname:
      return "[" + std::to_string(writer.job_id) + "," + rank + "]<" + stream + ">: ";
    case Tag::pattern:
      return fill_pattern(how.tag_pattern, writer);
    case Tag::xml:
      return "<" + stream + " rank=\"" + rank + "\">";
    case Tag::json: {
      std::string open = "{\"rank\":" + rank + ",\"host\":\"";
      add_json_text(open, writer.host_name);
      return open + "\",\"stream\":\"" + stream + "\",\"time\":\"";
    }
    case Tag::none:
      break;
  }
  return "";
}

}  // namespace

std::string fill_pattern(const std::string& pattern, const Writer& writer) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      out += pattern[i];
      continue;
    }
    std::size_t width = 0;
    while (i + 2 < pattern.size() && pattern[i + 1] >= '0' && pattern[i + 1] <= '9' && width < 10)
      width = width * 10 + static_cast<std::size_t>(pattern[++i] - '0');
    const char letter = pattern[++i];
    std::string value;
    if (letter == 'r')
      value = std::to_string(writer.rank);
    else if (letter == 'l')
      value = std::to_string(writer.local_rank);
    else if (letter == 'n')
      value = std::to_string(writer.host);
    else if (letter == 'h')
      value = writer.host_name;
    else if (letter == 'j')
      value = std::to_string(writer.job_id);
    else
      value = letter == '%' ? "%" : std::string("%") + letter;
    if (value.size() < width) value.insert(0, width - value.size(), '0');
    out += value;
  }
  return out;
}

LineCutter::LineCutter(const control::OutputPart& how, const Writer& writer, int stream)
    : timestamps_(how.timestamps) {
  const std::string name = stream == 2 ? "stderr" : "stdout";
  const Tag tag = static_cast<Tag>(how.tag);
  prefix_ = prefix_of(how, writer, name);
  if (tag == Tag::json)
    kind_ = Kind::json;
  else if (tag == Tag::xml)
    kind_ = Kind::xml, suffix_ = "</" + name + ">\n";
  else if (!prefix_.empty() || timestamps_)
    kind_ = Kind::prefix;
  if (how.color && kind_ == Kind::prefix && !prefix_.empty()) {
    const char* color =
        stream == 2 ? "\033[31m" : kColors[static_cast<std::size_t>(writer.rank) % kColors.size()];
    prefix_ = color + prefix_ + "\033[0m";
  }
}

void LineCutter::add_line(std::string& out, std::string_view line) const {
  if (kind_ == Kind::prefix) {
    if (timestamps_) out.append(time_stamp()).append(" ");
    out.append(prefix_).append(line);
    return;
  }
  if (line.ends_with('\n')) line.remove_suffix(1);
  out.append(prefix_);
  if (kind_ == Kind::json) {
    out.append(time_stamp()).append("\",\"line\":\"");
    add_json_text(out, line);
    out.append("\"}\n");
    return;
  }
  if (timestamps_) out.append(time_stamp()).append(" ");
  add_xml_text(out, line);
  out.append(suffix_);
}

std::string LineCutter::feed(std::string_view bytes) {
  std::string out;
  // Untagged, a carriage return ends a line too: progress bars move.
  if (!tags()) {
    const std::size_t last = bytes.find_last_of("\n\r");
    if (last != std::string_view::npos) {
      out = std::exchange(piece_, {});
      out.append(bytes.substr(0, last + 1));
      bytes.remove_prefix(last + 1);
    }
  } else {
    for (std::size_t end = bytes.find('\n'); end != std::string_view::npos;
         end = bytes.find('\n')) {
      if (piece_.empty()) {
        add_line(out, bytes.substr(0, end + 1));
      } else {
        piece_.append(bytes.substr(0, end + 1));
        add_line(out, piece_);
        piece_.clear();
      }
      bytes.remove_prefix(end + 1);
    }
  }
  piece_.append(bytes);
  if (piece_.size() > kLongestLine) out += flush();
  return out;
}

std::string LineCutter::flush() {
  if (piece_.empty()) return {};
  std::string out;
  add_line(out, piece_);
  piece_.clear();
  if (kind_ == Kind::prefix) out += '\n';
  return out;
}

}  // namespace tutti::launch::daemon
