// The handshake, without sockets: only who knows the key gets through, whatever is changed.
#include "transport/tcp/handshake.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

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

Identity protected_identity(std::uint32_t rank, std::uint16_t ciphers = own_ciphers(),
                            Security security = Security::encrypted) {
  Identity own = identity(rank);
  own.security = security;
  own.ciphers = ciphers;
  return own;
}

struct Talk {
  Blob hello, challenge, proof, verdict;
  Outcome acceptor = Outcome::goes_on;
  Outcome initiator = Outcome::goes_on;
  LinkSession acceptors, initiators;
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
  said.acceptors = acceptor.session();
  said.initiators = initiator.session();
  return said;
}

}  // namespace

TEST_CASE("two ranks of one job prove themselves to each other", "[handshake]") {
  const Talk said = talk(identity(0), identity(1), [](int, Blob&) {});
  REQUIRE(said.acceptor == Outcome::proved);
  REQUIRE(said.initiator == Outcome::proved);
}

TEST_CASE("any bit changed in any message ends the handshake", "[handshake]") {
  const std::size_t bits[] = {sizeof(TcpHello) * 8, sizeof(Challenge) * 8, sizeof(Proof) * 8,
                              sizeof(Verdict) * 8};
  for (const bool is_protected : {false, true}) {
    const Identity zero = is_protected ? protected_identity(0) : identity(0);
    const Identity one = is_protected ? protected_identity(1) : identity(1);
    for (int message = 0; message < 4; ++message)
      for (std::size_t bit = 0; bit < bits[message]; ++bit) {
        const Talk said = talk(zero, one, [&](int which, Blob& bytes) {
          if (which == message) bytes[bit / 8] ^= std::byte{1} << bit % 8;
        });
        INFO("message " << message << " bit " << bit);
        REQUIRE(said.initiator != Outcome::proved);
      }
  }
}

TEST_CASE("a protected link has keys of its own in each direction and connection", "[handshake]") {
  const auto pass = [](int, Blob&) {};
  const Talk said = talk(protected_identity(0), protected_identity(1), pass);
  REQUIRE(said.initiator == Outcome::proved);
  REQUIRE(said.acceptors.security == Security::encrypted);
  REQUIRE(said.acceptors.cipher == best_of(own_ciphers()));
  REQUIRE(said.initiators.cipher == said.acceptors.cipher);
  REQUIRE(said.initiators.keys.send == said.acceptors.keys.receive);
  REQUIRE(said.initiators.keys.receive == said.acceptors.keys.send);
  REQUIRE(said.initiators.keys.send != said.initiators.keys.receive);
  const Talk again = talk(protected_identity(0), protected_identity(1), pass);
  REQUIRE(again.initiators.keys.send != said.initiators.keys.send);
}

TEST_CASE("where one processor has no AES both take the other cipher", "[handshake]") {
  constexpr auto kChaCha = std::uint16_t{1U << static_cast<unsigned>(Cipher::chacha20_poly1305)};
  const auto pass = [](int, Blob&) {};
  for (const bool first : {false, true}) {
    const Talk said = talk(protected_identity(0, first ? kChaCha : own_ciphers()),
                           protected_identity(1, first ? own_ciphers() : kChaCha), pass);
    REQUIRE(said.initiator == Outcome::proved);
    REQUIRE(said.acceptors.cipher == Cipher::chacha20_poly1305);
    REQUIRE(said.initiators.cipher == Cipher::chacha20_poly1305);
  }
}

TEST_CASE("ranks that want different security do not get a link, and it is said", "[handshake]") {
  const Identity encrypted = protected_identity(0);
  for (const Identity& other :
       {identity(1), protected_identity(1, own_ciphers(), Security::integrity)}) {
    Initiator initiator(encrypted, 1);
    Acceptor acceptor(other);
    Blob challenge, nothing;
    REQUIRE(acceptor.feed(initiator.hello(), challenge) == Outcome::goes_on);
    REQUIRE(initiator.feed(challenge, nothing) == Outcome::refused);
    REQUIRE(initiator.reason().find("TUTTI_LINK_SECURITY=encrypted") != std::string::npos);
  }
}

TEST_CASE("ranks that want different rails do not get a link, and it is said", "[handshake]") {
  Identity three = identity(0);
  three.rails = 3;
  const Identity none = identity(1);
  Initiator initiator(three, 1);
  Acceptor acceptor(none);
  Blob challenge, nothing;
  REQUIRE(acceptor.feed(initiator.hello(), challenge) == Outcome::goes_on);
  REQUIRE(initiator.feed(challenge, nothing) == Outcome::refused);
  CHECK(initiator.is_for_good());
  CHECK(initiator.reason() == "this rank has TUTTI_TCP_RAILS=3 and it 0: set the same for all");
}

TEST_CASE("which rail a connection is for is proved with the rest, and one that there is",
          "[handshake]") {
  Identity zero = identity(0), one = identity(1);
  zero.rails = one.rails = 2;
  for (const int rail : {0, 2, 3}) {
    Initiator initiator(zero, 1, rail);
    Acceptor acceptor(one);
    Blob challenge, proof, nothing;
    const Outcome heard = acceptor.feed(initiator.hello(), challenge);
    CHECK(heard == (rail > 2 ? Outcome::refused : Outcome::goes_on));
    if (heard == Outcome::refused) continue;
    REQUIRE(initiator.feed(challenge, proof) == Outcome::goes_on);
    REQUIRE(acceptor.feed(proof, nothing) == Outcome::proved);
    CHECK(acceptor.rail() == rail);
  }
}

// Whoever stands between has public keys of his own, but not the job's key.
TEST_CASE("a relay that puts in its own public keys gets no proof", "[handshake]") {
  for (const int message : {0, 1}) {
    const Talk said =
        talk(protected_identity(0), protected_identity(1), [&](int which, Blob& bytes) {
          if (which != message) return;
          const secure::Exchange own(secure::Side::caller, secure::Key{});
          const std::size_t at =
              which == 0 ? offsetof(TcpHello, key) : offsetof(Challenge, answer.key);
          std::memcpy(bytes.data() + at, own.own_public().data(), sizeof(PublicKey));
        });
    REQUIRE(said.initiator == Outcome::refused);
    REQUIRE(said.acceptor != Outcome::proved);
  }
}

TEST_CASE("what is sealed opens once, in order and unchanged", "[handshake]") {
  const secure::Key key{1, 2, 3};
  for (const Security security : {Security::integrity, Security::encrypted})
    for (const Cipher cipher : {Cipher::chacha20_poly1305, best_of(own_ciphers())}) {
      constexpr std::size_t kBytes = 100;
      std::vector<std::byte> plain(kBytes, std::byte{7});
      std::vector<std::byte> first(kBytes + kTagBytes), second(kBytes + kTagBytes), out(kBytes);
      Seal seal(security, cipher, key);
      seal.close(plain.data(), kBytes, first.data());
      seal.close(plain.data(), kBytes, second.data());
      const bool is_readable = std::equal(plain.begin(), plain.end(), first.begin());
      REQUIRE(is_readable == (security == Security::integrity));
      for (std::size_t bit = 0; bit < first.size() * 8; ++bit) {
        Seal opens(security, cipher, key);
        auto changed = first;
        changed[bit / 8] ^= std::byte{1} << bit % 8;
        REQUIRE_FALSE(opens.open(changed.data(), kBytes, out.data()));
      }
      Seal opens(security, cipher, key), late(security, cipher, key);
      REQUIRE_FALSE(late.open(second.data(), kBytes, out.data()));  // the first was lost
      REQUIRE(opens.open(first.data(), kBytes, out.data()));
      REQUIRE(out == plain);
      REQUIRE_FALSE(Seal(security, cipher, key).open(second.data(), kBytes, out.data()));
      REQUIRE(opens.open(second.data(), kBytes, second.data()));    // in place
      REQUIRE_FALSE(opens.open(first.data(), kBytes, out.data()));  // repeated
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
    if (length == sizeof(TcpHello)) continue;
    Acceptor acceptor(own);
    Blob answer;
    REQUIRE(acceptor.feed(Blob(length), answer) == Outcome::refused);
  }
}
