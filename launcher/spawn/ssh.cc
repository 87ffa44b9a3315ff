// Hosts reached by ssh: one ssh process each, all at once; its stdin and stdout are the channel.
//
//   ssh host 'line' --> [need daemon --> its bytes] --> [need library --> its bytes] --> ready
//
// Whatever a login shell prints before is skipped. What ssh says on stderr becomes the reason,
// one line a host.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "spawn/agent.h"
#include "spawn/ending.h"
#include "spawn/installation.h"
#include "spawn/slurm.h"
#include "spawn/spawn.h"
#include "spawn/ssh_words.h"
#include "status/status.h"

namespace tutti::launch::spawn {
namespace {

constexpr std::size_t kMostWords = 64U << 10;
constexpr int kMostTries = 4;
constexpr int kPatientTries = 100;  // a second each, for names that may come to resolve
constexpr std::chrono::milliseconds kPause{300};

struct SshConnection : Agent {
  control::HostPart host;
  std::string heard;  // from its stdout, before the daemon
  std::string words;  // from its stderr
  std::string noise;  // what its shell printed
  bool sent_daemon = false;
  const std::string* sending = nullptr;
  std::size_t sent = 0;
  int tries = 0;
  bool ready = false;
  std::optional<int> end;  // as wait(2) gives it, where a daemon has waited for all its children
};

// It ends what it has started itself, and in its group is the way (ProxyCommand) of a master that
// it leaves behind for later connections (ControlPersist). A wrapper just dies.
bool is_ssh(pid_t pid) {
  return text::trim(file_text("/proc/" + std::to_string(pid) + "/comm").value_or("")) == "ssh";
}

class Ssh final : public control::Spawner {
 public:
  Ssh(control::Loop& loop, control::Grow how, control::SpawnReports reports,
      const Environment& environment)
      : loop_(loop), how_(std::move(how)), reports_(std::move(reports)) {
    const std::string& agent = how_.agent.at(0);
    if (agent.substr(agent.rfind('/') + 1) == "srun") steps_.emplace(environment);
  }
  ~Ssh() override;

  void start(const std::vector<control::HostPart>& hosts) override;
  std::string last_words(int host) override;
  bool has_started(pid_t pid) const override {
    return std::any_of(connections_.begin(), connections_.end(),
                       [pid](const auto& one) { return one.second.pid == pid; });
  }
  void child_ended(pid_t pid, int wait_status) override {
    for (auto& [host, one] : connections_)
      if (one.pid == pid) one.end = wait_status;
  }

 private:
  bool load_files();
  std::vector<std::string> command(const control::HostPart& host) const;
  void connect(SshConnection& one);
  void listen(SshConnection& one);
  void hear(SshConnection& one);
  void hear_line(SshConnection& one, std::string_view line);
  void send_some(SshConnection& one);
  void hand_over(SshConnection& one, std::string already);
  void read_words(SshConnection& one);
  void on_end(SshConnection& one);
  void drop(SshConnection& one);

  control::Loop& loop_;
  control::Grow how_;
  control::SpawnReports reports_;
  RemoteFiles files_;
  std::string daemon_, library_;     // their bytes
  std::optional<SlurmSteps> steps_;  // where the agent is srun
  bool said_awaited_ = false;
  std::map<int, SshConnection> connections_;
};

Ssh::~Ssh() {
  std::vector<Leaving> leaving;
  for (auto& [host, one] : connections_) {
    drop(one);
    if (one.pid > 0) leaving.push_back({one.pid, is_ssh(one.pid) ? one.pid : -one.pid});
  }
  end_all(leaving);
}

// The bytes are read now, before anything can replace the files.
bool Ssh::load_files() {
  const Installation& mine = this_installation();
  if (mine.daemon_file.empty()) return false;
  daemon_ = file_text(mine.daemon_file).value_or("");
  files_.prefix = how_.prefix;
  files_.daemon_name = files_.cache_name = name_of_bytes(mine.daemon_file);
  files_.daemon_bytes = daemon_.size();
  if (!mine.library_folder.empty()) {
    const std::string path = mine.library_folder + "/libmpi_abi.so.1";
    library_ = file_text(path).value_or("");
    files_.library_bytes = library_.size();
    files_.cache_name += name_of_bytes(path).substr(0, 16);
  }
  struct stat status {};
  if (::stat(mine.daemon_file.c_str(), &status) == 0) files_.owner = status.st_uid;
  utsname machine{};
  ::uname(&machine);
  files_.machine = machine.machine;
  return !daemon_.empty();
}

void Ssh::start(const std::vector<control::HostPart>& hosts) {
  const bool good = load_files();
  for (const control::HostPart& host : hosts) {
    SshConnection& one = connections_[host.host];
    one.host = host;
    std::string problem;
    if (!good) problem = "prund is not beside this prun; reinstall, or build it";
    if (host.name.starts_with('-')) problem = "no host has such a name";
    if (problem.empty()) {
      connect(one);
      continue;
    }
    loop_.post([this, index = host.host, problem] {
      reports_.failed(index, status::of(status::ExitStatus::host_unknown), problem);
    });
  }
}

std::vector<std::string> Ssh::command(const control::HostPart& host) const {
  std::vector<std::string> words = how_.agent;
  const std::string& agent = words.at(0);
  const std::string name = agent.substr(agent.rfind('/') + 1);
  if (name.starts_with("ssh")) {
    // After the user's own options: the first of a kind counts.
    words.insert(words.end(), {"-T", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=30"});
    if (host.port > 0) words.insert(words.end(), {"-p", std::to_string(host.port)});
  }
  if (steps_) {
    const auto step = steps_->words_for(host.name, remote_line(files_));
    words.insert(words.end(), step.begin(), step.end());
    return words;
  }
  if (!host.user.empty()) words.insert(words.end(), {"-l", host.user});
  words.push_back(host.name);
  words.push_back(remote_line(files_));
  return words;
}

void Ssh::connect(SshConnection& one) {
  ++one.tries;
  one.heard.clear();
  one.noise.clear();
  one.words.clear();
  one.end.reset();
  one.sending = nullptr;
  if (start_agent(command(one.host), steps_ ? &steps_->environment() : nullptr, &one))
    return listen(one);
  loop_.post([this, index = one.host.host, error = errno] {
    reports_.failed(index, status::of(status::ExitStatus::no_resources),
                    "cannot start " + how_.agent.at(0) + ": " + std::strerror(error));
  });
}

void Ssh::listen(SshConnection& one) {
  for (const UniqueFd* fd : {&one.in, &one.out, &one.errors})
    ::fcntl(fd->get(), F_SETFL, ::fcntl(fd->get(), F_GETFL) | O_NONBLOCK);
  loop_.on_readable(one.out.get(), [this, &one] { hear(one); });
  loop_.on_readable(one.errors.get(), [this, &one] { read_words(one); });
  loop_.on_readable(one.process.get(), [this, &one] { on_end(one); });
}

void Ssh::hear(SshConnection& one) {
  std::array<char, 4096> buffer;
  const ssize_t got = ::read(one.out.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return loop_.forget(one.out.get());  // the end of ssh itself tells more
  one.heard.append(buffer.data(), static_cast<std::size_t>(got));
  for (std::size_t begin = 0;;) {
    const std::size_t end = one.heard.find('\n', begin);
    if (end == std::string::npos) break;
    const std::string line(text::trim(std::string_view(one.heard).substr(begin, end - begin)));
    const std::size_t start = std::exchange(begin, end + 1);
    const bool ready = line == kReadyLine;
    if (!ready && line != kNeedDaemonLine && line != kNeedLibraryLine) continue;
    one.noise += one.heard.substr(0, start);
    one.heard.erase(0, std::exchange(begin, 0));
    if (ready) return hand_over(one, one.heard);
    hear_line(one, line);
  }
  if (one.heard.size() > kMostWords) one.heard.erase(0, one.heard.size() - kMostWords / 2);
}

void Ssh::hear_line(SshConnection& one, std::string_view line) {
  one.sending = line == kNeedDaemonLine ? &daemon_ : &library_;
  one.sent = 0;
  one.sent_daemon = true;
  send_some(one);
}

void Ssh::send_some(SshConnection& one) {
  while (one.sending != nullptr && one.sent < one.sending->size()) {
    const ssize_t put =
        ::write(one.in.get(), one.sending->data() + one.sent, one.sending->size() - one.sent);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN)
      return loop_.on_writable(one.in.get(), [this, &one] { send_some(one); });
    if (put < 0) break;  // ssh has ended; that is told by its end
    one.sent += static_cast<std::size_t>(put);
  }
  one.sending = nullptr;
  loop_.on_writable(one.in.get(), nullptr);
}

void Ssh::hand_over(SshConnection& one, std::string already) {
  one.ready = true;
  read_words(one);
  one.words.clear();  // remarks from before say nothing of how a daemon ends
  loop_.forget(one.in.get());
  loop_.forget(one.out.get());
  if (reports_.login) reports_.login(one.host.host, one.noise, one.sent_daemon);
  reports_.ready(one.host.host,
                 {std::move(one.out), std::move(one.in), std::move(already), nullptr});
}

void Ssh::read_words(SshConnection& one) {
  std::array<char, 4096> buffer;
  while (one.errors.is_open()) {
    const ssize_t got = ::read(one.errors.get(), buffer.data(), buffer.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      loop_.forget(one.errors.get());
      one.errors.reset();
      return;
    }
    if (one.words.size() < kMostWords)
      one.words.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

void Ssh::on_end(SshConnection& one) {
  int status = one.end.value_or(0);
  if (!one.end && ::waitpid(one.pid, &status, WNOHANG) == 0) return;
  one.pid = 0;
  if (one.errors.is_open()) read_words(one);
  if (!one.ready && one.out.is_open()) {
    // The last of its stdout may say why.
    std::array<char, 4096> buffer;
    const ssize_t got = ::read(one.out.get(), buffer.data(), buffer.size());
    if (got > 0) one.heard.append(buffer.data(), static_cast<std::size_t>(got));
  }
  drop(one);
  if (one.ready) return;  // its channel closes, and asks for last_words
  const Diagnosis why = diagnose(one.host.name, how_.agent.at(0), status, one.words, one.heard);
  if (why.again && one.tries < kMostTries) {
    loop_.after(kPause * one.tries, [this, &one] { connect(one); });
    return;
  }
  if (why.status == status::of(status::ExitStatus::host_unknown) && how_.patient &&
      one.tries < kMostTries + kPatientTries) {
    if (!said_awaited_ && reports_.note)
      reports_.note("host " + one.host.name + " does not resolve yet; trying again for " +
                    std::to_string(kPatientTries) + " s");
    said_awaited_ = true;
    loop_.after(std::chrono::seconds(1), [this, &one] { connect(one); });
    return;
  }
  reports_.failed(one.host.host, why.status, why.reason);
}

void Ssh::drop(SshConnection& one) {
  for (UniqueFd* fd : {&one.in, &one.out, &one.errors, &one.process}) {
    if (!fd->is_open()) continue;
    loop_.forget(fd->get());
    fd->reset();
  }
}

std::string Ssh::last_words(int host) {
  const auto found = connections_.find(host);
  if (found == connections_.end()) return {};
  if (found->second.errors.is_open()) read_words(found->second);
  return telling_line(found->second.words);
}

}  // namespace

std::unique_ptr<control::Spawner> spawn_ssh(control::Loop& loop, control::Grow how,
                                            control::SpawnReports reports,
                                            const Environment& environment) {
  return std::make_unique<Ssh>(loop, std::move(how), std::move(reports), environment);
}

}  // namespace tutti::launch::spawn
