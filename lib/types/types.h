// types: what a buffer's elements are, and what can be folded.
//
// Owner: nobody; datatypes and operations are immutable once made and shared by Ref. Nothing
// here blocks. Sizes and offsets are bytes unless named count (elements).
//
// A message is the *packed stream* of a Buffer: its bytes in type-map order without gaps
// (MPI 5.0, 5.1). Everything above addresses messages by offsets in that stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/object.h"
#include "base/result.h"

namespace tutti::types {

using Count = std::int64_t;

// How the elements of a predefined type behave under operations.
// clang-format off
enum class Element : std::uint8_t {
  none, byte, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
  float16, float32, float64, float_long, complex32, complex64, complex128, complex_long,
  logical8, logical16, logical32, logical64,
  float_int, double_int, long_int, int_int, short_int, long_double_int, float_float,
  double_double,
  int128, logical128, float128, complex256,  // Fortran's *16, and COMPLEX*32
  bfloat16,
};
// clang-format on
inline constexpr std::size_t kElements = 35;

struct Layout;  // flattened form, layout.h
struct Made;    // envelope and contents, below

class Datatype final : public Object {
 public:
  Count size() const { return size_; }
  Count extent() const { return extent_; }
  Count lower_bound() const { return lower_bound_; }
  Count true_extent() const { return true_extent_; }
  Count true_lower_bound() const { return true_lower_bound_; }
  // count elements are one run starting at the buffer's address: memcpy serves.
  bool is_contiguous() const { return contiguous_; }
  Element element() const { return element_; }  // of the single predefined type inside, or none
  // Predefined, named or not (MPI 5.0, 19.1.5): it has no parts and lives for ever.
  bool is_basic() const { return basic_; }
  bool is_committed() const { return committed_; }
  void commit() { committed_ = true; }
  const Layout& layout() const { return *layout_; }

  const Made& made() const { return *made_; }
  std::string name() const;
  void set_name(std::string name);
  std::map<int, void*> attributes;  // keyval -> value; the bindings fill and empty it

 private:
  friend struct Maker;
  explicit Datatype(Handle handle);
  ~Datatype();
  friend class tutti::Object;
  Count size_ = 0, extent_ = 0, lower_bound_ = 0, true_extent_ = 0, true_lower_bound_ = 0;
  bool contiguous_ = false;
  bool committed_ = false;
  bool basic_ = false;
  Element element_ = Element::none;
  bool marked_ = false;         // bounds were set by hand: types made of it keep to them
  std::uint8_t alignment_ = 1;  // of the strictest predefined type inside
  std::unique_ptr<Layout> layout_;
  std::unique_ptr<Made> made_;
};

using TypeRef = Ref<Datatype>;

// How a type was made, for MPI 5.0, 5.1.13: arguments in the order of its tables.
struct Made {
  int combiner = 0;       // the standard's number: 101 named, 102 dup, ... 117 value_index
  bool is_large = false;  // made by a large-count function: its numbers are all in `counts`
  std::vector<Count> integers, addresses, counts;
  std::vector<TypeRef> types;
  std::string name;
};

inline constexpr Handle kFirstType = 0x200;  // handle of the null type
inline constexpr Handle kLastType = 0x2ff;
// By handle - kFirstType; filled when the program is loaded, constant after that.
extern Datatype* predefined_types[kLastType - kFirstType + 1];

// The predefined type with this standard handle, or null (so also for the null type). O(1).
inline Datatype* predefined_type(Handle handle) {
  return handle - kFirstType <= kLastType - kFirstType ? predefined_types[handle - kFirstType]
                                                       : nullptr;
}
// A handle to its object; null for any other word.
inline Datatype* type_of(Handle handle) {
  return handle < 0x400 ? predefined_type(handle)
                        : object_at<Datatype>(handle, ObjectKind::datatype);
}

// Constructors (MPI 5.0, 5.1.2). Displacements in bytes where the name says h or byte. They
// fail on negative counts and where a size, bound or displacement does not fit a Count.
Result<TypeRef> make_contiguous(Count count, Datatype& old);
Result<TypeRef> make_vector(Count count, Count block, Count stride, Datatype& old);
Result<TypeRef> make_hvector(Count count, Count block, Count stride_bytes, Datatype& old);
Result<TypeRef> make_indexed(std::span<const Count> blocks, std::span<const Count> offsets,
                             Datatype& old);
Result<TypeRef> make_hindexed(std::span<const Count> blocks, std::span<const Count> offset_bytes,
                              Datatype& old);
Result<TypeRef> make_indexed_block(Count block, std::span<const Count> offsets, Datatype& old);
Result<TypeRef> make_hindexed_block(Count block, std::span<const Count> offset_bytes,
                                    Datatype& old);
Result<TypeRef> make_struct(std::span<const Count> blocks, std::span<const Count> offset_bytes,
                            std::span<Datatype* const> olds);
Result<TypeRef> make_resized(Datatype& old, Count lower_bound, Count extent);
Result<TypeRef> make_dup(Datatype& old);
// A new object with the type map and the making of the old one, but no name and attributes: what
// MPI_Type_get_contents hands out.
TypeRef make_again(Datatype& old);
// An unnamed predefined type (MPI 5.0, 19.1.5) that is `base` but for its envelope.
TypeRef make_unnamed(int combiner, std::span<const Count> integers, Datatype& base);
enum class ArrayOrder { c, fortran };
Result<TypeRef> make_subarray(std::span<const Count> sizes, std::span<const Count> subsizes,
                              std::span<const Count> starts, ArrayOrder order, Datatype& old);
enum class Spread : std::uint8_t { none, block, cyclic };
// One dimension of a distributed array: `size` elements dealt to `ranks` ranks.
struct Deal {
  Count size = 0;
  Spread spread = Spread::none;
  Count argument = 0;  // elements a block; 0: the default
  int ranks = 1;
};
Result<TypeRef> make_darray(int rank, std::span<const Deal> dims, ArrayOrder order, Datatype& old);
// Says that `type` was made by a large-count function; call it before others see the type.
void mark_large(Datatype& type);

class Device;  // device.h

// A message in memory: bytes [skip, skip + bytes) of the packed stream of count elements.
struct Buffer {
  void* data = nullptr;
  Count count = 0;
  const Datatype* type = nullptr;  // null: plain bytes, data + skip is the first of them
  Count skip = 0;
  Count bytes = 0;
  Device* device = nullptr;  // whose memory it is; null: the host's

  static Buffer whole(void* data, Count count, const Datatype& type) {
    return {data, count, &type, 0, count * type.size(), nullptr};
  }
  static Buffer plain(void* data, Count bytes) { return {data, bytes, nullptr, 0, bytes, nullptr}; }
  MemoryKind kind() const;
  // True when the message lies in memory as one run; then at() is its first byte.
  bool is_one_run() const { return type == nullptr || type->is_contiguous(); }
  // And in the host's memory, so that the processor may copy it from and to at().
  bool is_contiguous() const { return device == nullptr && is_one_run(); }
  std::byte* at() const {
    const Count lead = type == nullptr ? 0 : type->true_lower_bound();
    return static_cast<std::byte*>(data) + lead + skip;
  }
  // Bytes [from, from + length) of this message, as a Buffer of its own.
  Buffer part(Count from, Count length) const {
    return {data, count, type, skip + from, length, device};
  }
};

// These wait where a device does the work; device.h has the others. Copies bytes [offset, offset +
// out.size()) of the message into out / out of in.
void pack(const Buffer& from, Count offset, std::span<std::byte> out);
void unpack(const Buffer& into, Count offset, std::span<const std::byte> in);
// Copies a whole message; returns its bytes, the smaller of both lengths. No overlap.
Count copy(const Buffer& from, const Buffer& into);
// Lists runs of a message in stream order from `offset`, as addresses (for writev and readv),
// until `out` is full or the message ends; returns how many, *bytes what they cover.
struct Piece {
  std::byte* data;
  std::size_t bytes;
};
std::size_t pieces(const Buffer& buffer, Count offset, std::span<Piece> out, Count* bytes);
// Bytes [offset, offset + bytes) of a message as rows of equal blocks, in any order: what a
// device's kernels copy, until give() wants no more. `position` is in the packed stream, counted
// from `offset`.
struct Row {
  std::byte* data;
  Count position;
  Count bytes, count;           // of one block; blocks
  Count stride, stream_stride;  // from one to the next, in memory and in the stream
};
void rows(const Buffer& buffer, Count offset, Count bytes, void* self,
          bool (*give)(void* self, const Row& row));
// Whether messages a and b, each of several parts, have a byte of memory in common. Gaps are none.
// Takes 16 bytes a run of the one that has fewer, where the two are interleaved.
bool overlap(std::span<const Buffer> a, std::span<const Buffer> b);

// How many whole basic elements (MPI 5.0, 5.1.11) the first `bytes` of a message of `type`s
// hold; empty when the bytes end inside one. And the bytes of the first `elements` of them.
std::optional<Count> elements_in(const Datatype& type, Count bytes);
Count bytes_of_elements(const Datatype& type, Count elements);

// The portable representation "external32" (MPI 5.0, 14.5.2): its bytes for one element; packing
// whole messages into it and out of it. They fail on values that it cannot hold.
Count external_size(const Datatype& type);
Result<void> pack_external(const Buffer& from, std::byte* out);
Result<void> unpack_external(const Buffer& into, const std::byte* in);

}  // namespace tutti::types

#include "types/device.h"  // IWYU pragma: export
#include "types/op.h"      // IWYU pragma: export
