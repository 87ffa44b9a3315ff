// Nonsense for the tcp transport: handshakes, addresses, and frames on an established stream.
// Nothing crashes, nobody is let in, and what a stream delivers is what its bytes say.
#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "catch.h"
#include "mutate.h"
#include "transport/tcp/handshake.h"
#include "transport/tcp/interfaces.h"
#include "transport/tcp/seal.h"
#include "transport/tcp/stream.h"

using namespace tutti;                  // NOLINT(google-build-using-namespace): a test
using namespace tutti::transport;       // NOLINT(google-build-using-namespace): a test
using namespace tutti::transport::tcp;  // NOLINT(google-build-using-namespace): a test

namespace {

std::vector<std::byte> noise(fuzz::Random& random, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  for (auto& byte : out) byte = static_cast<std::byte>(random.next() >> 32);
  return out;
}

Identity identity(std::uint32_t rank) {
  Identity own;
  own.job = 5;
  own.key.fill(3);
  own.rank = rank;
  own.ranks = 3;
  return own;
}

// Counts frames and checks that payloads are what the sender wrote.
class Reader final : public Sink {
 public:
  std::size_t frames = 0;
  bool is_right = true;
  bool on_frame(int, const FrameHeader& header, std::span<std::byte> payload) override {
    ++frames;
    for (const std::byte byte : payload)
      is_right = is_right && byte == static_cast<std::byte>(header.cookie);
    return true;
  }
  std::byte* place(int, const FrameHeader& header, std::size_t bytes) override {
    placed_.resize(bytes);
    return header.tag % 2 == 0 ? placed_.data() : nullptr;
  }
  void on_peer_gone(int, const Error&) override {}

 private:
  std::vector<std::byte> placed_;
};

struct Pipe {
  UniqueFd ours;
  Poller poller;
  Scratch scratch;
  Reader reader;
  std::unique_ptr<Stream> stream;

  explicit Pipe(const LinkSession& session = {}) {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    ours.reset(ends[0]);
    stream = std::make_unique<Stream>(UniqueFd(ends[1]), 1, poller, scratch, reader, session);
    poller.add(ends[1], EPOLLIN, stream.get());
  }
  // Writes everything, in pieces of random length, the stream reading in between.
  void feed(fuzz::Random& random, const std::vector<std::byte>& bytes) {
    std::size_t at = 0;
    while (at < bytes.size() && stream->ending() == StreamEnd::open) {
      const std::size_t piece = std::min(bytes.size() - at, random.below(5000) + 1);
      const ssize_t sent = ::send(ours.get(), bytes.data() + at, piece, MSG_NOSIGNAL);
      if (sent > 0) at += static_cast<std::size_t>(sent);
      stream->pull();
    }
    while (stream->pull() > 0) {
    }
  }
};

void append_frame(std::vector<std::byte>& bytes, fuzz::Random& random) {
  WireHead head{};
  head.bytes = static_cast<std::uint32_t>(random.below(random.below(4) == 0 ? 40'000 : 200));
  head.kind = static_cast<std::uint16_t>(WireKind::frame);
  head.check = kWireCheck;
  head.header.tag = static_cast<std::int32_t>(random.below(2));
  head.header.cookie = random.next();
  const auto raw = std::as_bytes(std::span(&head, 1));
  bytes.insert(bytes.end(), raw.begin(), raw.end());
  bytes.insert(bytes.end(), head.bytes, static_cast<std::byte>(head.header.cookie));
}

}  // namespace

TEST_CASE("no nonsense gets through a handshake", "[fuzz][tcp_handshake]") {
  const Identity one = identity(1);
  const Identity zero = identity(0);
  fuzz::Rounds rounds("tcp_handshake", 20000);
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    Acceptor acceptor(one);
    Initiator initiator(zero, 1);
    Blob bytes = random.below(2) == 0 ? initiator.hello() : noise(random, sizeof(TcpHello));
    for (std::size_t changes = random.below(3); changes > 0; --changes)
      bytes[random.below(bytes.size())] = static_cast<std::byte>(random.next());
    Blob answer;
    if (acceptor.feed(bytes, answer) == Outcome::goes_on)
      REQUIRE(acceptor.feed(noise(random, acceptor.wants()), answer) == Outcome::refused);
    REQUIRE(initiator.feed(noise(random, random.below(130)), answer) == Outcome::refused);
  }
}

TEST_CASE("no nonsense is taken for addresses beyond its end", "[fuzz][tcp_addresses]") {
  fuzz::Rounds rounds("tcp_addresses", 50000);
  int accepted = 0;
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    Blob bytes = noise(random, random.below(60));
    if (!bytes.empty()) bytes[0] = static_cast<std::byte>(random.below(4));
    for (std::size_t i = 1; i < bytes.size(); i += 7)
      bytes[i] = static_cast<std::byte>(random.below(2) == 0 ? 4 : 6);
    const auto decoded = decode(bytes);
    if (!decoded) continue;
    ++accepted;
    REQUIRE(decoded->size() <= 3);
  }
  CHECK(accepted > 0);
  CHECK(accepted < rounds.done());
}

TEST_CASE("a stream cut in any pieces delivers every frame", "[fuzz][tcp_pieces]") {
  fuzz::Rounds rounds("tcp_pieces", 300);
  while (rounds.more()) {
    INFO("round " << rounds.number());
    fuzz::Random random(rounds.number());
    Pipe pipe;
    std::vector<std::byte> bytes;
    const std::size_t frames = random.below(40);
    for (std::size_t i = 0; i < frames; ++i) append_frame(bytes, random);
    pipe.feed(random, bytes);
    REQUIRE(pipe.reader.frames == frames);
    REQUIRE(pipe.reader.is_right);
    REQUIRE(pipe.stream->ending() == StreamEnd::open);
  }
}

// A protected stream, and the records that its peer would write.
struct SealedPipe {
  LinkSession session;
  Pipe pipe;
  Seal seal;
  std::vector<std::vector<std::byte>> records;

  static LinkSession make(fuzz::Random& random) {
    LinkSession session;
    session.security = random.below(2) == 0 ? Security::integrity : Security::encrypted;
    session.cipher = random.below(2) == 0 ? Cipher::chacha20_poly1305 : best_of(own_ciphers());
    session.keys.send.fill(1);
    session.keys.receive.fill(2);
    return session;
  }
  explicit SealedPipe(fuzz::Random& random)
      : session(make(random)),
        pipe(session),
        seal(session.security, session.cipher, session.keys.receive) {
    for (std::size_t left = 2 + random.below(10); left > 0; --left) add(random);
  }
  void add(fuzz::Random& random) {
    std::vector<std::byte> plain;
    append_frame(plain, random);
    std::vector<std::byte> record(plain.size() + 2 * kTagBytes);
    const std::size_t body = plain.size() - sizeof(WireHead);
    seal.close(plain.data(), sizeof(WireHead), record.data());
    if (body > 0)
      seal.close(plain.data() + sizeof(WireHead), body,
                 record.data() + sizeof(WireHead) + kTagBytes);
    else
      record.resize(plain.size() + kTagBytes);
    records.push_back(std::move(record));
  }
  std::vector<std::byte> all() const {
    std::vector<std::byte> bytes;
    for (const auto& each : records) bytes.insert(bytes.end(), each.begin(), each.end());
    return bytes;
  }
};

TEST_CASE("a protected stream cut in any pieces delivers every frame", "[fuzz][tcp_stream]") {
  fuzz::Rounds rounds("tcp_stream", 300);
  while (rounds.more()) {
    INFO("round " << rounds.number());
    fuzz::Random random(rounds.number());
    SealedPipe all(random);
    all.pipe.feed(random, all.all());
    REQUIRE(all.pipe.reader.frames == all.records.size());
    REQUIRE(all.pipe.reader.is_right);
    REQUIRE(all.pipe.stream->ending() == StreamEnd::open);
  }
}

TEST_CASE("no flipped bit, no repeated, lost or moved record passes a protected stream",
          "[fuzz][tcp_stream]") {
  fuzz::Rounds rounds("tcp_stream", 1000);
  while (rounds.more()) {
    INFO("round " << rounds.number());
    fuzz::Random random(rounds.number());
    SealedPipe all(random);
    const std::size_t which = random.below(all.records.size());
    const auto at = all.records.begin() + static_cast<std::ptrdiff_t>(which);
    switch (random.below(4)) {
      case 0:
        (*at)[random.below(at->size())] ^= std::byte{1} << random.below(8);
        break;
      case 1:
        all.records.insert(at, *at);
        break;
      case 2:
        all.records.erase(at);
        break;
      default:
        std::swap(*at, all.records[(which + 1) % all.records.size()]);
        break;
    }
    const bool lost_the_last = which == all.records.size();
    if (lost_the_last) all.add(random);  // the next one tells
    all.pipe.feed(random, all.all());
    REQUIRE(all.pipe.stream->ending() == StreamEnd::changed);
    REQUIRE(all.pipe.reader.frames <= which + 1);
    REQUIRE(all.pipe.reader.is_right);
  }
}

TEST_CASE("nonsense in a stream ends the stream, not the process", "[fuzz][tcp_stream]") {
  fuzz::Rounds rounds("tcp_stream", 2000);
  int broken = 0;
  while (rounds.more()) {
    INFO("round " << rounds.number());
    fuzz::Random random(rounds.number());
    Pipe pipe;
    std::vector<std::byte> bytes;
    for (std::size_t frames = random.below(5); frames > 0; --frames) append_frame(bytes, random);
    const auto more = noise(random, random.below(500));
    bytes.insert(bytes.end(), more.begin(), more.end());
    for (std::size_t changes = random.below(4); changes > 0 && !bytes.empty(); --changes)
      bytes[random.below(bytes.size())] = static_cast<std::byte>(random.next());
    pipe.feed(random, bytes);
    broken += pipe.stream->ending() == StreamEnd::open ? 0 : 1;
  }
  CHECK(broken > rounds.done() / 4);
}
