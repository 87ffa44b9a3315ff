// Each file is opened once, when its first line comes.
#include "job/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tutti::launch::job {

int own_stream(const std::string& pattern) {
  return pattern == "/dev/stdout" ? 1 : pattern == "/dev/stderr" ? 2 : 0;
}

bool is_written_here(const std::string& pattern, std::size_t hosts) {
  if (own_stream(pattern) != 0) return true;
  if (hosts < 2 || pattern.empty() || pattern == "/dev/null") return false;
  for (std::size_t at = pattern.find('%'); at != std::string::npos && at + 1 < pattern.size();
       at = pattern.find('%', at)) {
    at = pattern.find_first_not_of("0123456789", at + 1);  // "%3r"
    if (at == std::string::npos) break;
    const char letter = pattern[at++];
    if (letter == 'r' || letter == 'h' || letter == 'n') return false;
  }
  return true;
}

Result<void> SharedFiles::write(const std::string& path, std::string_view text, bool fresh) {
  const auto problem = [&path] {
    return fail(Code::other, "cannot write to " + path + ": " + std::strerror(errno));
  };
  UniqueFd& file = open_[path];
  if (!file.is_open())
    file.reset(::open(path.c_str(),
                      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (fresh ? O_TRUNC : 0), 0666));
  if (!file.is_open()) return problem();
  while (!text.empty()) {
    const ssize_t put = ::write(file.get(), text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return problem();
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

}  // namespace tutti::launch::job
