// Why a rank's end is a failure: status and one line. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "control/messages.h"

namespace tutti::launch::job {

struct RankVerdict {
  int status = 0;  // 0: an orderly end
  std::string line;
};

// The status of a failure, as somebody said it: the kernel keeps eight bits, and 0 would hide it.
inline int failure_of(int said) {
  return (said & 0xff) == 0 ? 1 : said & 0xff;
}
// How a rank's end counts for the job.
RankVerdict judge(const control::RankEnded& report, const std::string& host);
RankVerdict judge(const control::RankAborts& report, const std::string& host);
// Of a rank whose end is orderly: it was never there to the others, which end the job for it.
std::optional<RankVerdict> absence(const control::RankEnded& report, const std::string& host);

std::string seconds_text(double seconds);  // "2.5", "120"
// "the time limit of 3 s (--timeout) is over; the job was ended"
std::string time_limit_words(double seconds);

// What a failed rank wrote last, indented below the line that says so; empty: nothing. Without the
// stack of a crash (bindings/mpi/crash.cc) where that was shown just before.
std::string last_lines(const std::string& tail, bool with_stack);
// "; its output is in ..." when it went into a folder (see output_folder), filled in.
std::string output_place(const std::string& folder);

}  // namespace tutti::launch::job
