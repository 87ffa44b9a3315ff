// AES-256-GCM where the processor has it, else ChaCha20-Poly1305.
#include "transport/tcp/seal.h"

#include <sodium.h>

#include <array>
#include <cstring>

namespace tutti::transport::tcp {
namespace {

using Nonce12 = std::array<unsigned char, crypto_aead_aes256gcm_NPUBBYTES>;
static_assert(crypto_aead_aes256gcm_NPUBBYTES == crypto_aead_chacha20poly1305_ietf_NPUBBYTES);
static_assert(crypto_aead_aes256gcm_ABYTES == kTagBytes);
static_assert(crypto_aead_chacha20poly1305_ietf_ABYTES == kTagBytes);
static_assert(crypto_aead_aes256gcm_KEYBYTES == sizeof(secure::Key));
static_assert(crypto_aead_chacha20poly1305_ietf_KEYBYTES == sizeof(secure::Key));

Nonce12 nonce_of(std::uint64_t number) {
  Nonce12 nonce{};
  std::memcpy(nonce.data(), &number, sizeof number);
  return nonce;
}

const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}
unsigned char* raw(std::byte* bytes) {
  return reinterpret_cast<unsigned char*>(bytes);
}

// What is a text to the cipher and what goes with it.
struct Parts {
  const unsigned char* text;
  std::size_t text_bytes;
  const unsigned char* beside;
  std::size_t beside_bytes;
};
Parts parts_of(Security security, const std::byte* bytes, std::size_t count) {
  // Neither is ever null, which libsodium does not take.
  if (security == Security::encrypted) return {raw(bytes), count, raw(bytes), 0};
  return {raw(bytes), 0, raw(bytes), count};
}

}  // namespace

Result<Security> security_named(const std::string& name) {
  for (const Security each : {Security::none, Security::integrity, Security::encrypted})
    if (name == name_of(each)) return each;
  return fail(Code::arg, "TUTTI_LINK_SECURITY=" + name + " is none of none, integrity, encrypted");
}

const char* name_of(Security security) {
  switch (security) {
    case Security::integrity:
      return "integrity";
    case Security::encrypted:
      return "encrypted";
    case Security::none:
      break;
  }
  return "none";
}

std::uint16_t own_ciphers() {
  unsigned ciphers = 1U << static_cast<unsigned>(Cipher::chacha20_poly1305);
  if (crypto_aead_aes256gcm_is_available() != 0)
    ciphers |= 1U << static_cast<unsigned>(Cipher::aes256_gcm);
  return static_cast<std::uint16_t>(ciphers);
}

Cipher best_of(std::uint16_t ciphers) {
  for (const Cipher each : {Cipher::aes256_gcm, Cipher::chacha20_poly1305})
    if ((ciphers >> static_cast<unsigned>(each) & 1U) != 0) return each;
  return Cipher::none;
}

const char* name_of(Cipher cipher) {
  switch (cipher) {
    case Cipher::aes256_gcm:
      return "AES-256-GCM";
    case Cipher::chacha20_poly1305:
      return "ChaCha20-Poly1305";
    case Cipher::none:
      break;
  }
  return "no cipher";
}

struct Seal::Schedule {
  crypto_aead_aes256gcm_state state;
};

Seal::Seal(Security security, Cipher cipher, const secure::Key& key)
    : security_(security), key_(key) {
  if (cipher != Cipher::aes256_gcm) return;
  schedule_ = std::make_unique<Schedule>();
  crypto_aead_aes256gcm_beforenm(&schedule_->state, key_.data());
}

Seal::~Seal() {
  sodium_memzero(key_.data(), key_.size());
  if (schedule_) sodium_memzero(schedule_.get(), sizeof *schedule_);
}

void Seal::close(const std::byte* plain, std::size_t bytes, std::byte* sealed) {
  const Nonce12 nonce = nonce_of(number_++);
  const Parts part = parts_of(security_, plain, bytes);
  unsigned char* const out = raw(sealed);
  unsigned char* const tag = out + bytes;
  if (security_ != Security::encrypted && bytes > 0) std::memcpy(sealed, plain, bytes);
  if (schedule_)
    crypto_aead_aes256gcm_encrypt_detached_afternm(out, tag, nullptr, part.text, part.text_bytes,
                                                   part.beside, part.beside_bytes, nullptr,
                                                   nonce.data(), &schedule_->state);
  else
    crypto_aead_chacha20poly1305_ietf_encrypt_detached(
        out, tag, nullptr, part.text, part.text_bytes, part.beside, part.beside_bytes, nullptr,
        nonce.data(), key_.data());
}

bool Seal::open(const std::byte* sealed, std::size_t bytes, std::byte* plain) {
  const Nonce12 nonce = nonce_of(number_++);
  const Parts part = parts_of(security_, sealed, bytes);
  unsigned char* const out = raw(plain);
  const unsigned char* const tag = raw(sealed) + bytes;
  const int bad = schedule_ ? crypto_aead_aes256gcm_decrypt_detached_afternm(
                                  out, nullptr, part.text, part.text_bytes, tag, part.beside,
                                  part.beside_bytes, nonce.data(), &schedule_->state)
                            : crypto_aead_chacha20poly1305_ietf_decrypt_detached(
                                  out, nullptr, part.text, part.text_bytes, tag, part.beside,
                                  part.beside_bytes, nonce.data(), key_.data());
  if (bad != 0) return false;
  if (security_ != Security::encrypted && bytes > 0 && plain != sealed)
    std::memcpy(plain, sealed, bytes);
  return true;
}

}  // namespace tutti::transport::tcp
