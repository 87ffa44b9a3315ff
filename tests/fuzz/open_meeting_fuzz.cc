// The meeting of torchrun's nodes without a key, at which anybody may come who knows our words: a
// seat goes to who speaks the whole language, and what he says of himself makes sense.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include "catch.h"
#include "mutate.h"
#include "spawn/meet_words.h"

using namespace tutti;                   // NOLINT(google-build-using-namespace): a test
using namespace tutti::launch::control;  // NOLINT(google-build-using-namespace): a test
using namespace tutti::launch::spawn;    // NOLINT(google-build-using-namespace): a test

namespace {

MeetingKey no_key() {
  MeetingKey key;
  key.is_open = true;
  key.job = "torchrun fuzz";
  return key;
}

UniqueFd visit(int port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
  const linger at_once{1, 0};  // no connection stays in the kernel's table
  ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  return fd;
}

void serve(Loop& loop, int ms = 0) {
  loop.after(std::chrono::milliseconds(ms), [&loop] { loop.post([&loop] { loop.stop(); }); });
  loop.run();
}

void put(const UniqueFd& fd, const std::string& bytes) {
  static_cast<void>(!::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
}

// The line by which a visitor is answered, without its end; empty: it was turned away.
std::string answer_at(Loop& loop, const UniqueFd& fd) {
  for (;;) {
    serve(loop);
    pollfd look{fd.get(), POLLIN, 0};
    if (::poll(&look, 1, 1) < 1) continue;
    std::string line(4096, '\0');
    const ssize_t got = ::recv(fd.get(), line.data(), line.size(), MSG_DONTWAIT);
    line.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return line.substr(0, line.find('\n'));
  }
}

BlobView view(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// A word of the line by which a joining host says who it is: mostly one that makes sense.
std::string word(fuzz::Random& random, bool bent, const std::string& good) {
  static const std::vector<std::string> odd{"",   "-1",   "0",    "1048576", "99999999999",
                                            "..", "a\tb", "\xc3", "x/y",     std::string(300, 'n')};
  if (!bent || random.below(12) != 0) return good;
  return random.below(2) == 0 ? odd[random.below(odd.size())]
                              : fuzz::mutate(random, {good}, " -0a\n");
}

// What is planned with, and shown.
void check(const JoiningHost& one) {
  REQUIRE((one.slots > 0 && one.slots < (1 << 20)));
  REQUIRE((one.node_rank >= -1 && one.node_rank < (1 << 20)));
  REQUIRE((!one.name.empty() && one.name.size() < 256 && one.name[0] != '.' && one.name[0] != '-'));
  for (const char c : one.name) REQUIRE((c > ' ' && c != '/'));
  REQUIRE(!one.id.empty());
}

}  // namespace

TEST_CASE("a seat is for who says all that a joining host says", "[fuzz][open_meeting]") {
  Loop loop;
  const auto meeting = HostMeeting::open({"127.0.0.1", 0}, no_key());
  REQUIRE(meeting);
  (*meeting)->attach(loop, [] {});
  auto& waiting = (*meeting)->waiting();
  std::vector<UniqueFd> stay;
  int wrong = 0;
  fuzz::Rounds rounds("open_meeting", 2000);
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    const bool bent = random.below(4) != 0;
    UniqueFd fd = visit((*meeting)->port());
    secure::Exchange exchange(secure::Side::caller, no_key().secret);
    std::string id = "id" + std::to_string(random.below(8));  // the same ones come again
    const std::string join = std::string(kJoinWord) + " " +
                             word(random, bent, secure::text_of(exchange.own_public())) + " " +
                             word(random, bent, "open") + " " + word(random, bent, version()) +
                             " " + word(random, bent, id) + " " + word(random, bent, "2") + " " +
                             word(random, bent, "-1") + " " + word(random, bent, "host");
    put(fd, join + "\n");
    const std::string meet = answer_at(loop, fd);
    const auto at = meet.find(' ', kMeetWord.size() + 1);
    const auto theirs = meet.starts_with(kMeetWord) && at != std::string::npos
                            ? secure::key_of(meet.substr(kMeetWord.size() + 1, 64))
                            : std::nullopt;
    const bool agreed = theirs && exchange.agree(*theirs, view(said_by_both(no_key(), join, meet)));
    if (!bent) REQUIRE(agreed);
    std::string proof = std::string(kProofWord) + " " + secure::text_of(exchange.proof()) + "\n";
    if (bent && random.below(3) == 0) proof = fuzz::bend(random, {proof});
    put(fd, proof);
    if (agreed) {
      auto stream = std::make_unique<secure::RecordStream>(exchange.keys());
      std::string wire;
      for (std::size_t count = random.below(4); count > 0; --count)
        stream->seal(fuzz::bend(random, {frame(kEveryHost, encode(Heartbeat{}))}), wire);
      if (bent && random.below(3) == 0) wire = fuzz::bend(random, {wire, proof});
      put(fd, wire);
    }
    if (!bent) REQUIRE(answer_at(loop, fd).starts_with(kWelcomeWord));
    for (int i = 0; i < 3; ++i) serve(loop);
    const auto seat = std::find_if(waiting.begin(), waiting.end(),
                                   [&](const auto& one) { return one->id == id; });
    if (!bent) REQUIRE(seat != waiting.end());
    // Who guessed wrongly keeps a place for a second, and places are few.
    if (agreed && seat == waiting.end() && ++wrong % 200 == 0) serve(loop, 1100);
    for (const auto& one : waiting) check(*one);
    REQUIRE(waiting.size() <= stay.size() + 1);
    if (random.below(2) == 0) stay.push_back(std::move(fd));
    while (stay.size() > random.below(6)) stay.erase(stay.begin());
    fd.reset();
    serve(loop);
  }
}
