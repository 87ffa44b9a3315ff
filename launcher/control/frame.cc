// Frames: little-endian length of the body, host, body.
#include <array>

#include "control/control.h"

namespace tutti::launch::control {
namespace {

constexpr std::size_t kHeadBytes = 8;

void put_number(std::string& out, std::uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8)
    out.push_back(static_cast<char>((number >> shift) & 0xffU));
}

std::uint32_t get_number(std::string_view from) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i)
    number |= static_cast<std::uint32_t>(static_cast<unsigned char>(from[i])) << (8 * i);
  return number;
}

}  // namespace

std::string frame(int host, std::string_view body) {
  std::string out;
  out.reserve(kHeadBytes + body.size());
  put_number(out, static_cast<std::uint32_t>(body.size()));
  put_number(out, static_cast<std::uint32_t>(host));
  out.append(body);
  return out;
}

std::size_t add_frame(std::string& out, int host, const Message& message) {
  const std::size_t at = out.size();
  put_number(out, 0);
  put_number(out, static_cast<std::uint32_t>(host));
  encode_to(out, message);
  const std::size_t bytes = out.size() - at - kHeadBytes;
  std::string length;
  put_number(length, static_cast<std::uint32_t>(bytes));
  out.replace(at, length.size(), length);
  return bytes;
}

void FrameReader::feed(std::string_view bytes) {
  if (at_ == buffer_.size()) {
    buffer_.clear();
    at_ = 0;
  } else if (at_ > (1U << 16)) {
    buffer_.erase(0, at_);
    at_ = 0;
  }
  buffer_.append(bytes);
}

void FrameReader::settle() {
  if (in_the_middle()) return;
  std::string().swap(buffer_);  // assignment would keep its memory
  at_ = 0;
}

Result<bool> FrameReader::next(Frame* out) {
  const std::string_view rest = std::string_view(buffer_).substr(at_);
  if (rest.size() < kHeadBytes) return false;
  const std::size_t length = get_number(rest);
  if (length > most_) return fail(Code::other, "a frame of " + std::to_string(length) + " bytes");
  if (rest.size() < kHeadBytes + length) return false;
  out->host = static_cast<int>(get_number(rest.substr(4)));
  out->body.assign(rest.substr(kHeadBytes, length));
  at_ += kHeadBytes + length;
  return true;
}

}  // namespace tutti::launch::control
