// The sentences about ranks that failed.
#include "job/reasons.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/text.h"
#include "status/status.h"
#include "watch/watch.h"

namespace tutti::launch::job {
namespace {

std::string name_of(int rank, const std::string& host) {
  return "rank " + std::to_string(rank) + " on host " + host;
}

// What a terminal would show of it in the end: a progress bar begins its line anew.
std::string_view last_shown(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  return line.substr(line.rfind('\r') + 1);
}

// What bindings/mpi/crash.cc writes: "rank 1 on host a dies by signal 11 ...",
// "the stack of rank 1 on host a, ...", "    main+0x2a (./app+0x11c8)",
// "    dig+0x2a (./app+0x11c8) 7 times", "    0x0", "    addr2line -e FILE +ADDRESS names lines",
// "    if that is GPU memory: ..."
bool is_of_stack(const std::string& line) {
  if (!line.starts_with("    "))
    return line.find(" dies by signal ") != std::string::npos ||
           line.starts_with("the stack of rank ");
  const bool ends_so = line.ends_with(')') || line.ends_with(" times");
  return line.starts_with("    0x") || line.starts_with("    if that is GPU memory: ") ||
         (ends_so && line.find("+0x") != std::string::npos) ||
         line.ends_with("addr2line -e FILE +ADDRESS names lines");
}

// " outside MPI", " in MPI_Allreduce, having used its GPU 0": where it was killed. The number is
// the process's own: CUDA_VISIBLE_DEVICES may hide others.
std::string place_words(const control::RankEnded& report) {
  if (!report.is_placed) return "";
  std::string words = report.function == 0
                          ? " outside MPI"
                          : std::string(" in ") + watch::function_name(report.function - 1);
  std::string_view before = ", having used its GPU ";
  for (int gpu = 0; gpu < std::numeric_limits<std::uint64_t>::digits; ++gpu)
    if ((report.gpus >> gpu & 1) != 0)
      words.append(std::exchange(before, ", ")).append(std::to_string(gpu));
  return words;
}

}  // namespace

RankVerdict judge(const control::RankEnded& report, const std::string& host) {
  if (report.launch_status != 0)
    return {failure_of(report.launch_status), "host " + host + ": " + report.reason};
  const std::string who = name_of(report.rank, host);
  const int status = report.wait_status;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return {status::of_signal(signal), who + " was killed by signal " + std::to_string(signal) +
                                           " (" + ::strsignal(signal) + ")" + place_words(report) +
                                           (WCOREDUMP(status) ? ", core dumped" : "")};
  }
  if (WEXITSTATUS(status) != 0)
    return {WEXITSTATUS(status), who + " ended with status " + std::to_string(WEXITSTATUS(status))};
  if (report.joined && !report.finalized)
    return {status::of(status::ExitStatus::not_finalized),
            who +
                " ended with status 0 between MPI_Init and MPI_Finalize, or in a session; the "
                "others would wait for it for ever"};
  return {};
}

std::optional<RankVerdict> absence(const control::RankEnded& report, const std::string& host) {
  if (report.joined || judge(report, host).status != 0) return std::nullopt;
  return RankVerdict{status::of(status::ExitStatus::not_finalized),
                     name_of(report.rank, host) + " ended with status 0 and without MPI_Init"};
}

RankVerdict judge(const control::RankAborts& report, const std::string& host) {
  const int status =
      failure_of(report.status);  // MPI_Abort's 0 and 256 are no statuses of a failure
  std::string line =
      name_of(report.rank, host) + " ended the job with status " + std::to_string(status);
  if (!report.reason.empty()) line += ": " + report.reason;
  return {status, line};
}

std::string seconds_text(double seconds) {
  std::string text = std::to_string(seconds);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string time_limit_words(double seconds) {
  return "the time limit of " + seconds_text(seconds) + " s (--timeout) is over; the job was ended";
}

std::string last_lines(const std::string& tail, bool with_stack) {
  constexpr std::size_t kShown = 5;
  std::vector<std::string> lines = text::split(tail, '\n');
  std::erase_if(lines, [&](const std::string& line) {
    return text::trim(line).empty() || (!with_stack && is_of_stack(line));
  });
  if (lines.empty()) return "";
  std::string out = "; it wrote last:";
  for (std::size_t i = lines.size() - std::min(kShown, lines.size()); i < lines.size(); ++i)
    out.append("\n    ").append(last_shown(lines[i]));
  return out;
}

std::string output_place(const std::string& folder) {
  return folder.empty() ? "" : "; its output is in " + folder;
}

}  // namespace tutti::launch::job
