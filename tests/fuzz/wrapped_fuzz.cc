// Words of ranks behind wrappers, and of ranks that share a segment under another launcher: asks at
// a daemon's door, answers of who holds a door's path, descriptors that nobody wanted. Nobody is
// let in without its key, nothing is taken for a segment that no daemon proved, no descriptor
// stays.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include "base/pass_fd.h"
#include "catch.h"
#include "daemon/door.h"
#include "mutate.h"
#include "wireup/door.h"
#include "wireup/wireup.h"

using namespace tutti;                   // NOLINT(google-build-using-namespace): a test
using namespace tutti::launch::control;  // NOLINT(google-build-using-namespace): a test
using wireup::DoorAnswer;
using wireup::DoorAsk;

namespace {

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    static_cast<void>(each);
    ++count;
  }
  return count;
}

template <class T>
std::string bytes_of(const T& words) {
  return {reinterpret_cast<const char*>(&words), sizeof words};
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

void serve(Loop& loop) {
  loop.after(std::chrono::milliseconds(0), [&loop] { loop.post([&loop] { loop.stop(); }); });
  loop.run();
}

// With up to three descriptors along, of which nobody asked for any but perhaps one.
void send_with_many(fuzz::Random& random, int to, const std::string& words, int wanted = 0) {
  iovec part{const_cast<char*>(words.data()), words.size()};
  int fds[3] = {wanted, 0, 0};
  const std::size_t count = random.below(4);
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof fds)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (count > 0) {
    message.msg_control = room;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(head), fds, count * sizeof(int));
  }
  ::sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

TEST_CASE("nonsense at a daemon's door lets nobody in", "[fuzz][door]") {
  Loop loop;
  int entered = 0;
  launch::daemon::RankDoor door(loop, {[](int, wireup::DoorWish) { return 0; },
                                       [&](int, UniqueFd) { ++entered; }, [](int) { return 0U; }});
  REQUIRE(door.open(3, 0, "/tmp"));
  DoorAsk ask;
  ask.wish = static_cast<std::uint32_t>(wireup::DoorWish::join);
  ask.local = 2;
  std::memset(ask.secret, 7, sizeof ask.secret);
  const std::vector<std::string> seeds{bytes_of(ask), bytes_of(DoorAsk{}), bytes_of(DoorAnswer{})};
  const sockaddr_un at = address_of(door.path());
  const std::size_t before = open_descriptors();
  fuzz::Rounds rounds("door", 5000);
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    const UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
    if (random.below(2) == 0) serve(loop);
    for (std::size_t words = random.below(3); words > 0; --words)
      send_with_many(random, fd.get(), fuzz::bend(random, seeds));
    serve(loop);
    REQUIRE(entered == 0);
    REQUIRE(open_descriptors() < before + 70);
  }
  for (int local = 0; local < 3; ++local) {
    const auto wish = local == 1 ? wireup::DoorWish::next : wireup::DoorWish::join;
    std::thread rank(
        [&] { CHECK(wireup::enter_door(door.path(), door.key_of(local), local, wish)); });
    for (int i = 0; i < 1000 && entered == local; ++i) {
      serve(loop);
      ::usleep(1000);
    }
    rank.join();
    CHECK(entered == local + 1);
  }
}

TEST_CASE("who holds a door's path and is no daemon is not believed", "[fuzz][door_answers]") {
  char folder[] = "/tmp/fuzz-door-XXXXXX";
  REQUIRE(::mkdtemp(folder) != nullptr);
  const std::string path = std::string(folder) + "/door";
  const sockaddr_un at = address_of(path);
  const UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  REQUIRE(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
  REQUIRE(::listen(listener.get(), 8) == 0);
  DoorAnswer answer;
  answer.wish = static_cast<std::uint32_t>(wireup::DoorWish::join);
  const std::vector<std::string> seeds{bytes_of(answer), bytes_of(answer) + "more",
                                       std::string(600, 'x')};
  const std::string key(4 * wireup::kDoorSecretBytes, '7');
  fuzz::Rounds rounds("door_answers", 3000);
  const std::size_t before = open_descriptors();
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    const std::string words = fuzz::bend(random, seeds);
    std::atomic<bool> is_over{false};
    std::thread liar([&] {  // a rank that is put out comes again
      while (!is_over.load()) {
        pollfd look{listener.get(), POLLIN, 0};
        if (::poll(&look, 1, 1) <= 0) continue;
        const UniqueFd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        char heard[256];
        static_cast<void>(::recv(fd.get(), heard, sizeof heard, 0));
        send_with_many(random, fd.get(), words);
      }
    });
    const bool is_in = wireup::enter_door(path, key, 1, wireup::DoorWish::join).has_value();
    is_over.store(true);
    liar.join();
    REQUIRE_FALSE(is_in);
    REQUIRE(open_descriptors() == before);
  }
  std::filesystem::remove_all(folder);
}

namespace {

// Asks of who knows the secret, right and bent: a word behind the header, and what is said of it.
std::string some_ask(fuzz::Random& random, const std::uint8_t* secret,
                     const wireup::ShareKey& known) {
  wireup::Takers takers;
  takers.add(1);
  const bool shares = random.below(2) == 0;
  std::string body = shares ? bytes_of(takers) : bytes_of(known);
  if (random.below(2) == 0) body = fuzz::bend(random, {body});
  DoorAsk ask;
  ask.wish = static_cast<std::uint32_t>(shares ? wireup::DoorWish::share : wireup::DoorWish::take);
  ask.local = static_cast<std::int32_t>(random.below(3));
  ask.bytes = static_cast<std::uint32_t>(random.below(4) == 0 ? random.next() : body.size());
  std::memcpy(ask.secret, secret, sizeof ask.secret);
  std::string words = bytes_of(ask) + body;
  return random.below(4) == 0 ? fuzz::bend(random, {words}) : words;
}

UniqueFd sealed_file() {
  UniqueFd fd(::memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(fd.get(), 4096) == 0);
  REQUIRE(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
  return fd;
}

std::array<std::uint8_t, wireup::kDoorSecretBytes> secret_in(const std::string& key) {
  std::array<std::uint8_t, wireup::kDoorSecretBytes> secret{};
  for (std::size_t i = 0; i < secret.size(); ++i)
    secret[i] = static_cast<std::uint8_t>(std::stoi(key.substr(2 * i, 2), nullptr, 16));
  return secret;
}

// What is no longer shared is closed aside, by threads: so many descriptors are left in the end.
bool comes_down_to(Loop& loop, std::size_t most) {
  for (int i = 0; i < 10'000 && open_descriptors() > most; ++i) {
    serve(loop);
    ::usleep(1000);
  }
  return open_descriptors() <= most;
}

// Runs it while the loop serves.
template <class Body>
void beside(Loop& loop, const Body& body) {
  std::atomic<bool> done = false;
  std::thread rank([&] {
    body();
    done = true;
  });
  while (!done) serve(loop);
  rank.join();
}

}  // namespace

// All of rank 0's connections end before the last look.
TEST_CASE("ranks that say nonsense of what they share harm nobody", "[fuzz][share]") {
  Loop loop;
  std::optional<std::uint32_t> generation = 0;
  launch::daemon::RankDoor door(loop, {[](int, wireup::DoorWish) { return 0; },
                                       [](int, UniqueFd) {}, [&](int) { return generation; }});
  REQUIRE(door.open(3, 0, "/tmp"));
  const sockaddr_un at = address_of(door.path());
  const auto secret = secret_in(door.key_of(0));
  const UniqueFd file = sealed_file();
  wireup::ShareKey key;
  const auto exchange = [&] {
    wireup::Takers takers;
    takers.add(2);
    const auto shared = wireup::ask_daemon({door.path(), door.key_of(1), 1},
                                           wireup::DoorWish::share, bytes_of(takers), file.get());
    REQUIRE(shared);
    std::memcpy(&key, shared->body.data(), sizeof key);
    const auto take = [&](int local) {
      return wireup::ask_daemon({door.path(), door.key_of(local), local}, wireup::DoorWish::take,
                                bytes_of(key), -1);
    };
    const auto taken = take(2);
    CHECK((taken && taken->fd.is_open()));
    CHECK_FALSE(take(0));
    generation = 1;
    CHECK_FALSE(take(2));
    generation.reset();
    CHECK_FALSE(take(2));
    generation = 0;
  };
  const std::size_t before = open_descriptors();
  beside(loop, exchange);
  fuzz::Rounds rounds("share", 5000);
  std::vector<UniqueFd> kept;
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
    for (std::size_t words = 1 + random.below(2); words > 0; --words)
      send_with_many(random, fd.get(), some_ask(random, secret.data(), key), file.get());
    serve(loop);
    if (kept.size() < 100) kept.push_back(std::move(fd));
    if (random.below(50) == 0) kept.clear();
    REQUIRE(comes_down_to(loop, before + kept.size() + 64 + 2 * wireup::kMostShared + 10));
  }
  kept.clear();
  for (int i = 0; i < 10; ++i) serve(loop);
  door.forget(0);
  CHECK(comes_down_to(loop, before + 2));
  beside(loop, exchange);
}

TEST_CASE("nonsense at the door of a rank that shares harms nobody", "[fuzz][share_server]") {
  auto worlds = wireup::in_threads({0, 0, 0});
  const UniqueFd file = sealed_file();
  const auto shared = worlds[0]->share(file.get(), std::vector{1});
  REQUIRE(shared);
  const std::string name = "tutti-share-" + std::to_string(shared->key().place);
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  name.copy(at.sun_path + 1, sizeof at.sun_path - 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const std::size_t before = open_descriptors();
  fuzz::Rounds rounds("share_server", 5000);
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    const UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), length) == 0);
    const auto* const secret = worlds[0]->segment().header().job_key;
    send_with_many(random, fd.get(), some_ask(random, secret, shared->key()), file.get());
  }
  CHECK(worlds[1]->take(shared->key()));  // heard last: all others were
  CHECK_FALSE(worlds[2]->take(shared->key()));
  CHECK(open_descriptors() <= before + 2);
}
