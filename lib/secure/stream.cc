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

}  // namespace

struct RecordStream::State {
  explicit State(const SessionKeys& made) : keys(made) {}
  ~State() {
    sodium_memzero(&keys, sizeof keys);
    sodium_memzero(&out, sizeof out);
    sodium_memzero(&in, sizeof in);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void seal(std::string_view plain, std::string& wire);
  bool open(std::string_view wire, std::string& plain);
  void push(std::string_view plain, std::string& wire);
  bool pull(std::string_view sealed, std::string& plain);
  bool take(std::string_view sealed, std::string& plain);
  std::size_t wanted() const {
    if (!has_heard) return kStartBytes;
    return (awaited > 0 ? awaited : kLengthBytes) + kMore;
  }

  SessionKeys keys;
  crypto_secretstream_xchacha20poly1305_state out{}, in{};
  bool has_spoken = false, has_heard = false, broken = false;
  std::size_t awaited = 0;  // length of the record that comes; 0: that length comes first
  std::string kept;         // what arrived of a piece that is not whole
};

void RecordStream::State::push(std::string_view plain, std::string& wire) {
  const std::size_t at = wire.size();
  wire.resize(at + plain.size() + kMore);
  crypto_secretstream_xchacha20poly1305_push(&out, reinterpret_cast<unsigned char*>(&wire[at]),
                                             nullptr, bytes_of(plain), plain.size(), nullptr, 0, 0);
}

void RecordStream::State::seal(std::string_view plain, std::string& wire) {
  if (!has_spoken) {
    has_spoken = true;
    std::array<char, kStartBytes> start{};
    crypto_secretstream_xchacha20poly1305_init_push(
        &out, reinterpret_cast<unsigned char*>(start.data()), keys.send.data());
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

bool RecordStream::State::pull(std::string_view sealed, std::string& plain) {
  const std::size_t at = plain.size();
  plain.resize(at + sealed.size() - kMore);
  return crypto_secretstream_xchacha20poly1305_pull(
             &in, reinterpret_cast<unsigned char*>(&plain[at]), nullptr, nullptr, bytes_of(sealed),
             sealed.size(), nullptr, 0) == 0;
}

// One whole piece: the start, a length, or a record.
bool RecordStream::State::take(std::string_view sealed, std::string& plain) {
  if (!has_heard) {
    has_heard = true;
    return crypto_secretstream_xchacha20poly1305_init_pull(&in, bytes_of(sealed),
                                                           keys.receive.data()) == 0;
  }
  if (awaited > 0) {
    awaited = 0;
    return pull(sealed, plain);
  }
  std::string length;
  if (!pull(sealed, length)) return false;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    awaited |= static_cast<std::size_t>(static_cast<unsigned char>(length[i])) << (8 * i);
  return awaited > 0 && awaited <= kLongest;
}

bool RecordStream::State::open(std::string_view wire, std::string& plain) {
  while (!broken && kept.size() + wire.size() >= wanted()) {
    const std::size_t missing = wanted() - kept.size();
    const std::size_t before = plain.size();
    bool good = false;
    if (kept.empty()) {
      good = take(wire.substr(0, missing), plain);
    } else {
      kept.append(wire.substr(0, missing));
      good = take(kept, plain);
      kept.clear();
    }
    wire.remove_prefix(missing);
    if (!good) plain.resize(before);
    broken = !good;
  }
  if (!broken) kept.append(wire);
  return !broken;
}

RecordStream::RecordStream(const SessionKeys& keys) {
  TUTTI_CHECK(::sodium_init() >= 0, "libsodium does not start");
  state_ = std::make_unique<State>(keys);
}

RecordStream::~RecordStream() = default;

void RecordStream::seal(std::string_view plain, std::string& wire) {
  state_->seal(plain, wire);
}

bool RecordStream::open(std::string_view wire, std::string& plain) {
  return state_->open(wire, plain);
}

bool RecordStream::in_the_middle() const {
  return !state_->kept.empty() || state_->awaited != 0;
}

void RecordStream::settle() {
  if (state_->kept.empty()) std::string().swap(state_->kept);
}

}  // namespace tutti::secure
