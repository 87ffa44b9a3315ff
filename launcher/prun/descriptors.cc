#include "prun/descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/text.h"

namespace tutti::launch::prun {
namespace {

constexpr int kMostLinks = 40;  // as the kernel has it

// Whether this is where the kernel shows our descriptors; without links in its name.
bool is_our_folder(const std::string& path) {
  const std::string ours = "/proc/" + std::to_string(::getpid());
  return path == ours + "/fd" || (path.starts_with(ours + "/task/") && path.ends_with("/fd"));
}

std::string real_path(const std::string& path) {
  std::array<char, PATH_MAX> real{};
  return ::realpath(path.c_str(), real.data()) == nullptr ? "" : real.data();
}

// The descriptor of ours that this names. Not what the descriptor leads to: each link is looked at
// by itself.
std::optional<std::int64_t> own_descriptor(std::string path) {
  for (int links = 0; links < kMostLinks; ++links) {
    const std::size_t slash = path.rfind('/');
    const std::string folder =
        real_path(slash == std::string::npos ? "." : path.substr(0, slash + 1));
    const std::string name = path.substr(slash + 1);
    if (folder.empty()) return std::nullopt;
    if (is_our_folder(folder)) return text::parse_int(name);
    path = folder + "/" + name;
    std::array<char, PATH_MAX> target{};
    const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
    if (length <= 0) return std::nullopt;
    const std::string to(target.data(), static_cast<std::size_t>(length));
    path = to.starts_with('/') ? to : folder + "/" + to;
  }
  return std::nullopt;
}

Result<void> settle(std::string& pattern) {
  if (pattern.empty() || pattern.find('%') != std::string::npos) return {};
  const auto number = own_descriptor(pattern);
  if (!number) return {};
  const int fd = static_cast<int>(*number);
  const int how = ::fcntl(fd, F_GETFL);
  if (how < 0)
    return fail(Code::arg, "cannot write to " + pattern +
                               ": prun was started without a descriptor " + std::to_string(fd));
  if (fd == 0 || (how & O_ACCMODE) == O_RDONLY)
    return fail(Code::arg, "cannot write to " + pattern + ": descriptor " + std::to_string(fd) +
                               " is for reading or closed");
  if (fd > STDERR_FILENO) ::fcntl(fd, F_SETFD, FD_CLOEXEC);  // its reader waits for prun alone
  pattern = "/dev/fd/" + std::to_string(fd);
  return {};
}

}  // namespace

Result<void> settle_output(cli::OutputSpec& output) {
  TUTTI_DO(settle(output.out_file));
  return settle(output.err_file);
}

}  // namespace tutti::launch::prun
