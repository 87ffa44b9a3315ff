// handshake: both sides prove that they know the job's key. Bytes in, bytes out, no sockets.
//
// Where the link is to be protected they agree on a cipher and on keys of this connection, too.
//
// Each side says how many bytes it wants next and is fed exactly those; what it answers is to be
// sent at once. Whatever arrives, the outcome is one of: goes on, proved, refused.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "transport/tcp/congestion.h"
#include "transport/tcp/seal.h"
#include "transport/tcp/wire.h"

namespace tutti::transport::tcp {

struct Identity {
  std::uint64_t job = 0;
  std::array<std::uint8_t, 32> key{};
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;
  Security security = Security::none;
  std::uint16_t ciphers = 0;  // own_ciphers(), where there is security
  std::uint32_t rails = 0;    // beside each peer's first connection (TUTTI_TCP_RAILS)
  Congestion congestion{};    // of our sockets
};

enum class Outcome : std::uint8_t { goes_on, proved, refused };

// The side that was connected to. After `proved` it may send verdict().
class Acceptor {
 public:
  explicit Acceptor(const Identity& own) : own_(&own) {}
  std::size_t wants() const { return has_hello_ ? sizeof(Proof) : sizeof(TcpHello); }
  Outcome feed(BlobView bytes, Blob& answer);
  Blob verdict() const;
  const LinkSession& session() const { return session_; }  // proved: what was agreed on
  bool has_hello() const { return has_hello_; }
  int peer() const { return static_cast<int>(hello_.from); }  // proved: the other rank
  int rail() const { return static_cast<int>(hello_.rail); }  // proved: of 0 to our rails
  const char* reason() const { return reason_; }              // refused: why

 private:
  Outcome take_hello(BlobView bytes, Blob& answer);
  Outcome refuse(const char* why) {
    reason_ = why;
    return Outcome::refused;
  }

  const Identity* own_;
  TcpHello hello_{};
  Answer answer_{};
  std::unique_ptr<secure::Exchange> exchange_;  // where there is security, until proved
  LinkSession session_;
  bool has_hello_ = false;
  const char* reason_ = "";
};

// The side that connects. `proved` means that the link stands.
class Initiator {
 public:
  Initiator(const Identity& own, int peer, int rail = 0);
  Blob hello() const;
  std::size_t wants() const { return is_challenged_ ? sizeof(Verdict) : sizeof(Challenge); }
  Outcome feed(BlobView bytes, Blob& answer);
  const LinkSession& session() const { return session_; }  // proved: what was agreed on
  const std::string& reason() const { return reason_; }
  // Refused: whether by what the peer itself said, which knows the secret. It will say it again.
  bool is_for_good() const { return peer_answered_ && !is_challenged_; }
  bool is_challenged() const { return is_challenged_; }  // and has sent its proof

 private:
  Outcome take_challenge(BlobView bytes, Blob& answer);

  const Identity& own_;
  TcpHello hello_{};
  Answer theirs_{};
  std::unique_ptr<secure::Exchange> exchange_;  // where there is security
  LinkSession session_;
  bool peer_answered_ = false;  // and not somebody else at its address
  bool is_challenged_ = false;
  std::string reason_;
};

}  // namespace tutti::transport::tcp
