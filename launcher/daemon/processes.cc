// Reading /proc.
#include "daemon/processes.h"

#include <dirent.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "base/file.h"
#include "base/text.h"

namespace tutti::launch::daemon {

namespace {

// The numbers that name entries of a folder of /proc.
std::vector<pid_t> numbers_in(const std::string& folder) {
  std::vector<pid_t> found;
  DIR* all = ::opendir(folder.c_str());
  if (all == nullptr) return found;
  while (const dirent* entry = ::readdir(all))
    if (const auto number = text::parse_int(entry->d_name))
      found.push_back(static_cast<pid_t>(*number));
  ::closedir(all);
  return found;
}

// The name in field two may contain anything, ')' included.
std::optional<ProcessStat> read_stat(const std::string& folder, pid_t pid) {
  const std::string line = file_text(folder + "/" + std::to_string(pid) + "/stat").value_or("");
  const std::size_t after = line.rfind(')');
  if (after == std::string::npos) return {};
  constexpr std::size_t kThreads = 18;
  const auto fields = text::split(line.substr(after + 1), ' ');  // "", state, parent, group, ...
  if (fields.size() <= kThreads || fields[1].empty()) return {};
  const auto number = [&fields](std::size_t field) {
    return static_cast<pid_t>(text::parse_int(fields[field]).value_or(0));
  };
  return ProcessStat{pid, number(2), number(3), fields[1].front(), number(kThreads)};
}

std::vector<pid_t> children_by_search() {
  std::vector<pid_t> children;
  for (const ProcessStat& one : all_processes())
    if (one.parent == ::getpid()) children.push_back(one.pid);
  return children;
}

}  // namespace

std::vector<pid_t> children_now() {
  const std::string me = std::to_string(::getpid());
  const auto list = file_text("/proc/" + me + "/task/" + me + "/children");
  if (!list) return children_by_search();  // a kernel without this list
  std::vector<pid_t> children;
  for (const std::string& word : text::split(*list, ' '))
    if (const auto pid = text::parse_int(word)) children.push_back(static_cast<pid_t>(*pid));
  return children;
}

std::string executable_of(pid_t pid) {
  char name[4096];
  const ssize_t got =
      ::readlink(("/proc/" + std::to_string(pid) + "/exe").c_str(), name, sizeof name);
  return {name, static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

std::optional<ProcessStat> read_process(pid_t pid) {
  return read_stat("/proc", pid);
}

bool is_dead(const ProcessStat& process) {
  return process.state == 'Z' && process.threads <= 1;
}

bool is_dead(pid_t pid) {
  if (const auto process = read_process(pid)) return is_dead(*process);
  return ::kill(pid, 0) != 0 && errno == ESRCH;
}

std::vector<ProcessStat> all_processes() {
  std::vector<ProcessStat> found;
  for (const pid_t pid : numbers_in("/proc"))
    if (const auto one = read_process(pid)) found.push_back(*one);
  return found;
}

bool is_deaf(pid_t pid) {
  const std::string threads = "/proc/" + std::to_string(pid) + "/task";
  const std::vector<pid_t> all = numbers_in(threads);
  return std::any_of(all.begin(), all.end(), [&threads](pid_t thread) {
    const auto one = read_stat(threads, thread);
    return one && one->state == 'D';
  });
}

bool descends(pid_t pid, pid_t ancestor) {
  constexpr int kMostParents = 1000;  // numbers may be used again while we go up
  for (int i = 0; i < kMostParents && pid > 1; ++i) {
    if (pid == ancestor) return true;
    const auto process = read_process(pid);
    if (!process) return false;
    pid = process->parent;
  }
  return false;
}

void name_senders(int socket) {
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
}

ssize_t receive_from(int socket, std::span<char> buffer, pid_t* sender) {
  // No room for descriptors: none of them is taken.
  alignas(cmsghdr) char words[CMSG_SPACE(sizeof(ucred))];
  iovec piece{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = words;
  message.msg_controllen = sizeof words;
  const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  const cmsghdr* const word = got < 0 ? nullptr : CMSG_FIRSTHDR(&message);
  ucred from{};
  if (word != nullptr && word->cmsg_level == SOL_SOCKET && word->cmsg_type == SCM_CREDENTIALS)
    std::memcpy(&from, CMSG_DATA(word), sizeof from);
  *sender = from.pid;
  return got;
}

bool is_pmix_server(pid_t pid) {
  const auto name = file_text("/proc/" + std::to_string(pid) + "/comm");
  return name && text::trim(*name) == "prun-pmix";
}

}  // namespace tutti::launch::daemon
