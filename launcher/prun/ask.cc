// Finds the desks of running pruns by name and asks at them (job/desk.h).
//
// Anybody on this machine can hold such a name, so a name proves nothing: a desk is asked when the
// kernel says that it belongs to this user or to root, the whole answer has one deadline and one
// most size, what it says is shown without steering the terminal, and nothing of it is executed:
// the debugger's command is made here, of a rank, a host and a process number that were checked.
#include "prun/ask.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/socket_peer.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "job/job.h"
#include "prun/answers.h"
#include "prun/surroundings.h"
#include "status/status.h"

namespace tutti::launch::prun {
namespace {

constexpr std::int64_t kConnectNs = 1'000'000'000;
constexpr std::int64_t kShortNs = 3'000'000'000;
constexpr std::int64_t kLongNs = 130'000'000'000;  // for stacks
constexpr std::size_t kLongestAnswer = 1U << 20;
constexpr useconds_t kTryAgainUs = 20'000;

enum class Reached { ours, others, busy, nobody };

struct JobLine {
  Reached reached = Reached::nobody;
  UniqueFd fd;
  uid_t owner = 0;
};

struct Job {
  std::string pid;
  std::vector<std::string> columns;  // of job_line
};

// Process numbers in the names of desks; whoever holds such a name.
std::vector<std::string> desks() {
  std::vector<std::string> found;
  const std::string mark = std::string("@") + job::kDeskName;
  for (const std::string& line : text::split(file_text("/proc/net/unix").value_or(""), '\n')) {
    const std::size_t at = line.rfind(mark);
    if (at == std::string::npos) continue;
    const auto pid = text::parse_int(line.substr(at + mark.size()));
    if (pid && *pid > 0 && *pid <= INT_MAX) found.push_back(std::to_string(*pid));
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// Never waits: who holds a name and takes nobody in keeps nobody from others' desks.
JobLine connect_to(const std::string& pid) {
  const std::string name = job::kDeskName + pid;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  JobLine line;
  line.fd.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!line.fd.is_open()) return line;
  if (::connect(line.fd.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) {
    line.reached = errno == EAGAIN || errno == EINTR ? Reached::busy : Reached::nobody;
    return line;
  }
  const auto peer = socket_peer(line.fd.get());
  if (!peer) return line;
  line.owner = peer->uid;
  line.reached = peer->uid == ::geteuid() || peer->uid == 0 ? Reached::ours : Reached::others;
  return line;
}

// A connection to each desk of ours. Names that others hold are told where a prun of this user may
// run behind them.
std::map<std::string, UniqueFd> open_desks(std::vector<std::string> pids) {
  std::map<std::string, UniqueFd> open;
  const std::int64_t deadline = now_ns() + kConnectNs;
  for (;;) {
    std::vector<std::string> busy;
    for (const std::string& pid : pids) {
      JobLine line = connect_to(pid);
      struct stat process {};
      if (line.reached == Reached::ours) open[pid] = std::move(line.fd);
      if (line.reached == Reached::busy) busy.push_back(pid);
      if (line.reached == Reached::others && ::stat(("/proc/" + pid).c_str(), &process) == 0 &&
          process.st_uid == ::geteuid())
        std::fprintf(
            stderr, "prun: the name @%s%s is held by user %u, not by process %s: it is not asked\n",
            job::kDeskName, pid.c_str(), static_cast<unsigned>(line.owner), pid.c_str());
    }
    pids = std::move(busy);
    if (pids.empty() || now_ns() > deadline) return open;
    ::usleep(kTryAgainUs);
  }
}

bool put_question(int fd, const std::string& question) {
  const std::string line = question + "\n";
  return ::send(fd, line.data(), line.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(line.size());
}

// All that comes until the end, the deadline, or the most that an answer may be. What came by the
// deadline is still read.
std::string hear_answer(int fd, std::int64_t deadline) {
  std::string text;
  while (text.size() < kLongestAnswer) {
    const std::int64_t left = std::max<std::int64_t>(0, deadline - now_ns());
    pollfd one{fd, POLLIN, 0};
    char buffer[16384];
    const int ready = ::poll(&one, 1, static_cast<int>(left / 1'000'000));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    const ssize_t got = ::read(fd, buffer, std::min(sizeof buffer, kLongestAnswer - text.size()));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

// Empty: nobody of ours answers there.
std::string ask(const std::string& pid, const std::string& question, std::int64_t limit_ns) {
  const auto lines = open_desks({pid});
  const auto line = lines.find(pid);
  if (line == lines.end() || !put_question(line->second.get(), question)) return "";
  return hear_answer(line->second.get(), now_ns() + limit_ns);
}

std::vector<Job> jobs() {
  auto lines = open_desks(desks());
  std::erase_if(lines, [](const auto& line) { return !put_question(line.second.get(), "ps"); });
  const std::int64_t deadline = now_ns() + kShortNs;  // of all of them
  std::vector<Job> found;
  for (const auto& [pid, fd] : lines) {
    if (auto columns = columns_of(hear_answer(fd.get(), deadline)))
      found.push_back({pid, std::move(*columns)});
  }
  return found;
}

int complain(const std::string& line) {
  say(line);
  return status::of(status::ExitStatus::usage);
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

[[noreturn]] void become(const std::vector<std::string>& words, const ProcessPlace& place) {
  const std::vector<char*> argv = pointers_to(words);
  ::execvp(argv[0], argv.data());
  const int error = errno;
  complain("cannot execute " + words[0] + ": " + std::strerror(error) +
           "; any debugger can attach to process " + std::to_string(place.pid) + " on host " +
           text::printable(place.host));
  ::_exit(status::of(error == ENOENT ? status::ExitStatus::not_found
                                     : status::ExitStatus::not_executable));
}

// How this prun was told to reach hosts; what the job's prun says of that is not used.
std::vector<std::string> agent_of(const cli::JobSpec& spec) {
  std::vector<std::string> words{"ssh"};
  if (!spec.launch_agent.empty()) words = text::split(spec.launch_agent, ' ');
  std::erase(words, "");
  words.insert(words.end(), spec.agent_args.begin(), spec.agent_args.end());
  if (words.empty()) words.emplace_back("ssh");
  const std::string& agent = words[0];
  if (agent.substr(agent.rfind('/') + 1).starts_with("ssh")) words.emplace_back("-t");
  return words;
}

}  // namespace

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
    std::printf("%-20s %8s %11s %6s %9s  %-14s %s\n", column[0].c_str(), job.pid.c_str(),
                column[2].c_str(), column[3].c_str(), column[4].c_str(), column[5].c_str(),
                column[6].c_str());
  }
  return 0;
}

int print_stacks(const cli::PrintStacks& wish) {
  const std::string pid = prun_of(wish.job);
  if (pid.empty()) return status::of(status::ExitStatus::usage);
  const std::string text = ask(pid, "stacks", kLongNs);
  if (text.empty()) return complain("the job has just ended");
  std::fputs(shown(text).c_str(), stdout);
  if (text.size() >= kLongestAnswer) return complain("the answer goes on; this is its first MiB");
  return 0;
}

int attach_debugger(const cli::AttachDebugger& wish, const cli::JobSpec& spec) {
  const std::string prun = prun_of(wish.job);
  if (prun.empty()) return status::of(status::ExitStatus::usage);
  const std::string rank = std::to_string(wish.rank);
  const std::string asked = "--gdb " + rank + (wish.job.empty() ? "" : "@" + wish.job);
  const std::string line = ask(prun, "gdb " + rank, kShortNs);
  if (line.empty()) return complain("the job has just ended");
  const auto place = place_in(line);
  if (!place && !place.error().text.empty()) return complain(asked + ": " + place.error().text);
  if (!place)
    return complain(asked + ": prun " + prun +
                    " answers what makes no sense; is it of another version?");
  const std::string pid = std::to_string(place->pid);
  std::fprintf(stderr, "prun: rank %s is process %s on host %s; the others wait for it in MPI\n",
               rank.c_str(), pid.c_str(), text::printable(place->host).c_str());
  if (place->is_here) become({"gdb", "-p", pid}, *place);
  std::vector<std::string> command = agent_of(spec);
  command.insert(command.end(), {place->host, "gdb", "-p", pid});
  become(command, *place);
}

}  // namespace tutti::launch::prun
