// What addr2line says of frames: of a crash, or of the call that failed. Safe in a signal handler:
// it is asked in a child, which the program's own fork handlers do not hear of, and no memory is
// taken.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace tutti::mpi {

struct SourcePlace {
  std::uintptr_t address = 0;  // in the file
  // "solve at solver.c:12", or "solve" of a program without debugging information; empty: not
  // known. Lies in the CrashLines that were asked.
  std::string_view line;
};

class CrashLines {
 public:
  static constexpr std::size_t kMost = 32;  // of one file
  static constexpr unsigned kLimitS = 2;    // for all files

  // Nothing is known where addr2line is not installed, or has not answered in the time and the
  // room that there are for all files.
  void ask(const char* file, std::span<SourcePlace> places);
  bool has_answered() const { return used_ != 0; }
  bool is_late() const { return is_late_; }  // the time was over before all was answered
  bool is_full() const { return used_ == said_.size(); }  // and so was the room

 private:
  std::array<char, 8192> said_{};
  std::size_t used_ = 0;
  bool is_late_ = false;
  std::int64_t until_ns_ = 0;  // 0: nothing was asked yet
};

}  // namespace tutti::mpi
