// Folding equal lines.
#include "job/fold.h"

#include <algorithm>

#include "base/numbers.h"

namespace tutti::launch::job {
namespace {

// Ranks that drift apart do not make a search of everything that was ever said.
constexpr std::size_t kMostWaiting = 1024;

}  // namespace

void LineFolder::add(int rank, int stream, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    add_line(rank, stream, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void LineFolder::add_line(int rank, int stream, std::string_view line) {
  std::size_t number = std::max(behind_[rank], taken_);
  for (; number < taken_ + waiting_.size(); ++number) {
    Entry& entry = waiting_[number - taken_];
    if (entry.stream == stream && entry.text == line) break;
  }
  if (number == taken_ + waiting_.size()) waiting_.push_back({stream, std::string(line), {}});
  waiting_[number - taken_].ranks.push_back(rank);
  behind_[rank] = number + 1;
}

std::vector<LineFolder::Line> LineFolder::take(bool all) {
  std::size_t count = all ? waiting_.size() : 0;
  for (std::size_t i = 0; i < waiting_.size() && !all; ++i)
    if (waiting_[i].ranks.size() >= ranks_) count = i + 1;
  if (waiting_.size() > kMostWaiting) count = std::max(count, waiting_.size() - kMostWaiting);
  std::vector<Line> lines;
  for (; count > 0; --count, ++taken_) {
    Entry& entry = waiting_.front();
    lines.push_back({entry.stream, "[" + rank_ranges(entry.ranks) + "] " + entry.text + "\n"});
    waiting_.pop_front();
  }
  return lines;
}

std::string rank_ranges(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  return text::ranges(ranks);
}

std::string ranks_text(const std::vector<int>& ranks) {
  return text::plural(ranks.size(), "rank") + " " + rank_ranges(ranks);
}

}  // namespace tutti::launch::job
