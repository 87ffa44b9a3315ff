// Cuts what a rank writes into whole lines and marks each with its tag; pure but for the clock.
#pragma once

#include <string>
#include <string_view>

#include "control/messages.h"

namespace tutti::launch {

class LineCutter {
 public:
  LineCutter() = default;
  LineCutter(const OutputPart& how, int rank, int stream);

  // Takes bytes as read; returns what may be shown now: whole lines, tagged.
  std::string feed(std::string_view bytes);
  // What is left without a line end. Under tags it gets one, so that tags stay at line starts.
  std::string flush();
  bool holds_a_piece() const { return !piece_.empty(); }
  bool tags() const { return !prefix_.empty() || timestamps_; }

 private:
  void add_line(std::string& out, std::string_view line) const;

  std::string prefix_;
  bool timestamps_ = false;
  std::string piece_;
};

}  // namespace tutti::launch
