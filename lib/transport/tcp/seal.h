// seal: what makes bytes on a link unchangeable, and unreadable where that is wanted. One direction
// of one connection: a key of its own, and a number for each piece, so that what was changed, left
// out, repeated or moved is told from what was sent. AEAD by libsodium; with `integrity` the bytes
// stay readable and are its associated data, with `encrypted` they are its text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "secure/secure.h"

namespace tutti::transport::tcp {

enum class Security : std::uint8_t { none, integrity, encrypted };
Result<Security> security_named(const std::string& name);  // TUTTI_LINK_SECURITY
const char* name_of(Security security);

enum class Cipher : std::uint8_t { none = 0, chacha20_poly1305 = 1, aes256_gcm = 2 };
// Those that this processor can do, as bits 1 << Cipher; and the best of them.
std::uint16_t own_ciphers();
Cipher best_of(std::uint16_t ciphers);
const char* name_of(Cipher cipher);

// What a handshake agreed on for one connection.
struct LinkSession {
  Security security = Security::none;
  Cipher cipher = Cipher::none;
  secure::SessionKeys keys;
};

inline constexpr std::size_t kTagBytes = 16;

class Seal {
 public:
  Seal(Security security, Cipher cipher, const secure::Key& key);
  ~Seal();
  Seal(const Seal&) = delete;
  Seal& operator=(const Seal&) = delete;

  // Writes `bytes` of `plain`, sealed, and a tag behind them.
  void close(const std::byte* plain, std::size_t bytes, std::byte* sealed);
  // The next `bytes` with their tag behind them, to `plain`, which may be `sealed` itself. False:
  // not what was sent; then `plain` is worth nothing.
  [[nodiscard]] bool open(const std::byte* sealed, std::size_t bytes, std::byte* plain);

 private:
  struct Schedule;  // of AES
  Security security_;
  secure::Key key_;
  std::unique_ptr<Schedule> schedule_;  // null: ChaCha20
  std::uint64_t number_ = 0;            // of the next piece
};

}  // namespace tutti::transport::tcp
