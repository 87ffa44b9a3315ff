// The exchange: only who knows the secret shows the right proof, and only for these public keys.
#include <cstring>

#include "catch.h"
#include "secure/secure.h"

namespace tutti::secure {
namespace {

Key secret(std::uint8_t of) {
  Key key{};
  key.fill(of);
  return key;
}

BlobView bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

TEST_CASE("two that know the secret have each other's keys", "[secure]") {
  Exchange caller(Side::caller, secret(1)), answerer(Side::answerer, secret(1));
  REQUIRE(caller.agree(answerer.own_public(), bytes_of("job 7")));
  REQUIRE(answerer.agree(caller.own_public(), bytes_of("job 7")));
  CHECK(caller.is_proof(answerer.proof()));
  CHECK(answerer.is_proof(caller.proof()));
  CHECK(caller.keys().send == answerer.keys().receive);
  CHECK(caller.keys().receive == answerer.keys().send);
  CHECK(caller.keys().send != caller.keys().receive);
  CHECK(caller.own_public() != answerer.own_public());
}

TEST_CASE("a key as text and back", "[secure]") {
  const Exchange one(Side::caller, secret(1));
  const std::string text = text_of(one.own_public());
  CHECK(text.size() == 64);
  CHECK(key_of(text) == one.own_public());
  CHECK_FALSE(key_of(text + "0"));
  CHECK_FALSE(key_of(text.substr(1)));
  CHECK_FALSE(key_of("X" + text.substr(1)));
}

TEST_CASE("keys are fresh for each connection", "[secure]") {
  const auto key = [] {
    Exchange caller(Side::caller, secret(1)), answerer(Side::answerer, secret(1));
    REQUIRE(caller.agree(answerer.own_public(), {}));
    return caller.keys().send;
  };
  CHECK(key() != key());
}

TEST_CASE("another secret, other words or another side show no proof", "[secure]") {
  Exchange caller(Side::caller, secret(1));
  Exchange other(Side::answerer, secret(2)), elsewhere(Side::answerer, secret(1));
  Exchange same_side(Side::caller, secret(1)), none(Side::answerer, Key{});
  for (Exchange* one : {&other, &elsewhere, &same_side, &none}) {
    REQUIRE(caller.agree(one->own_public(), bytes_of("job 7")));
    REQUIRE(one->agree(caller.own_public(), bytes_of(one == &elsewhere ? "job 8" : "job 7")));
    CHECK_FALSE(caller.is_proof(one->proof()));
    CHECK_FALSE(one->is_proof(caller.proof()));
    CHECK(one->keys().receive != caller.keys().send);
  }
  REQUIRE(caller.agree(elsewhere.own_public(), bytes_of("job 7")));
  CHECK_FALSE(caller.is_proof(caller.proof()));  // handed back
}

TEST_CASE("a relay with keys of its own can show nobody's proof", "[secure]") {
  Exchange caller(Side::caller, secret(1)), answerer(Side::answerer, secret(1));
  // It does not know the secret: a session with each, and what one proves shown to the other.
  Exchange to_caller(Side::answerer, secret(9)), to_answerer(Side::caller, secret(9));
  REQUIRE(caller.agree(to_caller.own_public(), {}));
  REQUIRE(answerer.agree(to_answerer.own_public(), {}));
  CHECK_FALSE(caller.is_proof(answerer.proof()));
  CHECK_FALSE(answerer.is_proof(caller.proof()));
  REQUIRE(to_caller.agree(caller.own_public(), {}));
  REQUIRE(to_answerer.agree(answerer.own_public(), {}));
  CHECK_FALSE(caller.is_proof(to_caller.proof()));
  CHECK_FALSE(answerer.is_proof(to_answerer.proof()));
}

TEST_CASE("every bit of a proof and of a public key counts", "[secure]") {
  Exchange answerer(Side::answerer, secret(1));
  for (std::size_t bit = 0; bit < 256; bit += 3) {
    Exchange caller(Side::caller, secret(1));
    REQUIRE(answerer.agree(caller.own_public(), {}));
    REQUIRE(caller.agree(answerer.own_public(), {}));
    Key proof = answerer.proof();
    proof[bit / 8] = static_cast<std::uint8_t>(proof[bit / 8] ^ (1U << (bit % 8)));
    CHECK_FALSE(caller.is_proof(proof));
    Key changed = answerer.own_public();
    changed[bit / 8] = static_cast<std::uint8_t>(changed[bit / 8] ^ (1U << (bit % 8)));
    if (caller.agree(changed, {})) CHECK_FALSE(caller.is_proof(answerer.proof()));
  }
}

TEST_CASE("a public key that leads to a known point is refused", "[secure]") {
  Exchange caller(Side::caller, secret(1));
  Key one{};
  CHECK_FALSE(caller.agree(Key{}, {}));
  one[0] = 1;
  CHECK_FALSE(caller.agree(one, {}));
  CHECK_FALSE(caller.is_proof(Key{}));  // nothing was agreed on
}

}  // namespace
}  // namespace tutti::secure
