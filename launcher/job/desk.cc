// The asker's side is launcher/prun/ask.cc.
#include "job/desk.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/socket_peer.h"
#include "job/job.h"

namespace tutti::launch::job {
namespace {

constexpr std::size_t kMostAskers = 64;
constexpr std::size_t kLongestQuestion = 256;
constexpr std::size_t kLongestAnswer = 1U << 20;
constexpr std::chrono::seconds kAskerLimit{150};  // of all that one asker does; stacks take long

bool may_ask(int fd) {
  const auto who = socket_peer(fd);
  return who && (who->uid == ::geteuid() || who->uid == 0);
}

}  // namespace

Desk::~Desk() {
  for (auto& [number, asker] : askers_) {
    loop_.cancel(asker.limit);
    loop_.forget(asker.fd.get());
  }
  door_.close();
}

Result<void> Desk::open(Answer answer) {
  const std::string name = kDeskName + std::to_string(::getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);  // a zero first: no file
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  fd_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd_.is_open() || ::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::listen(fd_.get(), 16) != 0) {
    const int error = errno;
    fd_.reset();
    return fail(Code::other, "--ps, --stacks and --gdb will not find this job: the name @" + name +
                                 (error == EADDRINUSE
                                      ? " is taken by another process"
                                      : std::string(" cannot be opened: ") + std::strerror(error)));
  }
  answer_ = std::move(answer);
  door_.open(
      fd_.get(), [this](UniqueFd fd) { enter(std::move(fd)); }, [this] { return make_room(); });
  return {};
}

// Who has not even asked leaves first; who waits for an answer stays.
bool Desk::make_room() {
  const auto silent = std::find_if(askers_.begin(), askers_.end(),
                                   [](const auto& one) { return !one.second.has_asked; });
  if (silent == askers_.end()) return false;
  drop(silent->first);
  return true;
}

void Desk::enter(UniqueFd fd) {
  if (!may_ask(fd.get()) || (askers_.size() >= kMostAskers && !make_room())) return;
  const std::uint64_t number = ++next_;
  Asker& asker = askers_[number];
  asker.fd = std::move(fd);
  asker.limit = loop_.after(kAskerLimit, [this, number] { drop(number); });
  loop_.on_readable(asker.fd.get(), [this, number] { hear(number); });
}

void Desk::hear(std::uint64_t number) {
  Asker& asker = askers_.at(number);
  char buffer[256];
  const ssize_t got = ::read(asker.fd.get(), buffer, sizeof buffer);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return drop(number);
  asker.heard.append(buffer, static_cast<std::size_t>(got));
  const std::size_t end = asker.heard.find('\n');
  if (end == std::string::npos && asker.heard.size() < kLongestQuestion) return;
  if (end == std::string::npos) return drop(number);
  loop_.on_readable(asker.fd.get(), nullptr);
  asker.has_asked = true;
  answer_(asker.heard.substr(0, end),
          [this, number, alive = std::weak_ptr<bool>(alive_)](std::string text) {
            if (alive.expired() || askers_.count(number) == 0) return;
            Asker& waiting = askers_.at(number);
            waiting.text = std::move(text);
            if (waiting.text.size() > kLongestAnswer) waiting.text.resize(kLongestAnswer);
            loop_.on_writable(waiting.fd.get(), [this, number] { write_some(number); });
          });
}

void Desk::write_some(std::uint64_t number) {
  Asker& asker = askers_.at(number);
  const ssize_t put = ::send(asker.fd.get(), asker.text.data() + asker.written,
                             asker.text.size() - asker.written, MSG_NOSIGNAL);
  if (put < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (put > 0) asker.written += static_cast<std::size_t>(put);
  if (put < 0 || asker.written == asker.text.size()) drop(number);
}

void Desk::drop(std::uint64_t number) {
  const auto asker = askers_.find(number);
  loop_.cancel(asker->second.limit);
  loop_.forget(asker->second.fd.get());
  askers_.erase(asker);
}

}  // namespace tutti::launch::job
