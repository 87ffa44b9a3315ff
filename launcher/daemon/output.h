// Cuts what a rank writes into whole lines and marks each with its tag; pure but for the clock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "control/messages.h"

namespace tutti::launch::daemon {

// Whose output it is: what tags and file names are made of.
struct OutputOwner {
  int rank = 0;
  int local_rank = 0;
  int host = 0;
  std::string host_name;
  std::uint64_t job_id = 0;
  int offset = -1;  // within its line of srun's file of programs; -1: there is none
};

// "%r", "%l", "%h", "%n", "%j", "%o" and "%%" filled in; "%3r" is padded with zeros, as srun does
// it.
std::string fill_pattern(const std::string& pattern, const OutputOwner& writer);

// Text in several parts, that no part is long. Nothing of others comes between them.
using Parts = std::vector<std::string>;

class LineCutter {
 public:
  LineCutter() = default;
  LineCutter(const control::OutputPart& how, const OutputOwner& writer, int stream);

  // Takes bytes as read; returns what may be shown now: whole lines, tagged.
  Parts feed(std::string_view bytes);
  // What is left without a line end. Under tags it gets one, so that tags stay at line starts.
  Parts flush();
  bool holds_a_piece() const { return !piece_.empty() || !held_.empty(); }
  bool tags() const { return kind_ != Kind::plain; }

 private:
  enum class Kind { plain, prefix, json, xml };
  void add_line(std::string& out, std::string_view line) const;
  Parts feed_plain(std::string_view bytes);
  std::string feed_tagged(std::string_view bytes);
  void hold(std::string_view bytes);

  Kind kind_ = Kind::plain;
  std::string prefix_, suffix_;
  bool timestamps_ = false;
  std::string piece_;  // tagged
  Parts held_;         // untagged
  std::size_t held_bytes_ = 0;
  bool passes_ = false;  // untagged: the line is too long to be kept whole
};

}  // namespace tutti::launch::daemon
