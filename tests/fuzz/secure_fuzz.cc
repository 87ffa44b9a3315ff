// A sealed connection: whatever is done to its bytes, what comes out is the beginning of what was
// said, and once something is wrong nothing more comes. Keys of nonsense agree on nothing.
#include "catch.h"
#include "mutate.h"
#include "secure/secure.h"

using namespace tutti;          // NOLINT(google-build-using-namespace): a test
using namespace tutti::secure;  // NOLINT(google-build-using-namespace): a test

TEST_CASE("a sealed stream gives what was said, or an end", "[fuzz][sealed]") {
  SessionKeys ours, theirs;
  ours.send.fill(1);
  ours.receive.fill(2);
  theirs.send = ours.receive;
  theirs.receive = ours.send;
  int broken = 0, whole = 0;
  fuzz::Rounds rounds("sealed", 3000);
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    const auto sender = std::make_unique<RecordStream>(ours),
               receiver = std::make_unique<RecordStream>(theirs);
    std::string said, wire, heard;
    for (std::size_t i = random.below(5) + 1; i > 0; --i) {
      const std::string text(random.below(random.below(8) == 0 ? 70000 : 60),
                             static_cast<char>(random.next()));
      said += text;
      sender->seal(text, wire);
    }
    const std::string sent = wire;
    if (random.below(3) != 0) wire = fuzz::bend(random, {wire, wire + wire, "x"});
    bool good = true;
    for (std::size_t at = 0; at < wire.size();) {
      const std::size_t piece = std::min(wire.size() - at, random.below(3000) + 1);
      const bool is_open = receiver->open(std::string_view(wire).substr(at, piece), heard);
      REQUIRE((good || !is_open));  // wrong once, wrong for good
      good = is_open;
      at += piece;
    }
    REQUIRE(said.compare(0, heard.size(), heard) == 0);
    if (wire == sent) REQUIRE((good && heard == said));
    broken += good ? 0 : 1;
    whole += heard == said ? 1 : 0;
  }
  CHECK(broken > 0);
  CHECK(whole > 0);
}

TEST_CASE("no public key of nonsense proves anything", "[fuzz][exchange]") {
  Key secret;
  secret.fill(7);
  fuzz::Rounds rounds("exchange", 500);
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    Exchange caller(Side::caller, secret);
    Key theirs = caller.own_public(), proof{};
    for (std::size_t changes = random.below(40); changes > 0; --changes)
      theirs[random.below(theirs.size())] =
          static_cast<std::uint8_t>(random.below(3) == 0 ? 0 : random.next());
    if (random.below(4) == 0) theirs.fill(static_cast<std::uint8_t>(random.below(3)));
    if (!caller.agree(theirs, {})) continue;
    for (auto& byte : proof) byte = static_cast<std::uint8_t>(random.next());
    REQUIRE_FALSE(caller.is_proof(proof));
    REQUIRE_FALSE(caller.is_proof(caller.proof()));
  }
}
