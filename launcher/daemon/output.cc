// Lines and tags. Untagged, every byte passes as it was written. A line longer than 1 MiB is
// passed on in pieces rather than kept for ever: as it comes without tags, else as several lines.
// Untagged it is kept in parts, so that it is never in memory twice.
#include "daemon/output.h"

#include <array>
#include <cstdio>
#include <ctime>
#include <utility>

namespace tutti::launch::daemon {
namespace {

using spec::OutputTag;

constexpr std::size_t kLongestLine = 1U << 20;
constexpr std::size_t kPartBytes = 64U << 10;
constexpr const char* kReplacement = "\xef\xbf\xbd";
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
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (first >= 0xf5 || length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // Longer than needed, a half of a pair, or beyond the last character.
  const bool wrong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) ||
                     (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f);
  return wrong ? 0 : length;
}

// A JSON string: what is no UTF-8 becomes the replacement character.
void add_json_text(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (length == 0) {
      out += kReplacement;
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

// XML text: what XML has no way to say, and what is no UTF-8, becomes the replacement character.
void add_xml_text(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '\r')
      out += "&#13;";
    else if (length == 0 || (static_cast<unsigned char>(c) < 0x20 && c != '\t'))
      out += kReplacement;
    else
      out.append(text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

std::string prefix_of(const control::OutputPart& how, const OutputOwner& writer,
                      const std::string& stream) {
  const std::string rank = std::to_string(writer.rank);
  switch (static_cast<OutputTag>(how.tag)) {
    case OutputTag::tag:
      return "[1," + rank + "]<" + stream + ">: ";
    case OutputTag::label:
      return "[" + rank + "] ";
    case OutputTag::detailed:
      return "[1," + rank + "][" + writer.host_name + "]<" + stream + ">: ";
    case OutputTag::fullname:
      return "[" + std::to_string(writer.job_id) + "," + rank + "]<" + stream + ">: ";
    case OutputTag::pattern:
      return fill_pattern(how.tag_pattern, writer);
    case OutputTag::xml:
      return "<" + stream + " rank=\"" + rank + "\">";
    case OutputTag::json: {
      std::string open = "{\"rank\":" + rank + ",\"host\":\"";
      add_json_text(open, writer.host_name);
      return open + "\",\"stream\":\"" + stream + "\",\"time\":\"";
    }
    case OutputTag::none:
      break;
  }
  return "";
}

}  // namespace

std::string fill_pattern(const std::string& pattern, const OutputOwner& writer) {
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
    else if (letter == 'o' && writer.offset >= 0)
      value = std::to_string(writer.offset);
    else
      value = letter == '%' ? "%" : std::string("%") + letter;
    if (value.size() < width) value.insert(0, width - value.size(), '0');
    out += value;
  }
  return out;
}

LineCutter::LineCutter(const control::OutputPart& how, const OutputOwner& writer, int stream)
    : timestamps_(how.timestamps) {
  const std::string name = stream == 2 ? "stderr" : "stdout";
  const OutputTag tag = static_cast<OutputTag>(how.tag);
  prefix_ = prefix_of(how, writer, name);
  if (tag == OutputTag::json)
    kind_ = Kind::json;
  else if (tag == OutputTag::xml)
    kind_ = Kind::xml, suffix_ = "</" + name + ">\n";
  else if (!prefix_.empty() || timestamps_)
    kind_ = Kind::prefix;
  if (how.color && kind_ == Kind::prefix && !prefix_.empty()) {
    const char* color =
        stream == 2 ? "\033[31m" : kColors[static_cast<std::size_t>(writer.rank) % kColors.size()];
    prefix_ = color + prefix_ + "\033[0m";
  }
}

// A line, or what there is of it, in a tagged form.
void LineCutter::add_line(std::string& out, std::string_view line) const {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (kind_ == Kind::json) {
    out.append(prefix_).append(time_stamp()).append("\",\"line\":\"");
    add_json_text(out, line);
    out.append("\"}\n");
    return;
  }
  // XML's stamp stands inside its element.
  if (kind_ == Kind::xml) out.append(prefix_);
  if (timestamps_) out.append(time_stamp()).append(" ");
  if (kind_ == Kind::xml) {
    add_xml_text(out, line);
    out.append(suffix_);
  } else {
    out.append(prefix_).append(line).append("\n");
  }
}

Parts LineCutter::feed(std::string_view bytes) {
  if (!tags()) return feed_plain(bytes);
  std::string lines = feed_tagged(bytes);
  Parts out;
  if (!lines.empty()) out.push_back(std::move(lines));
  return out;
}

// Untagged, a carriage return ends a line too: progress bars move.
Parts LineCutter::feed_plain(std::string_view bytes) {
  Parts out;
  const std::size_t last = bytes.find_last_of("\n\r");
  if (last != std::string_view::npos) {
    hold(bytes.substr(0, last + 1));
    out = flush();
    bytes.remove_prefix(last + 1);
    passes_ = false;
  }
  hold(bytes);
  // A line that was too long to be kept whole goes on as it comes.
  passes_ = passes_ || held_bytes_ > kLongestLine;
  if (passes_ && !held_.empty())
    for (std::string& part : flush()) out.push_back(std::move(part));
  return out;
}

void LineCutter::hold(std::string_view bytes) {
  if (bytes.empty()) return;
  held_bytes_ += bytes.size();
  if (held_.empty() || held_.back().size() + bytes.size() > kPartBytes)
    held_.emplace_back(bytes);
  else
    held_.back().append(bytes);
}

std::string LineCutter::feed_tagged(std::string_view bytes) {
  std::string out;
  for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    if (piece_.empty()) {
      add_line(out, bytes.substr(0, end + 1));
    } else {
      piece_.append(bytes.substr(0, end + 1));
      add_line(out, std::exchange(piece_, {}));
    }
    bytes.remove_prefix(end + 1);
  }
  piece_.append(bytes);
  while (piece_.size() > kLongestLine) {
    std::size_t cut = kLongestLine;
    // Not inside a character.
    for (int i = 0; i < 3 && (static_cast<unsigned char>(piece_[cut]) & 0xc0) == 0x80; ++i) --cut;
    add_line(out, std::string_view(piece_).substr(0, cut));
    piece_.erase(0, cut);
  }
  return out;
}

Parts LineCutter::flush() {
  if (!tags()) {
    held_bytes_ = 0;
    return std::exchange(held_, {});
  }
  Parts out;
  if (!piece_.empty()) add_line(out.emplace_back(), std::exchange(piece_, {}));
  return out;
}

}  // namespace tutti::launch::daemon
