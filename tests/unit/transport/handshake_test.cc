// The handshake, without sockets: only who knows the key gets through, whatever is changed.
#include "transport/tcp/handshake.h"

#include <cstring>

#include "catch.h"

using namespace tutti;
using namespace tutti::transport::tcp;

namespace {

Identity identity(std::uint32_t rank, std::uint8_t key = 7) {
  Identity own;
  own.job = 99;
  own.key.fill(key);
  own.rank = rank;
  own.ranks = 4;
  return own;
}

struct Talk {
  Blob hello, challenge, proof, verdict;
  Outcome acceptor = Outcome::goes_on;
  Outcome initiator = Outcome::goes_on;
};

// A whole handshake in which `change` may alter each message before it arrives.
template <class Change>
Talk talk(const Identity& a, const Identity& b, Change&& change) {
  Talk said;
  Initiator initiator(a, 1);
  Acceptor acceptor(b);
  said.hello = initiator.hello();
  change(0, said.hello);
  said.acceptor = acceptor.feed(said.hello, said.challenge);
  if (said.acceptor != Outcome::goes_on) return said;
  change(1, said.challenge);
  said.initiator = initiator.feed(said.challenge, said.proof);
  if (said.initiator != Outcome::goes_on) return said;
  change(2, said.proof);
  Blob nothing;
  said.acceptor = acceptor.feed(said.proof, nothing);
  if (said.acceptor != Outcome::proved) return said;
  said.verdict = acceptor.verdict();
  change(3, said.verdict);
  said.initiator = initiator.feed(said.verdict, nothing);
  return said;
}

}  // namespace

TEST_CASE("two ranks of one job prove themselves to each other", "[handshake]") {
  const Talk said = talk(identity(0), identity(1), [](int, Blob&) {});
  REQUIRE(said.acceptor == Outcome::proved);
  REQUIRE(said.initiator == Outcome::proved);
}

TEST_CASE("any bit changed in any message ends the handshake", "[handshake]") {
  const std::size_t bits[] = {sizeof(Hello) * 8, sizeof(Challenge) * 8, sizeof(Proof) * 8,
                              sizeof(Verdict) * 8};
  for (int message = 0; message < 4; ++message)
    for (std::size_t bit = 0; bit < bits[message]; ++bit) {
      const Talk said = talk(identity(0), identity(1), [&](int which, Blob& bytes) {
        if (which == message) bytes[bit / 8] ^= std::byte{1} << bit % 8;
      });
      INFO("message " << message << " bit " << bit);
      REQUIRE(said.initiator != Outcome::proved);
    }
}

TEST_CASE("another key, job, rank or version is refused", "[handshake]") {
  REQUIRE(talk(identity(0, 7), identity(1, 8), [](int, Blob&) {}).initiator == Outcome::refused);
  Identity other_job = identity(1);
  other_job.job = 100;
  REQUIRE(talk(identity(0), other_job, [](int, Blob&) {}).acceptor == Outcome::refused);
  REQUIRE(talk(identity(0), identity(2), [](int, Blob&) {}).acceptor == Outcome::refused);
  REQUIRE(talk(identity(1), identity(1), [](int, Blob&) {}).acceptor == Outcome::refused);
  REQUIRE(talk(identity(9), identity(1), [](int, Blob&) {}).acceptor == Outcome::refused);
}

TEST_CASE("what was captured from one handshake does not serve another", "[handshake]") {
  const Talk captured = talk(identity(0), identity(1), [](int, Blob&) {});
  const Identity own = identity(1);
  Acceptor acceptor(own);
  Blob challenge, nothing;
  REQUIRE(acceptor.feed(captured.hello, challenge) == Outcome::goes_on);
  REQUIRE(acceptor.feed(captured.proof, nothing) == Outcome::refused);
  const Identity first = identity(0);
  Initiator initiator(first, 1);
  REQUIRE(initiator.feed(captured.challenge, nothing) == Outcome::refused);
}

TEST_CASE("messages of the wrong length are refused", "[handshake]") {
  const Identity own = identity(1);
  for (std::size_t length = 0; length < 130; ++length) {
    if (length == sizeof(Hello)) continue;
    Acceptor acceptor(own);
    Blob answer;
    REQUIRE(acceptor.feed(Blob(length), answer) == Outcome::refused);
  }
}
