// What processes of this machine can reach that are not of the job: the socket at which a rank
// hands the segment to its neighbours, what is offered in its place, and the bells of sleepers.
// Other users get nothing, no descriptor stays, and a bell that was rung wakes.
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include "base/pass_fd.h"
#include "catch.h"
#include "mutate.h"
#include "wireup/doorbell.h"
#include "wireup/handover.h"

using namespace tutti;          // NOLINT(google-build-using-namespace): a test
using namespace tutti::wireup;  // NOLINT(google-build-using-namespace): a test

namespace {

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    static_cast<void>(each);
    ++count;
  }
  return count;
}

struct Address {
  sockaddr_un at{};
  socklen_t length = 0;
};

Address address_of(const std::string& name) {
  Address address;
  address.at.sun_family = AF_UNIX;
  name.copy(address.at.sun_path + 1, sizeof address.at.sun_path - 1);
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

// Not open: nobody listens there.
UniqueFd visit(const std::string& name) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Address address = address_of(name);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.at), address.length) != 0)
    fd.reset();
  return fd;
}

// With so many descriptors along, and no matter what becomes of it.
void say(int to, const std::string& words, const std::vector<int>& fds) {
  iovec part{const_cast<char*>(words.data()), words.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> room{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = room.data();
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(head), fds.data(), fds.size() * sizeof(int));
  }
  ::sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// The same file, whatever the descriptor.
bool is_same(int one, int other) {
  struct stat a {
  }, b{};
  return ::fstat(one, &a) == 0 && ::fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

std::string bytes_of(const SegmentFacts& facts) {
  return {reinterpret_cast<const char*>(&facts), sizeof facts};
}

UniqueFd file_of(const std::string& bytes, std::size_t size) {
  UniqueFd fd(::memfd_create("fuzz", MFD_CLOEXEC));
  REQUIRE(::pwrite(fd.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  REQUIRE(::ftruncate(fd.get(), static_cast<off_t>(size)) == 0);
  return fd;
}

// A visitor of another user, where we may be one: only this thread is.
void visit_as_stranger(fuzz::Random& random, const std::string& name) {
  constexpr uid_t kNobody = 65534;
  if (::syscall(SYS_setresuid, kNobody, kNobody, kNobody) != 0) return;
  const UniqueFd fd = visit(name);
  if (!fd.is_open()) return;
  const std::vector<int> fds(random.below(4), fd.get());
  if (random.below(2) == 0) say(fd.get(), std::string(random.below(300), '1'), fds);
  if (random.below(3) == 0) return;
  char byte = 0;
  UniqueFd got;
  const ssize_t bytes = receive_with_fd(fd.get(), &byte, 1, &got);
  CHECK(bytes <= 0);
  CHECK_FALSE(got.is_open());
}

}  // namespace

TEST_CASE("a segment is handed to its takers whoever else comes", "[fuzz][handover]") {
  const UniqueFd segment = file_of("a segment", 4096);
  fuzz::Rounds rounds("handover", 500);
  const std::size_t before = open_descriptors();
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    const std::string name =
        "tutti-fuzz-" + std::to_string(::getpid()) + "-" + std::to_string(rounds.number());
    // Processes of our own user are takers, whatever they say.
    const int odd = static_cast<int>(random.below(3)),
              takers = 1 + static_cast<int>(random.below(2));
    std::optional<Result<void>> done;
    std::thread holder([&] { done = hand_out(name, segment.get(), odd + takers); });
    for (int i = 0; i < odd; ++i) {
      UniqueFd fd = visit(name);
      while (!fd.is_open()) {
        ::usleep(500);
        fd = visit(name);
      }
      std::thread([&] { visit_as_stranger(random, name); }).join();
      say(fd.get(), std::string(random.below(300), 'x'), std::vector<int>(random.below(4), 0));
      char byte = 0;
      UniqueFd got;
      CHECK(receive_with_fd(fd.get(), &byte, 1, &got) == 1);
    }
    for (int i = 0; i < takers; ++i) {
      const auto taken = take_from(name);
      CHECK(taken);
      if (taken) CHECK(is_same(taken->get(), segment.get()));
    }
    holder.join();
    REQUIRE((done && *done));
    REQUIRE(open_descriptors() == before);
  }
}

TEST_CASE("what is offered in a segment's place is told from one", "[fuzz][handover_answers]") {
  const SegmentFacts facts = plan_segment({});
  const std::vector<std::string> seeds{bytes_of(facts), bytes_of(SegmentFacts{}), "tuttiseg"};
  fuzz::Rounds rounds("handover_answers", 500);
  const std::size_t before = open_descriptors();
  int attached = 0;
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    const std::string name =
        "tutti-fuzz-" + std::to_string(::getpid()) + "-" + std::to_string(rounds.number());
    const std::string bytes = fuzz::bend(random, seeds);
    const std::size_t size = random.below(3) == 0 ? random.below(10'000) : facts.bytes;
    const UniqueFd offered = file_of(bytes, size);
    const UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const Address at = address_of(name);
    REQUIRE(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at.at), at.length) == 0);
    REQUIRE(::listen(listener.get(), 8) == 0);
    std::thread liar([&] {
      for (std::size_t lies = random.below(4); lies > 0; --lies) {
        const UniqueFd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        say(fd.get(), std::string(random.below(3), 'x'), {});
      }
      const UniqueFd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      say(fd.get(), "1", std::vector<int>(1 + random.below(3), offered.get()));
    });
    {
      auto taken = take_from(name);
      liar.join();
      REQUIRE(taken);
      REQUIRE(is_same(taken->get(), offered.get()));
      const auto segment = Segment::attach(taken->get());
      if (segment) taken->release();
      if (segment) REQUIRE(segment->header().bytes == size);
      if (!segment) REQUIRE_FALSE(segment.error().text.empty());
      attached += segment ? 1 : 0;
    }
    REQUIRE(open_descriptors() == before + 2);  // ours: offered and listener
  }
  CHECK(attached > 0);
}

TEST_CASE("a bell is heard among those that strangers ring", "[fuzz][doorbell]") {
  SegmentFacts facts = plan_segment({});
  facts.job_id = static_cast<std::uint64_t>(::getpid());
  const auto segment = Segment::create(facts);
  REQUIRE(segment);
  const UniqueFd bell = open_doorbell(*segment, 0);
  REQUIRE(bell.is_open());
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "tutti-%016llx-0-0-0",
                static_cast<unsigned long long>(facts.job_id));
  const Address at = address_of(name.data());
  const UniqueFd stranger(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(stranger.get(), reinterpret_cast<const sockaddr*>(&at.at), at.length) == 0);
  const auto rings = [&] {
    pollfd look{bell.get(), POLLIN, 0};
    return ::poll(&look, 1, 0) == 1;
  };
  fuzz::Rounds rounds("doorbell", 5000);
  const std::size_t before = open_descriptors();
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    for (std::size_t count = random.below(20); count > 0; --count)
      say(stranger.get(), std::string(random.below(random.below(8) == 0 ? 70'000 : 30), 'x'),
          std::vector<int>(random.below(4), 0));
    ring_doorbell(*segment, 0);
    REQUIRE(rings());
    // Each drain takes something away: the rank looks after its work in between.
    int drains = 0;
    for (; rings(); ++drains) drain_doorbell(bell.get());
    REQUIRE(drains <= 21);
    REQUIRE(open_descriptors() == before);
  }
}
