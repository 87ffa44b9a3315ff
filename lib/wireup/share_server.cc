// An abstract socket of a random name. The kernel says on both sides whose process the other is; to
// that a rank of this host must be the process that the segment names, and know the job's key.
#include "wireup/share_server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/log.h"
#include "base/pass_fd.h"
#include "base/random_bytes.h"
#include "base/shortage.h"
#include "base/socket_peer.h"
#include "wireup/door.h"

namespace tutti::wireup {
namespace {

constexpr int kVisitorMs = 1000;  // for one of our own user to say what it wants
constexpr useconds_t kServerRestUs = 100'000;
constexpr int kDoorLookMs = 1000;  // whether the program has closed it behind our back
constexpr time_t kTakePatienceS = 60;
constexpr const char* kNoDoor =
    "this process has closed descriptors that it did not open, and with them the door at which its "
    "neighbours take the files that it shares: they get none any more; whoever closes all "
    "(closefrom, a loop) does so before MPI_Init";

struct ServerName {
  sockaddr_un at{};
  socklen_t length = 0;
};

ServerName name_of(std::uint64_t place) {
  ServerName name;
  name.at.sun_family = AF_UNIX;  // sun_path[0] stays 0: abstract
  const std::string text = "tutti-share-" + std::to_string(place);
  text.copy(name.at.sun_path + 1, sizeof name.at.sun_path - 1);
  name.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return name;
}

// Halves of the job's key: the first proves who takes, the second who shares.
DoorSecrets secrets_of(const Segment& segment) {
  static_assert(sizeof(SegmentFacts::job_key) == 2 * kDoorSecretBytes);
  DoorSecrets secrets{};
  const std::uint8_t* const key = segment.header().job_key;
  std::memcpy(secrets.own.data(), key, kDoorSecretBytes);
  std::memcpy(secrets.theirs.data(), key + kDoorSecretBytes, kDoorSecretBytes);
  return secrets;
}

// It is a local rank of this segment: that one's own process.
bool is_rank(const Segment& segment, std::int32_t local, pid_t pid) {
  if (static_cast<std::uint32_t>(local) >= segment.header().local_ranks) return false;
  const LocalRecord& record = segment.local(static_cast<std::uint32_t>(local));
  // acquire: pairs with the rank's release when it joined, after it wrote its number.
  return record.state.load(std::memory_order_acquire) !=
             static_cast<std::uint32_t>(RankState::starting) &&
         record.pid == pid;
}

}  // namespace

struct ShareServer::Held final : Shared::Hold {
  Held(std::shared_ptr<ShareServer> of, std::uint32_t key) : server(std::move(of)), number(key) {}
  // Not in a child that was forked: the lock may be held there by nobody.
  ~Held() override {
    if (::getpid() != server->pid_) return;
    UniqueFd file;
    const std::lock_guard lock(server->mutex_);
    file = server->store_.remove(number);
  }
  std::shared_ptr<ShareServer> server;
  std::uint32_t number;
};

ShareServer::ShareServer(std::shared_ptr<const Segment> segment, int local, std::uint64_t place)
    : segment_(std::move(segment)),
      local_(local),
      pid_(::getpid()),
      store_(static_cast<int>(segment_->header().this_host), place) {}

Result<std::shared_ptr<ShareServer>> ShareServer::start(std::shared_ptr<const Segment> segment,
                                                        int local) {
  std::uint64_t place = 0;
  if (!random_bytes(&place, sizeof place))
    return fail(Code::other, "the kernel gives no random numbers");
  std::shared_ptr<ShareServer> made(new ShareServer(std::move(segment), local, place));
  UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const ServerName name = name_of(place);
  if (!listener.is_open() ||
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&name.at), name.length) != 0 ||
      ::listen(listener.get(), 1024) != 0)
    return fail(Code::other, std::string("no socket to share files by: ") + std::strerror(errno));
  made->listener_ = KeptFd(std::move(listener));
  made->thread_ = QuietThread([server = made.get()] { server->work(); });
  if (!made->thread_.joinable())
    return fail(Code::other, std::string("no thread to share files by; ") + kMoreThreads);
  return made;
}

ShareServer::~ShareServer() {
  if (!thread_.joinable()) return;
  if (::getpid() != pid_) {
    thread_.detach();
    return;
  }
  is_over_.store(true, std::memory_order_release);
  if (listener_.is_there()) ::shutdown(listener_.get(), SHUT_RDWR);  // children may hold it, too
  thread_.join();
}

int ShareServer::wait_for_visitor() const {
  pollfd look{listener_.get(), POLLIN, 0};
  const int ready = ::poll(&look, 1, kDoorLookMs);
  if (ready < 0 && errno != EINTR) ::usleep(kServerRestUs);
  return ready;
}

void ShareServer::work() {
  for (int ready = 0;; ready = wait_for_visitor()) {
    if (is_over_.load(std::memory_order_acquire)) return;
    if (!listener_.is_there()) return log::warn(kNoDoor);
    if (ready <= 0) continue;
    const UniqueFd visitor(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (visitor.is_open())
      serve(visitor.get());
    else if (errno != EAGAIN)
      ::usleep(kServerRestUs);
  }
}

// One that is nobody's here, or says nothing, goes without a word.
void ShareServer::serve(int visitor) {
  const auto peer = socket_peer(visitor);
  if (!peer || peer->uid != ::geteuid()) return;
  pollfd look{visitor, POLLIN, 0};
  if (::poll(&look, 1, kVisitorMs) != 1) return;
  std::array<char, kDoorMostAsk + 1> room{};
  const ssize_t got = ::recv(visitor, room.data(), room.size(), MSG_DONTWAIT);
  if (got <= 0) return;
  const auto words = parse_ask({room.data(), static_cast<std::size_t>(got)});
  const DoorSecrets secrets = secrets_of(*segment_);
  if (!words || words->ask.wish != static_cast<std::uint32_t>(DoorWish::take) ||
      !is_same_secret(words->ask.secret, secrets.own.data(), kDoorSecretBytes) ||
      !is_rank(*segment_, words->ask.local, peer->pid))
    return;
  ShareKey key;
  std::memcpy(&key, words->body.data(), sizeof key);
  DoorAnswer answer;
  answer.wish = words->ask.wish;
  std::memcpy(answer.secret, secrets.theirs.data(), kDoorSecretBytes);
  const std::lock_guard lock(mutex_);  // the descriptor stays until it is sent
  const auto found = store_.find(words->ask.local, segment_->header().generation, key);
  answer.refused = found ? 0 : 1;
  const bool told = answer_at_door(visitor, answer, found ? std::string() : found.error().text,
                                   found ? *found : -1);
  if (told || !found) return;
  answer.refused = 1;
  answer_at_door(visitor, answer, "its descriptor cannot be sent; take the others first", -1);
}

Result<Shared> ShareServer::share(const std::shared_ptr<ShareServer>& server, int fd,
                                  const Takers& to) {
  if (!server->listener_.is_there()) return fail(Code::other, kNoDoor);
  UniqueFd file(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!file.is_open())
    return fail(Code::no_mem, std::string("a file cannot be shared: ") + std::strerror(errno));
  const std::lock_guard lock(server->mutex_);
  auto key = server->store_.add(server->local_, server->segment_->header().generation, to,
                                std::move(file));
  if (!key) return fail(key.error().code, "a file cannot be shared: " + key.error().text);
  return Shared(*key, std::make_unique<Held>(server, key->number));
}

Result<Shared> ShareServer::share(std::shared_ptr<ShareServer>& own,
                                  const std::shared_ptr<const Segment>& segment, int local, int fd,
                                  const Takers& to) {
  if (!own) {
    TUTTI_TRY(server, start(segment, local));
    own = std::move(server);
  }
  return share(own, fd, to);
}

Result<UniqueFd> ShareServer::take(const Segment& segment, int local, const ShareKey& key) {
  UniqueFd line(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const ServerName name = name_of(key.place);
  if (!line.is_open())
    return fail(errno == EMFILE || errno == ENFILE ? Code::no_mem : Code::other,
                std::strerror(errno));
  const timeval patience{kTakePatienceS, 0};
  ::setsockopt(line.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (::connect(line.get(), reinterpret_cast<const sockaddr*>(&name.at), name.length) != 0)
    return fail(Code::arg,
                std::string("it shares nothing any more, or has ended: ") + std::strerror(errno));
  const auto peer = socket_peer(line.get());
  if (!peer || peer->uid != ::geteuid())
    return fail(Code::access, "another user answers in its place");
  // A child of the sharer may keep its door open.
  if (::kill(peer->pid, 0) != 0 && errno == ESRCH)
    return fail(Code::arg, "it shares nothing any more, or has ended");
  DoorAsk ask;
  ask.wish = static_cast<std::uint32_t>(DoorWish::take);
  ask.local = local;
  auto told = ask_over(std::move(line), secrets_of(segment), ask,
                       {reinterpret_cast<const char*>(&key), sizeof key}, -1);
  if (!told) return fail(told.error().code, told.error().text);
  return std::move(told->fd);
}

}  // namespace tutti::wireup
