// Challenge and response with keyed BLAKE2b.
#include "transport/tcp/handshake.h"

#include <sodium.h>

#include <cstring>

namespace tutti::transport::tcp {
namespace {

// One label per direction and step.
enum class Label : std::uint8_t { challenge = 'C', proof = 'P', verdict = 'V' };

Mac mac_of(const Identity& own, Label label, const TcpHello& hello, const Answer& answer) {
  std::array<std::uint8_t, 1 + sizeof(TcpHello) + sizeof(Answer)> text{};
  text[0] = static_cast<std::uint8_t>(label);
  std::memcpy(text.data() + 1, &hello, sizeof hello);
  std::memcpy(text.data() + 1 + sizeof hello, &answer, sizeof answer);
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

// Everything that was said in the open, for the keys to depend on.
Blob said(const TcpHello& hello, const Answer& answer) {
  Blob text = bytes_of(hello);
  const Blob more = bytes_of(answer);
  text.insert(text.end(), more.begin(), more.end());
  return text;
}

}  // namespace

Outcome Acceptor::take_hello(BlobView bytes, Blob& answer) {
  hello_ = message_in<TcpHello>(bytes);
  if (hello_.magic != kMagic) return refuse("it does not speak our language");
  if (hello_.version != kVersion) return refuse("it runs another version of Tutti");
  if (hello_.job != own_->job) return refuse("it belongs to another job");
  if (hello_.to != own_->rank) return refuse("it looks for another rank");
  if (hello_.from >= own_->ranks || hello_.from == own_->rank)
    return refuse("it claims to be a rank that cannot be");
  if (hello_.rail > hello_.rails) return refuse("it names a rail that it does not have");
  has_hello_ = true;
  randombytes_buf(answer_.nonce.data(), answer_.nonce.size());
  // Where the two want different things the other one says so: it knows who answered.
  answer_.rails = own_->rails;
  answer_.security = static_cast<std::uint16_t>(own_->security);
  if (own_->security != Security::none && hello_.security == answer_.security) {
    answer_.cipher = static_cast<std::uint16_t>(best_of(own_->ciphers & hello_.ciphers));
    exchange_ = std::make_unique<secure::Exchange>(secure::Side::answerer, own_->key);
    answer_.key = exchange_->own_public();
  }
  answer = bytes_of(Challenge{answer_, mac_of(*own_, Label::challenge, hello_, answer_)});
  return Outcome::goes_on;
}

Outcome Acceptor::feed(BlobView bytes, Blob& answer) {
  answer.clear();
  if (bytes.size() != wants()) return refuse("it sent a message of the wrong length");
  if (!has_hello_) return take_hello(bytes, answer);
  const Mac mac = message_in<Proof>(bytes).mac;
  if (!is_equal(mac, mac_of(*own_, Label::proof, hello_, answer_)))
    return refuse("it does not know the secret of this job");
  if (hello_.security != answer_.security) return refuse("it wants another TUTTI_LINK_SECURITY");
  if (hello_.rails != answer_.rails) return refuse("it wants another TUTTI_TCP_RAILS");
  if (!exchange_) return Outcome::proved;
  if (!exchange_->agree(hello_.key, said(hello_, answer_))) return refuse("its public key is none");
  session_ = {own_->security, static_cast<Cipher>(answer_.cipher), exchange_->keys()};
  exchange_.reset();
  return Outcome::proved;
}

Blob Acceptor::verdict() const {
  return bytes_of(Verdict{mac_of(*own_, Label::verdict, hello_, answer_)});
}

Initiator::Initiator(const Identity& own, int peer, int rail) : own_(own) {
  hello_.magic = kMagic;
  hello_.version = kVersion;
  hello_.from = own.rank;
  hello_.to = static_cast<std::uint32_t>(peer);
  hello_.job = own.job;
  hello_.rail = static_cast<std::uint32_t>(rail);
  hello_.rails = own.rails;
  randombytes_buf(hello_.nonce.data(), hello_.nonce.size());
  if (own.security == Security::none) return;
  hello_.security = static_cast<std::uint16_t>(own.security);
  hello_.ciphers = own.ciphers;
  exchange_ = std::make_unique<secure::Exchange>(secure::Side::caller, own.key);
  hello_.key = exchange_->own_public();
}

Blob Initiator::hello() const {
  return bytes_of(hello_);
}

Outcome Initiator::take_challenge(BlobView bytes, Blob& answer) {
  const auto challenge = message_in<Challenge>(bytes);
  theirs_ = challenge.answer;
  if (!is_equal(challenge.mac, mac_of(own_, Label::challenge, hello_, theirs_)))
    return Outcome::refused;
  peer_answered_ = true;
  if (theirs_.security != hello_.security) {
    reason_ = std::string("this rank has TUTTI_LINK_SECURITY=") + name_of(own_.security) +
              " and it another: set the same for all";
    return Outcome::refused;
  }
  if (theirs_.rails != hello_.rails) {
    reason_ = "this rank has TUTTI_TCP_RAILS=" + std::to_string(hello_.rails) + " and it " +
              std::to_string(theirs_.rails) + ": set the same for all";
    return Outcome::refused;
  }
  const auto cipher = static_cast<Cipher>(theirs_.cipher);
  if (exchange_) {
    if (cipher != best_of(own_.ciphers & (1U << theirs_.cipher % 16U)) || cipher == Cipher::none ||
        !exchange_->agree(theirs_.key, said(hello_, theirs_)))
      return Outcome::refused;
    session_ = {own_.security, cipher, exchange_->keys()};
    exchange_.reset();
  }
  is_challenged_ = true;
  answer = bytes_of(Proof{mac_of(own_, Label::proof, hello_, theirs_)});
  return Outcome::goes_on;
}

Outcome Initiator::feed(BlobView bytes, Blob& answer) {
  answer.clear();
  reason_ = "whoever listens there does not know the secret of this job";
  if (bytes.size() != wants()) return Outcome::refused;
  if (!is_challenged_) return take_challenge(bytes, answer);
  const Mac mac = message_in<Verdict>(bytes).mac;
  return is_equal(mac, mac_of(own_, Label::verdict, hello_, theirs_)) ? Outcome::proved
                                                                      : Outcome::refused;
}

}  // namespace tutti::transport::tcp
