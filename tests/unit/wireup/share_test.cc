// Shared files: what is kept for whom, how much, and ranks that share without a daemon.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "catch.h"
#include "wireup/protocol.h"
#include "wireup/share_store.h"
#include "wireup/wireup.h"

using namespace tutti;          // NOLINT(google-build-using-namespace): a test of one room
using namespace tutti::wireup;  // NOLINT(google-build-using-namespace): a test of one room

namespace {

UniqueFd file_of(std::uint64_t bytes, bool seals = true) {
  UniqueFd fd(::memfd_create("share", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(fd.get(), static_cast<off_t>(bytes)) == 0);
  if (seals) REQUIRE(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
  return fd;
}

Takers only(std::size_t local) {
  Takers takers;
  takers.add(local);
  return takers;
}

bool says(const Error& error, const char* what) {
  return error.text.find(what) != std::string::npos;
}

// Of this process, below a hundred.
std::set<int> open_numbers() {
  std::set<int> numbers;
  for (int fd = 0; fd < 100; ++fd)
    if (::fcntl(fd, F_GETFD) >= 0) numbers.insert(fd);
  return numbers;
}

// A program that closes what it did not open, and opens files of its own by those numbers.
std::vector<UniqueFd> close_all_but(const std::set<int>& own) {
  std::vector<UniqueFd> files;
  for (const int fd : open_numbers()) {
    if (own.count(fd) > 0) continue;
    const UniqueFd file(::memfd_create("the program's", MFD_CLOEXEC));
    REQUIRE(::dup2(file.get(), fd) == fd);
    files.emplace_back(fd);
  }
  return files;
}

ino_t number_of(int fd) {
  struct stat status {};
  REQUIRE(::fstat(fd, &status) == 0);
  return status.st_ino;
}

}  // namespace

TEST_CASE("a shared file is found by its takers, with its key, in its generation",
          "[wireup][share]") {
  ShareStore store(3, 77);
  const UniqueFd original = file_of(5000);
  const auto key = store.add(1, 2, only(4), UniqueFd(::dup(original.get())));
  REQUIRE(key);
  CHECK(key->bytes == 5000);
  CHECK(key->host == 3);
  CHECK(key->place == 77);
  CHECK(key->generation == 2);
  CHECK(key->sharer == 1);
  const auto found = store.find(4, 2, *key);
  REQUIRE(found);
  CHECK(number_of(*found) == number_of(original.get()));
  CHECK(says(store.find(5, 2, *key).error(), "other ranks only"));
  CHECK(says(store.find(1, 2, *key).error(), "other ranks only"));
  CHECK(says(store.find(4, 3, *key).error(), "another MPI program"));
  CHECK(says(store.find(-1, 2, *key).error(), "other ranks only"));
  for (std::size_t byte = 0; byte < kShareSecretBytes; ++byte) {
    ShareKey wrong = *key;
    wrong.secret[byte] ^= 0x80;
    CHECK(says(store.find(4, 2, wrong).error(), "nothing is shared under this key"));
  }
  const auto other = store.add(1, 2, only(4), file_of(1));
  REQUIRE(other);
  CHECK(std::memcmp(other->secret, key->secret, kShareSecretBytes) != 0);
  ShareKey mixed = *other;
  mixed.number = key->number;
  CHECK_FALSE(store.find(4, 2, mixed));
  store.remove(key->number);
  CHECK(says(store.find(4, 2, *key).error(), "nothing is shared under this key"));
  CHECK(store.find(4, 2, *other));
}

TEST_CASE("files and bytes of each rank are bounded, and come back", "[wireup][share]") {
  ShareStore store(0, 0);
  std::optional<ShareKey> first;
  for (std::size_t i = 0; i < kMostShared; ++i) {
    const auto key = store.add(7, 0, only(0), file_of(4096));
    REQUIRE(key);
    if (!first) first = *key;
  }
  CHECK(says(store.add(7, 0, only(0), file_of(4096)).error(), "already"));
  CHECK(store.add(8, 0, only(0), file_of(4096)));  // another rank's share
  store.remove(first->number);
  CHECK(store.add(7, 0, only(0), file_of(4096)));
  ShareStore bytes(0, 0);
  const auto half = bytes.add(0, 0, only(1), file_of(kMostSharedBytes / 2));
  REQUIRE(half);
  CHECK(says(bytes.add(0, 0, only(1), file_of(kMostSharedBytes / 2 + 1)).error(), "are left"));
  REQUIRE(bytes.add(0, 0, only(1), file_of(kMostSharedBytes / 2)));
  CHECK_FALSE(bytes.add(0, 0, only(1), file_of(1)));
  bytes.remove(half->number);
  CHECK(bytes.add(0, 0, only(1), file_of(1)));
}

TEST_CASE("only memory files whose size is final are kept", "[wireup][share]") {
  ShareStore store(0, 0);
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  CHECK_FALSE(store.add(0, 0, only(0), UniqueFd(pipe[0])));
  CHECK_FALSE(store.add(0, 0, only(0), UniqueFd(pipe[1])));
  CHECK_FALSE(store.add(0, 0, only(0), UniqueFd()));
  CHECK_FALSE(store.add(0, 0, only(0), file_of(100, false)));
  CHECK_FALSE(store.add(0, 0, only(0), file_of(0)));
  CHECK_FALSE(store.add(0, 0, only(0), UniqueFd(::open("/dev/zero", O_RDWR | O_CLOEXEC))));
  CHECK(store.size() == 0);
}

TEST_CASE("a datagram at a door is as long as its wish says, or nothing", "[wireup][share]") {
  const auto datagram = [](DoorWish wish, std::size_t body, std::uint32_t said) {
    DoorAsk ask;
    ask.wish = static_cast<std::uint32_t>(wish);
    ask.bytes = said;
    return std::string(reinterpret_cast<const char*>(&ask), sizeof ask) + std::string(body, 'x');
  };
  const auto good = [&](DoorWish wish, std::size_t body) {
    const auto exact = static_cast<std::uint32_t>(body);
    const std::string text = datagram(wish, body, exact);  // the words look into it
    const auto words = parse_ask(text);
    CHECK((words && words->body == std::string(body, 'x')));
    CHECK_FALSE(parse_ask(datagram(wish, body, exact + 1)));
    CHECK_FALSE(parse_ask(datagram(wish, body + 1, exact)));
    CHECK_FALSE(parse_ask(datagram(wish, body + 1, exact + 1)));
    CHECK_FALSE(parse_ask(datagram(wish, body, ~0U)));
  };
  good(DoorWish::join, 0);
  good(DoorWish::next, 0);
  good(DoorWish::share, sizeof(Takers));
  good(DoorWish::take, sizeof(ShareKey));
  CHECK_FALSE(parse_ask(datagram(static_cast<DoorWish>(5), 0, 0)));
  CHECK_FALSE(parse_ask(datagram(static_cast<DoorWish>(0), 0, 0)));
  CHECK_FALSE(parse_ask({}));
  CHECK_FALSE(parse_ask(datagram(DoorWish::join, 0, 0).substr(1)));
}

TEST_CASE("ranks without a daemon share, by a door of their own", "[wireup][share]") {
  auto worlds = in_threads({0, 0, 0, 1});
  const UniqueFd file = file_of(1 << 16, false);
  auto shared = worlds[0]->share(file.get(), std::vector{1});
  REQUIRE(shared);
  CHECK(worlds[0]->segment().header().this_host == shared->key().host);
  const auto taken = worlds[1]->take(shared->key());
  REQUIRE(taken);
  CHECK(number_of(taken->get()) == number_of(file.get()));
  CHECK(says(worlds[2]->take(shared->key()).error(), "other ranks only"));
  CHECK(says(worlds[3]->take(shared->key()).error(), "not of a rank of this host"));
  CHECK(says(worlds[0]->share(file.get(), std::vector{3}).error(), "host1"));
  // It outlives who made it, and ends by itself.
  const ShareKey key = shared->key();
  worlds[0].reset();
  CHECK(worlds[1]->take(key));
  std::optional<Shared> last(std::move(*shared));
  last.reset();
  CHECK(says(worlds[1]->take(key).error(), "shares nothing any more"));
  CHECK(number_of(taken->get()) == number_of(file.get()));
}

TEST_CASE("a program that closes descriptors behind us shares nothing any more, and keeps its own",
          "[wireup][share]") {
  auto worlds = in_threads({0, 0});
  const UniqueFd file = file_of(4096, false);
  const std::set<int> before = open_numbers();
  std::optional<Shared> shared(std::move(*worlds[0]->share(file.get())));
  const ShareKey key = shared->key();
  const std::vector<UniqueFd> programs = close_all_but(before);
  CHECK(programs.size() == 2);  // a door and a file
  const auto taken = worlds[1]->take(key);
  REQUIRE_FALSE(taken);
  CHECK(taken.error().text.find('\n') == std::string::npos);
  CHECK(says(worlds[0]->share(file.get()).error(), "has closed descriptors that it did not open"));
  shared.reset();
  worlds[0].reset();  // its thread ends
  for (const UniqueFd& one : programs) CHECK(::fcntl(one.get(), F_GETFD) >= 0);
}

TEST_CASE("a file that the program closes behind us is given to nobody, nor the next by its number",
          "[wireup][share]") {
  ShareStore store(0, 0);
  UniqueFd file = file_of(4096);
  const int number = file.get();
  const auto key = store.add(0, 0, only(1), std::move(file));
  REQUIRE(key);
  const UniqueFd other = file_of(4096);
  REQUIRE(::dup2(other.get(), number) == number);
  CHECK(says(store.find(1, 0, *key).error(), "has closed descriptors that it did not open"));
  CHECK_FALSE(store.remove(key->number).is_open());
  CHECK(::close(number) == 0);
}

TEST_CASE("many ranks take at once while others share", "[wireup][share]") {
  constexpr int kRanks = 4, kTimes = 200;
  auto worlds = in_threads(std::vector<int>(kRanks, 0));
  const UniqueFd file = file_of(4096, false);
  const auto shared = worlds[0]->share(file.get());
  REQUIRE(shared);
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      for (int i = 0; i < kTimes; ++i) {
        const auto own = worlds[static_cast<std::size_t>(rank)]->share(file.get());
        const auto taken = worlds[static_cast<std::size_t>(rank)]->take(shared->key());
        good += own && taken ? 1 : 0;
      }
    });
  for (std::thread& each : threads) each.join();
  CHECK(good == kRanks * kTimes);
}
