// rows: a part of a message as rows of equal blocks, for devices, whose kernels copy each row at
// once.
#include "types/walk.h"

namespace tutti::types {
namespace {

struct RowSink {
  static constexpr bool kOrdered = false;
  static constexpr bool kInCaches = false;
  void* self;
  void (*give)(void* self, const Row& row);
  void take(std::byte* memory, Count position, const BlockRow& blocks) const {
    give(self, {memory, position, blocks.bytes, blocks.count, blocks.apart, blocks.stream_apart});
  }
  void take_run(std::byte* memory, Count position, Count bytes) const {
    if (bytes > 0) give(self, {memory, position, bytes, 1, bytes, bytes});
  }
  static bool is_full() { return false; }
};

}  // namespace

void rows(const Buffer& buffer, Count offset, Count bytes, void* self,
          void (*give)(void* self, const Row& row)) {
  if (bytes <= 0) return;
  const RowSink sink{self, give};
  if (buffer.is_one_run())
    sink.take_run(buffer.at() + offset, 0, bytes);
  else
    walk(buffer, offset, bytes, sink);
}

}  // namespace tutti::types
