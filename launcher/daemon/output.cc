// Lines and tags. A line longer than 1 MiB is passed on in pieces rather than kept for ever.
#include "daemon/output.h"

#include <array>
#include <ctime>
#include <utility>

namespace tutti::launch {
namespace {

constexpr std::size_t kLongestLine = 1U << 20;

std::string time_stamp() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::tm local{};
  ::localtime_r(&now.tv_sec, &local);
  std::array<char, 40> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &local);
  const std::string millis = std::to_string(1000 + now.tv_nsec / 1'000'000).substr(1);
  return std::string(text.data(), length) + "." + millis + " ";
}

}  // namespace

LineCutter::LineCutter(const OutputPart& how, int rank, int stream) : timestamps_(how.timestamps) {
  const std::string number = std::to_string(rank);
  if (how.tag) prefix_ = "[1," + number + "]<" + (stream == 2 ? "stderr" : "stdout") + ">: ";
  if (how.label) prefix_ += "[" + number + "] ";
}

void LineCutter::add_line(std::string& out, std::string_view line) const {
  if (timestamps_) out += time_stamp();
  out.append(prefix_).append(line);
}

std::string LineCutter::feed(std::string_view bytes) {
  std::string out;
  // Untagged, a carriage return ends a line too: progress bars move.
  const std::string_view ends = tags() ? "\n" : "\n\r";
  if (!tags()) {
    const std::size_t last = bytes.find_last_of(ends);
    if (last != std::string_view::npos) {
      out = std::exchange(piece_, {});
      out.append(bytes.substr(0, last + 1));
      bytes.remove_prefix(last + 1);
    }
  } else {
    for (std::size_t end = bytes.find('\n'); end != std::string_view::npos;
         end = bytes.find('\n')) {
      piece_.append(bytes.substr(0, end + 1));
      add_line(out, piece_);
      piece_.clear();
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
  if (tags()) out += '\n';
  return out;
}

}  // namespace tutti::launch
