// Equal lines of several ranks, shown once: "[0-3,7] text". Pure.
//
// A line waits for its equals until it is taken. A rank joins a waiting line only behind the last
// one it joined, so that each rank's own lines keep their order.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::launch::job {

class LineFolder {
 public:
  explicit LineFolder(std::size_t ranks) : ranks_(ranks) {}

  // Text of whole lines; a piece without its end counts as a line.
  void add(int rank, int stream, std::string_view text);
  struct Line {
    int stream = 1;
    std::string text;  // with ranks in front and a line end
  };
  // What may be shown: lines that every rank has said, and what stands before them; all:
  // everything.
  std::vector<Line> take(bool all);
  bool empty() const { return waiting_.empty(); }

 private:
  struct Entry {
    int stream;
    std::string text;
    std::vector<int> ranks;
  };
  void add_line(int rank, int stream, std::string_view line);

  std::size_t ranks_;
  std::deque<Entry> waiting_;
  std::size_t taken_ = 0;              // entries that are gone: numbers never repeat
  std::map<int, std::size_t> behind_;  // rank -> number of the first entry it may join
};

// 0,1,2,5 -> "0-2,5"
std::string rank_ranges(std::vector<int> ranks);
// "rank 3", "ranks 0-2,5"
std::string ranks_text(const std::vector<int>& ranks);

}  // namespace tutti::launch::job
