// secure: two sides that know a secret make a connection that nobody between them can read, change,
// repeat or stand in the middle of. Bytes in, bytes out, no sockets; libsodium does the
// mathematics.
//
// Each side draws a fresh pair of X25519 keys and sends the public one. What the two agree on makes
// all that follows: a proof for each side and a key for each direction are derived from the common
// point, the secret, both public keys and whatever else was said so far. So a proof holds for this
// pair of public keys only: a relay that puts its own in can show no proof, and one that passes
// ours on learns no key. Without a secret (all zero) the connection is closed to those who only
// listen, and whoever answers may be anybody.
//
//   caller   --public--> answerer
//   caller  <--public, proof--
//   caller   --proof-->              then both: Stream
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace tutti::secure {

using Key = std::array<std::uint8_t, 32>;

// 64 hexadecimal digits, and back; nothing when they are none.
std::string text_of(const Key& key);
std::optional<Key> key_of(std::string_view text);

// Of one connection, for one side of it: never used for another.
struct SessionKeys {
  Key send{};
  Key receive{};
};

enum class Side : std::uint8_t { caller, answerer };

class Exchange {
 public:
  Exchange(Side side, const Key& secret);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const Key& own_public() const { return own_public_; }
  // `said`: everything else that both sides must have heard alike (what this is for, who speaks).
  // False: that is no public key; nothing may be believed or sent then.
  [[nodiscard]] bool agree(const Key& theirs, BlobView said);
  const Key& proof() const { return own_proof_; }
  [[nodiscard]] bool is_proof(const Key& shown) const;  // theirs; in constant time
  const SessionKeys& keys() const { return keys_; }     // once their proof was seen

 private:
  Side side_;
  Key secret_, own_private_{}, own_public_{}, own_proof_{}, their_proof_{};
  SessionKeys keys_;
  bool agreed_ = false;
};

// Both directions of one connection (libsodium's secretstream): records of any cut, in order, each
// one sealed. What was changed, repeated, left out or put in is told from what was sent.
class RecordStream {
 public:
  explicit RecordStream(const SessionKeys& keys);
  ~RecordStream();
  RecordStream(const RecordStream&) = delete;
  RecordStream& operator=(const RecordStream&) = delete;
  void seal(std::string_view plain, std::string& wire);  // appends
  // Takes what arrived, in any pieces, and appends what it says. False: it is not what was sent,
  // now and from now on.
  [[nodiscard]] bool open(std::string_view wire, std::string& plain);
  bool in_the_middle() const;  // of a record
  void settle();               // keeps no room for what was large

 private:
  struct State;  // libsodium's types
  std::unique_ptr<State> state_;
};

// The shortest text that may be a secret between machines.
inline constexpr std::size_t kLeastKeyBytes = 16;
// A text that people keep, as a secret for an Exchange. Slow on purpose (Argon2id, some 20 ms), so
// that whoever took part in an exchange cannot try many texts on what he heard. `use`: for what, so
// that a proof for one use is none for another. Errors: too short; no memory.
Result<Key> secret_from(std::string_view text, std::string_view use);
// Of this secret and text; whoever has not the secret knows nothing of it.
std::uint64_t number_from(const Key& secret, std::string_view text);
// The text of a key file; nothing when there is none. Errors: others could have written or read it
// (it must be ours and for us alone, or root's and nobody else's to write), or it is too short.
Result<std::optional<std::string>> read_key_file(const std::string& path);

}  // namespace tutti::secure
