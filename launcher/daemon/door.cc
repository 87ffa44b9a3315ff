// Each visitor sends one datagram; only one that proves to be a rank of this job is answered.
#include "daemon/door.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/hex.h"
#include "base/pass_fd.h"
#include "base/random_bytes.h"
#include "daemon/aside.h"
#include "daemon/processes.h"

namespace tutti::launch::daemon {
namespace {

constexpr std::size_t kMostVisitors = 64;
constexpr std::chrono::seconds kVisitorLimit{10};
constexpr const char* kNoDescriptor =
    "its descriptor does not get through the daemon; raise the limit of open files (ulimit -n)";

// What it said lies here still, and it hears no answer.
bool has_gone(int visitor) {
  pollfd look{visitor, 0, 0};
  return ::poll(&look, 1, 0) > 0 && (look.revents & POLLHUP) != 0;
}

}  // namespace

RankDoor::~RankDoor() {
  watch_.close();
  while (make_room()) {
  }
  while (!sharing_.empty()) withdraw(sharing_.begin()->first);
}

Result<void> RankDoor::open(std::size_t ranks, int host, const std::string& temporary_folder) {
  keys_.resize(ranks);
  files_.emplace(host, 0);
  for (Key& key : keys_)
    if (!random_bytes(key.data(), key.size())) return fail(Code::other, "no random numbers");
  TUTTI_DO(folder_.make(temporary_folder));
  // Others may pass through to the socket; nobody but us can list, add or take away.
  const std::string path = folder_.path() + "/door";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  listener_.reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const bool fits = path.size() < sizeof address.sun_path;
  if (fits) path.copy(address.sun_path, path.size());
  if (!fits || !listener_.is_open() ||
      ::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(path.c_str(), 0666) != 0 || ::chmod(folder_.path().c_str(), 0711) != 0 ||
      ::listen(listener_.get(), 1024) != 0) {
    const std::string why = fits ? std::strerror(errno) : "its name is too long";
    listener_.reset();
    folder_.remove();
    return fail(Code::other, "cannot listen at " + path + ": " + why);
  }
  path_ = path;
  watch_.open(
      listener_.get(), [this](UniqueFd fd) { enter(std::move(fd)); },
      [this] { return make_room(); });
  return {};
}

std::string RankDoor::key_of(int local) const {
  const Key& key = keys_.at(static_cast<std::size_t>(local));
  return text::hex(key.data(), key.size());
}

bool RankDoor::make_room() {
  if (visitors_.empty()) return false;
  drop(visitors_.begin()->first);
  return true;
}

void RankDoor::enter(UniqueFd fd) {
  if (visitors_.size() >= kMostVisitors) make_room();
  const std::uint64_t number = ++next_;
  Visitor& visitor = visitors_[number];
  visitor.fd = std::move(fd);
  visitor.limit = loop_.after(kVisitorLimit, [this, number] { drop(number); });
  loop_.on_readable(visitor.fd.get(), [this, number] { hear(number); });
  hear(number);  // a rank has spoken before it is heard
}

// A rank, and what it said.
struct RankDoor::Proved {
  std::uint64_t number;  // of the visitor
  int fd;
  wireup::DoorWords words;
  wireup::DoorAnswer answer;  // to be filled
  UniqueFd file;              // that came along

  int local() const { return words.ask.local; }
};

// Looked at first, and heard when it is proved: of nobody else a descriptor is let in. Who has gone
// since it spoke (a daemon may be stopped for long) changes nothing: no program of its rank is
// next.
void RankDoor::hear(std::uint64_t number) {
  using wireup::kDoorSecretBytes;
  std::array<char, wireup::kDoorMostAsk + 1> room{};
  const int fd = visitors_.at(number).fd.get();
  const ssize_t got = ::recv(fd, room.data(), room.size(), MSG_DONTWAIT | MSG_PEEK);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return drop(number);
  const auto words = wireup::parse_ask({room.data(), static_cast<std::size_t>(got)});
  const auto local = static_cast<std::size_t>(words ? words->ask.local : 0);
  if (!words || local >= keys_.size() ||
      !wireup::is_same_secret(words->ask.secret, keys_[local].data(), kDoorSecretBytes) ||
      has_gone(fd))
    return drop(number);
  Proved who{number, fd, *words, {}, {}};
  char first = 0;
  receive_with_fd(fd, &first, 1, &who.file);  // takes the datagram away
  who.answer.wish = words->ask.wish;
  std::memcpy(who.answer.secret, keys_[local].data() + kDoorSecretBytes, kDoorSecretBytes);
  switch (static_cast<wireup::DoorWish>(words->ask.wish)) {
    case wireup::DoorWish::join:
    case wireup::DoorWish::next:
      return let_in(who);
    case wireup::DoorWish::share:
      return share(who);
    case wireup::DoorWish::take:
      return give(who);
  }
}

void RankDoor::let_in(const Proved& who) {
  const auto wish = static_cast<wireup::DoorWish>(who.answer.wish);
  const int segment = answers_.segments(who.local(), wish);
  if (segment < 0) return drop(who.number);
  name_senders(who.fd);  // before it is answered: a rank speaks at once then
  const bool told = wireup::answer_at_door(who.fd, who.answer, {}, segment);
  loop_.forget(who.fd);
  UniqueFd control = std::move(visitors_.at(who.number).fd);
  drop(who.number);
  if (told) answers_.enters(who.local(), std::move(control));
}

// The file stays here as long as the connection does, or the rank's process.
void RankDoor::share(Proved& who) {
  wireup::DoorAnswer answer = who.answer;
  wireup::Takers to;
  std::memcpy(&to, who.words.body.data(), sizeof to);
  const auto generation = answers_.generation(who.local());
  if (!who.file.is_open()) {
    answer.refused = 1;
    wireup::answer_at_door(who.fd, answer, kNoDescriptor, -1);
    return drop(who.number);
  }
  auto key = generation ? files_->add(who.local(), *generation, to, std::move(who.file))
                        : fail(Code::other, "the rank's process has ended");
  if (!key) {
    answer.refused = 1;
    wireup::answer_at_door(who.fd, answer, key.error().text, -1);
    return drop(who.number);
  }
  const std::string_view body(reinterpret_cast<const char*>(&*key), sizeof *key);
  const bool told = wireup::answer_at_door(who.fd, answer, body, -1);
  loop_.forget(who.fd);
  UniqueFd line = std::move(visitors_.at(who.number).fd);
  drop(who.number);
  if (!told) return close_aside(files_->remove(key->number));
  const int fd = line.get();
  sharing_.emplace(key->number, Sharing{who.local(), std::move(line)});
  // It says nothing more: whatever comes, its end most of all, ends the sharing.
  loop_.on_readable(fd, [this, file = key->number] { withdraw(file); });
}

void RankDoor::give(const Proved& who) {
  wireup::DoorAnswer answer = who.answer;
  wireup::ShareKey key;
  std::memcpy(&key, who.words.body.data(), sizeof key);
  const auto generation = answers_.generation(who.local());
  const auto found = generation ? files_->find(who.local(), *generation, key)
                                : fail(Code::other, "the rank's process has ended");
  answer.refused = found ? 0 : 1;
  const bool told = wireup::answer_at_door(
      who.fd, answer, found ? std::string() : found.error().text, found ? *found : -1);
  if (!told && found) {
    answer.refused = 1;
    wireup::answer_at_door(who.fd, answer, kNoDescriptor, -1);
  }
  drop(who.number);
}

void RankDoor::withdraw(std::uint32_t file) {
  const auto sharing = sharing_.find(file);
  loop_.forget(sharing->second.line.get());
  sharing_.erase(sharing);
  close_aside(files_->remove(file));
}

// The last descriptor of a file whose ranks have gone: the kernel frees all its pages meanwhile.
void RankDoor::close_aside(UniqueFd file) {
  auto last = std::make_shared<UniqueFd>(std::move(file));
  aside(
      loop_, [last] { last->reset(); }, [] {});
}

void RankDoor::forget(int local) {
  for (auto each = sharing_.begin(); each != sharing_.end();) {
    const auto [file, sharing] = std::pair(each->first, each->second.local);
    ++each;
    if (sharing == local) withdraw(file);
  }
}

void RankDoor::drop(std::uint64_t number) {
  const auto visitor = visitors_.find(number);
  loop_.cancel(visitor->second.limit);
  if (visitor->second.fd.is_open()) loop_.forget(visitor->second.fd.get());
  visitors_.erase(visitor);
}

}  // namespace tutti::launch::daemon
