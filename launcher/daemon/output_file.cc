#include "daemon/output_file.h"

#include <unistd.h>

#include <cerrno>

namespace tutti::launch::daemon {

std::string_view write_most(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(fd, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) break;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return text;
}

bool OutputFile::write(std::string_view text) {
  if (!waiting_.empty()) {
    waiting_.append(text);
    text = waiting_;
  }
  const std::string_view rest = write_most(fd_.get(), text);
  const int error = rest.empty() ? 0 : errno;
  waiting_ = std::string(rest);
  errno = error;
  return error == 0 || error == EAGAIN;
}

}  // namespace tutti::launch::daemon
