// external.cc: the portable representation "external32" (MPI 5.0, 14.5.2).
//
// Elements stand one after the other without gaps, numbers with their most significant byte
// first. Most have the size they have here; MPI_LONG and MPI_WCHAR are narrower and may not
// fit, long double is IEEE binary128. A basic type is one field or two (complex, pairs). The
// walk goes down the type's making and moves one field at a time through a window of the
// native packed stream.
#include <array>
#include <cfloat>
#include <cstring>

#include "types/elements.h"
#include "types/handles.h"

namespace tutti::types {
namespace {

constexpr auto kConversion = static_cast<Code>(25);  // MPI_ERR_CONVERSION

struct Field {
  enum class Kind : std::uint8_t { bytes, extended, narrow_signed, narrow_unsigned };
  Kind kind = Kind::bytes;
  std::uint8_t here = 1;   // bytes in memory
  std::uint8_t there = 1;  // bytes in external32
};
struct Fields {
  Field first, second;
  int count = 1;
};

constexpr Field plain(std::size_t bytes) {
  return {Field::Kind::bytes, static_cast<std::uint8_t>(bytes), static_cast<std::uint8_t>(bytes)};
}
constexpr Field kLongField = {Field::Kind::narrow_signed, sizeof(long), 4};
constexpr Field kExtended = {LDBL_MANT_DIG == 64 ? Field::Kind::extended : Field::Kind::bytes,
                             sizeof(long double), 16};

Fields fields_of(const Datatype& basic) {
  const auto size = static_cast<std::size_t>(basic.size());
  switch (basic.handle()) {
    case abi::kLong:
      return {kLongField, {}, 1};
    case abi::kUnsignedLong:
      return {{Field::Kind::narrow_unsigned, sizeof(long), 4}, {}, 1};
    case abi::kLongInt:
      return {kLongField, plain(sizeof(int)), 2};
    case abi::kWideCharacter:
      return {{Field::Kind::narrow_unsigned, sizeof(wchar_t), 2}, {}, 1};
    default:
      break;
  }
  switch (basic.element()) {
    case Element::float_long:
      return {kExtended, {}, 1};
    case Element::complex_long:
      return {kExtended, kExtended, 2};
    case Element::long_double_int:
      return {kExtended, plain(sizeof(int)), 2};
    case Element::complex32:
    case Element::complex64:
    case Element::complex128:
    case Element::complex256:
    case Element::float_float:
    case Element::double_double:
      return {plain(size / 2), plain(size / 2), 2};
    case Element::float_int:
    case Element::double_int:
    case Element::int_int:
    case Element::short_int:
      return {plain(size - sizeof(int)), plain(sizeof(int)), 2};
    default:
      return {plain(size), {}, 1};
  }
}

void swap_copy(const std::byte* from, std::byte* to, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to[i] = from[bytes - 1 - i];
}

#if LDBL_MANT_DIG == 64
__extension__ typedef __float128 Quad;  // NOLINT: keyword of an extension
void extended_to_quad(const std::byte* from, std::byte* to) {
  long double value = 0;
  std::memcpy(&value, from, sizeof value);
  const Quad quad = value;
  std::array<std::byte, sizeof quad> bytes;
  std::memcpy(bytes.data(), &quad, sizeof quad);
  swap_copy(bytes.data(), to, sizeof quad);
}
void quad_to_extended(const std::byte* from, std::byte* to) {
  Quad quad = 0;
  std::array<std::byte, sizeof quad> bytes;
  swap_copy(from, bytes.data(), sizeof quad);
  std::memcpy(&quad, bytes.data(), sizeof quad);
  const auto value = static_cast<long double>(quad);
  std::memset(to, 0, sizeof value);  // its padding too
  std::memcpy(to, &value, 10);
}
#else
void extended_to_quad(const std::byte*, std::byte*) {}
void quad_to_extended(const std::byte*, std::byte*) {}
#endif

bool is_negative(const std::byte* little, std::size_t bytes) {
  return (little[bytes - 1] & std::byte{0x80}) != std::byte{0};
}

// False: the number does not fit.
bool to_external(const Field& field, const std::byte* from, std::byte* to) {
  if (field.kind == Field::Kind::extended) {
    extended_to_quad(from, to);
    return true;
  }
  swap_copy(from, to, field.there);
  if (field.kind == Field::Kind::bytes) return true;
  const bool negative = field.kind == Field::Kind::narrow_signed && is_negative(from, field.there);
  const std::byte rest = negative ? std::byte{0xff} : std::byte{0};
  for (std::size_t i = field.there; i < field.here; ++i)
    if (from[i] != rest) return false;
  return true;
}

void from_external(const Field& field, const std::byte* from, std::byte* to) {
  if (field.kind == Field::Kind::extended) return quad_to_extended(from, to);
  swap_copy(from, to, field.there);
  const bool negative = field.kind == Field::Kind::narrow_signed && is_negative(to, field.there);
  std::memset(to + field.there, negative ? 0xff : 0,
              static_cast<std::size_t>(field.here - field.there));
}

constexpr std::size_t kWindow = 16384;

// Reads the native packed stream of a message, some bytes at a time.
class ExternalPacker {
 public:
  ExternalPacker(const Buffer& message, std::byte* out) : message_(message), out_(out) {}

  bool move(const Field& field) {
    if (at_ + field.here > filled_) refill();
    const bool fits = to_external(field, window_.data() + at_, out_);
    at_ += field.here;
    out_ += field.there;
    return fits;
  }

 private:
  void refill() {
    position_ += static_cast<Count>(at_);
    filled_ = static_cast<std::size_t>(std::min<Count>(kWindow, message_.bytes - position_));
    pack(message_, position_, {window_.data(), filled_});
    at_ = 0;
  }
  const Buffer& message_;
  std::byte* out_;
  std::array<std::byte, kWindow> window_;
  std::size_t at_ = 0, filled_ = 0;
  Count position_ = 0;  // of the window in the stream
};

// Writes it.
class ExternalUnpacker {
 public:
  ExternalUnpacker(const Buffer& message, const std::byte* in) : message_(message), in_(in) {}
  ~ExternalUnpacker() { flush(); }
  ExternalUnpacker(const ExternalUnpacker&) = delete;
  ExternalUnpacker& operator=(const ExternalUnpacker&) = delete;

  bool move(const Field& field) {
    if (at_ + field.here > kWindow) flush();
    from_external(field, in_, window_.data() + at_);
    at_ += field.here;
    in_ += field.there;
    return true;
  }

 private:
  void flush() {
    unpack(message_, position_, {window_.data(), at_});
    position_ += static_cast<Count>(at_);
    at_ = 0;
  }
  const Buffer& message_;
  const std::byte* in_;
  std::array<std::byte, kWindow> window_;
  std::size_t at_ = 0;
  Count position_ = 0;
};

// Moves `count` elements of `type`; false when a value does not fit.
template <class Mover>
bool move(const Datatype& type, Count count, Mover& mover) {
  if (type.is_basic()) {
    const Fields fields = fields_of(type);
    bool fits = true;
    for (Count i = 0; i < count && fits; ++i) {
      fits = mover.move(fields.first);
      if (fields.count == 2) fits = fits && mover.move(fields.second);
    }
    return fits;
  }
  bool fits = true;
  for (Count i = 0; i < count && fits && type.size() > 0; ++i)
    for_each_part(type, [&](const Datatype& old, Count copies) {
      fits = move(old, copies, mover);
      return fits;
    });
  return fits;
}

}  // namespace

Count external_size(const Datatype& type) {
  if (type.is_basic()) {
    const Fields fields = fields_of(type);
    return fields.first.there + (fields.count == 2 ? fields.second.there : 0);
  }
  Count sum = 0;
  for_each_part(type, [&sum](const Datatype& old, Count copies) {
    sum += copies * external_size(old);
    return true;
  });
  return sum;
}

Result<void> pack_external(const Buffer& from, std::byte* out) {
  ExternalPacker packer(from, out);
  if (move(*from.type, from.count, packer)) return {};
  return fail(kConversion, "a value does not fit its external32 form (MPI_LONG has 4 bytes there)");
}

Result<void> unpack_external(const Buffer& into, const std::byte* in) {
  ExternalUnpacker unpacker(into, in);
  move(*into.type, into.count, unpacker);
  return {};
}

}  // namespace tutti::types
