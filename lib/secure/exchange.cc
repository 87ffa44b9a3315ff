// X25519, then keyed BLAKE2b over all that both sides have seen.
#include <sodium.h>

#include "base/check.h"
#include "base/hex.h"
#include "secure/secure.h"

namespace tutti::secure {
namespace {

constexpr std::string_view kName = "tutti exchange 1";
constexpr std::array<char, crypto_kdf_CONTEXTBYTES + 1> kContext{"tuttiexc"};
// What is made of the common key, by number.
enum Part : std::uint64_t { kCallersProof = 1, kAnswerersProof, kFromCaller, kFromAnswerer };

static_assert(sizeof(Key) == crypto_scalarmult_BYTES);
static_assert(sizeof(Key) == crypto_scalarmult_SCALARBYTES);
static_assert(sizeof(Key) == crypto_kdf_KEYBYTES);

void add(crypto_generichash_state& hash, const void* bytes, std::size_t count) {
  crypto_generichash_update(&hash, static_cast<const unsigned char*>(bytes), count);
}

Key part_of(const Key& common, Part part) {
  Key key{};
  crypto_kdf_derive_from_key(key.data(), key.size(), part, kContext.data(), common.data());
  return key;
}

template <class Bytes>
void wipe(Bytes& bytes) {
  sodium_memzero(&bytes, sizeof bytes);
}

}  // namespace

std::string text_of(const Key& key) {
  return text::hex(key.data(), key.size());
}

std::optional<Key> key_of(std::string_view text) {
  Key key{};
  if (!text::unhex(text, key)) return std::nullopt;
  return key;
}

Exchange::Exchange(Side side, const Key& secret) : side_(side), secret_(secret) {
  TUTTI_CHECK(::sodium_init() >= 0, "libsodium does not start");
  randombytes_buf(own_private_.data(), own_private_.size());
  crypto_scalarmult_base(own_public_.data(), own_private_.data());
}

Exchange::~Exchange() {
  wipe(secret_);
  wipe(own_private_);
  wipe(keys_);
}

bool Exchange::agree(const Key& theirs, BlobView said) {
  Key point{};
  if (crypto_scalarmult(point.data(), own_private_.data(), theirs.data()) != 0) return false;
  const bool calls = side_ == Side::caller;
  crypto_generichash_state hash;
  Key common{};
  crypto_generichash_init(&hash, secret_.data(), secret_.size(), common.size());
  add(hash, kName.data(), kName.size());
  for (const Key& part : {point, calls ? own_public_ : theirs, calls ? theirs : own_public_})
    add(hash, part.data(), part.size());
  add(hash, said.data(), said.size());
  crypto_generichash_final(&hash, common.data(), common.size());
  own_proof_ = part_of(common, calls ? kCallersProof : kAnswerersProof);
  their_proof_ = part_of(common, calls ? kAnswerersProof : kCallersProof);
  keys_.send = part_of(common, calls ? kFromCaller : kFromAnswerer);
  keys_.receive = part_of(common, calls ? kFromAnswerer : kFromCaller);
  agreed_ = true;
  wipe(point);
  wipe(common);
  wipe(hash);
  return true;
}

bool Exchange::is_proof(const Key& shown) const {
  return agreed_ && sodium_memcmp(shown.data(), their_proof_.data(), shown.size()) == 0;
}

}  // namespace tutti::secure
