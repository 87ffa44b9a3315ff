// What is said to a host's shell, and what ssh's own words mean. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tutti::launch::spawn {

// Lines by which the remote side speaks before there is a daemon; all else is a shell's noise.
inline constexpr std::string_view kReadyLine = "TUTTI ready";
inline constexpr std::string_view kNeedDaemonLine = "TUTTI need daemon";
inline constexpr std::string_view kNeedLibraryLine = "TUTTI need library";
inline constexpr std::string_view kFailedLine = "TUTTI failed";    // cannot store what was sent
inline constexpr std::string_view kForeignLine = "TUTTI foreign";  // a folder of another user
inline constexpr std::string_view kMachineLine = "TUTTI machine";  // another kind of processor

struct RemoteFiles {
  std::string prefix;       // of this installation; may exist there, too
  long owner = 0;           // user number of who installed it here, and may have done so there
  std::string daemon_name;  // name_of_bytes of prund
  std::string cache_name;   // of all files together: the folder's name in the cache
  std::size_t daemon_bytes = 0;
  std::size_t library_bytes = 0;  // 0: there is none
  std::string machine;            // uname -m
};

// One line for any login shell: finds or asks for the daemon, then becomes it.
std::string remote_line(const RemoteFiles& files);

struct Diagnosis {
  int status = 0;
  std::string reason;  // without the host's name in front
  bool again = false;  // worth another try
};
// ssh ended before a daemon answered. `words`: its stderr; `noise`: what came on its stdout.
Diagnosis diagnose(const std::string& host, const std::string& agent, int wait_status,
                   const std::string& words, const std::string& noise);

// The line of ssh's stderr that says most: the last one that is no mere remark.
std::string telling_line(const std::string& words);

}  // namespace tutti::launch::spawn
