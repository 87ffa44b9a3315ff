// Finds the desks of running pruns by name and asks at them (job/desk.h).
#include "prun/ask.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "job/exit_status.h"
#include "job/job.h"

namespace tutti::launch::prun {
namespace {

constexpr int kShortMs = 3000;
constexpr int kLongMs = 130'000;  // for stacks

struct Job {
  std::string pid;
  std::vector<std::string> columns;  // of job_line
};

std::vector<std::string> desks() {
  std::vector<std::string> found;
  const std::string mark = std::string("@") + job::kDeskName;
  for (const std::string& line : text::split(file_text("/proc/net/unix").value_or(""), '\n'))
    if (const std::size_t at = line.rfind(mark); at != std::string::npos)
      found.push_back(line.substr(at + mark.size()));
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// Empty: nobody answers there, or not to us.
std::string ask(const std::string& pid, const std::string& question, int limit_ms) {
  const std::string name = job::kDeskName + pid;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const std::string line = question + "\n";
  if (!fd.is_open() || ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL) < 0)
    return "";
  std::string text;
  for (;;) {
    pollfd one{fd.get(), POLLIN, 0};
    char buffer[16384];
    if (::poll(&one, 1, limit_ms) <= 0) return text;
    const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

std::vector<Job> jobs() {
  std::vector<Job> found;
  for (const std::string& pid : desks()) {
    const std::string line = ask(pid, "ps", kShortMs);
    auto columns = text::split(std::string(text::trim(line)), '\t');
    if (columns.size() == 7) found.push_back({pid, std::move(columns)});
  }
  return found;
}

int complain(const std::string& line) {
  std::fprintf(stderr, "prun: %s\n", line.c_str());
  return job::status_of(job::ExitStatus::usage);
}

int list_jobs() {
  const auto all = jobs();
  if (all.empty()) {
    std::puts("no job of yours was started on this machine and runs");
    return 0;
  }
  std::printf("%-20s %8s %11s %6s %9s  %-14s %s\n", "job", "prun", "ranks left", "hosts", "seconds",
              "state", "command");
  for (const Job& job : all) {
    const auto& column = job.columns;
    std::printf("%-20s %8s %11s %6s %9s  %-14s %s\n", column[0].c_str(), column[1].c_str(),
                column[2].c_str(), column[3].c_str(), column[4].c_str(), column[5].c_str(),
                column[6].c_str());
  }
  return 0;
}

// The prun of a job, or nothing when that is told.
std::string prun_of(const std::string& wanted) {
  const auto all = jobs();
  std::vector<std::string> fitting;
  for (const Job& job : all)
    if (wanted.empty() || wanted == job.columns[0] || wanted == job.pid) fitting.push_back(job.pid);
  if (fitting.size() == 1) return fitting[0];
  if (fitting.empty())
    complain((wanted.empty() ? "no job" : "no job " + wanted) +
             " of yours was started on this machine and runs; 'prun --ps' lists them");
  else
    complain(std::to_string(fitting.size()) +
             " jobs run; name one of those that 'prun --ps' lists");
  return "";
}

int show_stacks(const std::string& job) {
  const std::string pid = prun_of(job);
  if (pid.empty()) return job::status_of(job::ExitStatus::usage);
  const std::string text = ask(pid, "stacks", kLongMs);
  if (text.empty()) return complain("the job has just ended");
  std::fputs(text.c_str(), stdout);
  return 0;
}

[[noreturn]] void become(const std::vector<std::string>& words, const std::string& pid,
                         const std::string& host) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  const int error = errno;
  complain("cannot execute " + words[0] + ": " + std::strerror(error) +
           "; any debugger can attach to process " + pid + " on host " + host);
  ::_exit(job::status_of(error == ENOENT ? job::ExitStatus::not_found
                                         : job::ExitStatus::not_executable));
}

int attach_debugger(const std::string& wish) {
  const std::size_t cut = wish.find('@');
  const std::string rank = wish.substr(0, cut);
  if (!text::parse_int(rank))
    return complain("--gdb " + wish + ": not a rank; write 3, or 3@JOB where several jobs run");
  const std::string prun = prun_of(cut == std::string::npos ? "" : wish.substr(cut + 1));
  if (prun.empty()) return job::status_of(job::ExitStatus::usage);
  const std::string line = ask(prun, "gdb " + rank, kShortMs);
  const auto words = text::split(std::string(text::trim(line)), '\t');
  if (words.size() == 2) return complain("--gdb " + wish + ": " + words[1]);
  if (words.size() != 5) return complain("the job has just ended");
  std::fprintf(stderr, "prun: rank %s is process %s on host %s; the others wait for it in MPI\n",
               rank.c_str(), words[1].c_str(), words[2].c_str());
  if (words[3] == "here") become({"gdb", "-p", words[1]}, words[1], words[2]);
  std::vector<std::string> command = text::split(words[4], ' ');
  if (const std::string& agent = command[0]; agent.substr(agent.rfind('/') + 1).starts_with("ssh"))
    command.emplace_back("-t");
  command.insert(command.end(), {words[2], "gdb", "-p", words[1]});
  become(command, words[1], words[2]);
}

}  // namespace

int ask_about_jobs(const std::string& what) {
  if (what == "ps") return list_jobs();
  const std::string rest = what.substr(what.find('=') + 1);
  return what.starts_with("stacks=") ? show_stacks(rest) : attach_debugger(rest);
}

}  // namespace tutti::launch::prun
