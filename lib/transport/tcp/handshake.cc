// Challenge and response with keyed BLAKE2b.
#include "transport/tcp/handshake.h"

#include <sodium.h>

#include <cstring>

namespace tutti::transport::tcp {
namespace {

// One label per direction and step.
enum class Label : std::uint8_t { challenge = 'C', proof = 'P', verdict = 'V' };

Mac mac_of(const Identity& own, Label label, const Hello& hello, const Nonce& acceptors) {
  std::array<std::uint8_t, 1 + sizeof(Hello) + kNonceBytes> text{};
  text[0] = static_cast<std::uint8_t>(label);
  std::memcpy(text.data() + 1, &hello, sizeof hello);
  std::memcpy(text.data() + 1 + sizeof hello, acceptors.data(), acceptors.size());
  Mac mac{};
  crypto_generichash(mac.data(), mac.size(), text.data(), text.size(), own.key.data(),
                     own.key.size());
  return mac;
}

bool is_equal(const Mac& a, const Mac& b) {
  return sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

template <class Message>
Blob bytes_of(const Message& message) {
  Blob bytes(sizeof message);
  std::memcpy(bytes.data(), &message, sizeof message);
  return bytes;
}

template <class Message>
Message message_in(BlobView bytes) {
  Message message{};
  std::memcpy(&message, bytes.data(), sizeof message);
  return message;
}

}  // namespace

Outcome Acceptor::take_hello(BlobView bytes, Blob& answer) {
  hello_ = message_in<Hello>(bytes);
  if (hello_.magic != kMagic) return refuse("it does not speak our language");
  if (hello_.version != kVersion) return refuse("it runs another version of Tutti");
  if (hello_.job != own_->job) return refuse("it belongs to another job");
  if (hello_.to != own_->rank) return refuse("it looks for another rank");
  if (hello_.from >= own_->ranks || hello_.from == own_->rank)
    return refuse("it claims to be a rank that cannot be");
  has_hello_ = true;
  randombytes_buf(nonce_.data(), nonce_.size());
  answer = bytes_of(Challenge{nonce_, mac_of(*own_, Label::challenge, hello_, nonce_)});
  return Outcome::goes_on;
}

Outcome Acceptor::feed(BlobView bytes, Blob& answer) {
  answer.clear();
  if (bytes.size() != wants()) return refuse("it sent a message of the wrong length");
  if (!has_hello_) return take_hello(bytes, answer);
  const Mac mac = message_in<Proof>(bytes).mac;
  if (!is_equal(mac, mac_of(*own_, Label::proof, hello_, nonce_)))
    return refuse("it does not know the secret of this job");
  return Outcome::proved;
}

Blob Acceptor::verdict() const {
  return bytes_of(Verdict{mac_of(*own_, Label::verdict, hello_, nonce_)});
}

Initiator::Initiator(const Identity& own, int peer) : own_(own) {
  hello_.magic = kMagic;
  hello_.version = kVersion;
  hello_.from = own.rank;
  hello_.to = static_cast<std::uint32_t>(peer);
  hello_.job = own.job;
  randombytes_buf(hello_.nonce.data(), hello_.nonce.size());
}

Blob Initiator::hello() const {
  return bytes_of(hello_);
}

Outcome Initiator::feed(BlobView bytes, Blob& answer) {
  answer.clear();
  reason_ = "whoever listens there does not know the secret of this job";
  if (bytes.size() != wants()) return Outcome::refused;
  if (!is_challenged_) {
    const auto challenge = message_in<Challenge>(bytes);
    their_nonce_ = challenge.nonce;
    if (!is_equal(challenge.mac, mac_of(own_, Label::challenge, hello_, their_nonce_)))
      return Outcome::refused;
    is_challenged_ = true;
    answer = bytes_of(Proof{mac_of(own_, Label::proof, hello_, their_nonce_)});
    return Outcome::goes_on;
  }
  const Mac mac = message_in<Verdict>(bytes).mac;
  return is_equal(mac, mac_of(own_, Label::verdict, hello_, their_nonce_)) ? Outcome::proved
                                                                           : Outcome::refused;
}

}  // namespace tutti::transport::tcp
