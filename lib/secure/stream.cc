// Records of secretstream: the sealed length of the next one, then that one. A length that was
// changed on its way is found at once, instead of waiting for bytes that nobody sends.
#include <sodium.h>

#include <algorithm>

#include "base/check.h"
#include "secure/secure.h"

namespace tutti::secure {
namespace {

constexpr std::size_t kMore = crypto_secretstream_xchacha20poly1305_ABYTES;
constexpr std::size_t kStartBytes = crypto_secretstream_xchacha20poly1305_HEADERBYTES;
constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kLongest = 64U << 10;  // of one record

static_assert(sizeof(Key) == crypto_secretstream_xchacha20poly1305_KEYBYTES);

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

class SecretStream final : public RecordStream {
 public:
  explicit SecretStream(const SessionKeys& keys) : keys_(keys) {}
  ~SecretStream() override {
    sodium_memzero(&keys_, sizeof keys_);
    sodium_memzero(&out_, sizeof out_);
    sodium_memzero(&in_, sizeof in_);
  }
  SecretStream(const SecretStream&) = delete;
  SecretStream& operator=(const SecretStream&) = delete;

  void seal(std::string_view plain, std::string& wire) override;
  bool open(std::string_view wire, std::string& plain) override;
  bool in_the_middle() const override { return !kept_.empty() || awaited_ != 0; }
  void settle() override {
    if (kept_.empty()) std::string().swap(kept_);
  }

 private:
  void push(std::string_view plain, std::string& wire);
  bool pull(std::string_view sealed, std::string& plain);
  bool take(std::string_view sealed, std::string& plain);
  std::size_t wanted() const {
    if (!has_heard_) return kStartBytes;
    return (awaited_ > 0 ? awaited_ : kLengthBytes) + kMore;
  }

  SessionKeys keys_;
  crypto_secretstream_xchacha20poly1305_state out_{}, in_{};
  bool has_spoken_ = false, has_heard_ = false, broken_ = false;
  std::size_t awaited_ = 0;  // length of the record that comes; 0: that length comes first
  std::string kept_;         // what arrived of a piece that is not whole
};

void SecretStream::push(std::string_view plain, std::string& wire) {
  const std::size_t at = wire.size();
  wire.resize(at + plain.size() + kMore);
  crypto_secretstream_xchacha20poly1305_push(&out_, reinterpret_cast<unsigned char*>(&wire[at]),
                                             nullptr, bytes_of(plain), plain.size(), nullptr, 0, 0);
}

void SecretStream::seal(std::string_view plain, std::string& wire) {
  if (!has_spoken_) {
    has_spoken_ = true;
    std::array<char, kStartBytes> start{};
    crypto_secretstream_xchacha20poly1305_init_push(
        &out_, reinterpret_cast<unsigned char*>(start.data()), keys_.send.data());
    wire.append(start.data(), start.size());
  }
  while (!plain.empty()) {
    const std::string_view piece = plain.substr(0, kLongest);
    std::array<char, kLengthBytes> length{};
    for (std::size_t i = 0; i < kLengthBytes; ++i)
      length[i] = static_cast<char>((piece.size() >> (8 * i)) & 0xffU);
    push({length.data(), length.size()}, wire);
    push(piece, wire);
    plain.remove_prefix(piece.size());
  }
}

bool SecretStream::pull(std::string_view sealed, std::string& plain) {
  const std::size_t at = plain.size();
  plain.resize(at + sealed.size() - kMore);
  return crypto_secretstream_xchacha20poly1305_pull(
             &in_, reinterpret_cast<unsigned char*>(&plain[at]), nullptr, nullptr, bytes_of(sealed),
             sealed.size(), nullptr, 0) == 0;
}

// One whole piece: the start, a length, or a record.
bool SecretStream::take(std::string_view sealed, std::string& plain) {
  if (!has_heard_) {
    has_heard_ = true;
    return crypto_secretstream_xchacha20poly1305_init_pull(&in_, bytes_of(sealed),
                                                           keys_.receive.data()) == 0;
  }
  if (awaited_ > 0) {
    awaited_ = 0;
    return pull(sealed, plain);
  }
  std::string length;
  if (!pull(sealed, length)) return false;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    awaited_ |= static_cast<std::size_t>(static_cast<unsigned char>(length[i])) << (8 * i);
  return awaited_ > 0 && awaited_ <= kLongest;
}

bool SecretStream::open(std::string_view wire, std::string& plain) {
  while (!broken_ && kept_.size() + wire.size() >= wanted()) {
    const std::size_t missing = wanted() - kept_.size();
    const std::size_t before = plain.size();
    bool good = false;
    if (kept_.empty()) {
      good = take(wire.substr(0, missing), plain);
    } else {
      kept_.append(wire.substr(0, missing));
      good = take(kept_, plain);
      kept_.clear();
    }
    wire.remove_prefix(missing);
    if (!good) plain.resize(before);
    broken_ = !good;
  }
  if (!broken_) kept_.append(wire);
  return !broken_;
}

}  // namespace

std::unique_ptr<RecordStream> make_stream(const SessionKeys& keys) {
  TUTTI_CHECK(::sodium_init() >= 0, "libsodium does not start");
  return std::make_unique<SecretStream>(keys);
}

}  // namespace tutti::secure
