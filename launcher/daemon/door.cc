// One datagram from each visitor, one answer to who proves to be a rank.
#include "daemon/door.h"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "base/pass_fd.h"

namespace tutti::launch::daemon {
namespace {

constexpr std::size_t kMostVisitors = 64;
constexpr std::chrono::seconds kVisitorLimit{10};

// Takes as long whatever is wrong.
bool is_equal(const std::uint8_t* a, const std::uint8_t* b, std::size_t bytes) {
  unsigned differs = 0;
  for (std::size_t i = 0; i < bytes; ++i) differs |= static_cast<unsigned>(a[i] ^ b[i]);
  return differs == 0;
}

}  // namespace

Door::~Door() {
  watch_.close();
  while (make_room()) {
  }
}

Result<void> Door::open(std::size_t ranks, const std::string& temporary_folder) {
  keys_.resize(ranks);
  for (Key& key : keys_)
    if (::getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size()))
      return fail(Code::other, "no random numbers");
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

std::string Door::key_of(int local) const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : keys_.at(static_cast<std::size_t>(local)))
    text.append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
  return text;
}

bool Door::make_room() {
  if (visitors_.empty()) return false;
  drop(visitors_.begin()->first);
  return true;
}

void Door::enter(UniqueFd fd) {
  if (visitors_.size() >= kMostVisitors) make_room();
  const std::uint64_t number = ++next_;
  Visitor& visitor = visitors_[number];
  visitor.fd = std::move(fd);
  visitor.limit = loop_.after(kVisitorLimit, [this, number] { drop(number); });
  loop_.on_readable(visitor.fd.get(), [this, number] { hear(number); });
  hear(number);  // a rank has spoken before it is heard
}

void Door::hear(std::uint64_t number) {
  using wireup::DoorWish;
  using wireup::kDoorSecretBytes;
  wireup::DoorAsk ask;
  const int fd = visitors_.at(number).fd.get();
  const ssize_t got = ::recv(fd, &ask, sizeof ask, MSG_DONTWAIT | MSG_TRUNC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  const auto local = static_cast<std::size_t>(ask.local);
  const bool known = got == static_cast<ssize_t>(sizeof ask) && ask.magic == wireup::kDoorMagic &&
                     (ask.wish == static_cast<std::uint32_t>(DoorWish::join) ||
                      ask.wish == static_cast<std::uint32_t>(DoorWish::next)) &&
                     ask.local >= 0 && local < keys_.size();
  if (!known || !is_equal(ask.secret, keys_[local].data(), kDoorSecretBytes)) return drop(number);
  const int segment = segments_(static_cast<int>(local), static_cast<DoorWish>(ask.wish));
  if (segment < 0) return drop(number);
  wireup::DoorAnswer answer;
  answer.wish = ask.wish;
  std::memcpy(answer.secret, keys_[local].data() + kDoorSecretBytes, kDoorSecretBytes);
  const bool told =
      send_with_fd(fd, {reinterpret_cast<const char*>(&answer), sizeof answer}, segment);
  loop_.forget(fd);
  UniqueFd control = std::move(visitors_.at(number).fd);
  drop(number);
  if (told) enters_(static_cast<int>(local), std::move(control));
}

void Door::drop(std::uint64_t number) {
  const auto visitor = visitors_.find(number);
  loop_.cancel(visitor->second.limit);
  if (visitor->second.fd.is_open()) loop_.forget(visitor->second.fd.get());
  visitors_.erase(visitor);
}

}  // namespace tutti::launch::daemon
