// rows: a part of a message as rows of equal blocks, for devices, whose kernels copy each row at
// once.
#include "types/runs.h"
#include "types/walk.h"

namespace tutti::types {
namespace {

struct RowSink {
  static constexpr bool kOrdered = false;
  static constexpr bool kInCaches = false;
  void* self;
  bool (*give)(void* self, const Row& row);
  bool full = false;
  void take(std::byte* memory, Count position, const BlockRow& blocks) {
    full = full || !give(self, {memory, position, blocks.bytes, blocks.count, blocks.stride,
                                blocks.stream_stride});
  }
  void take_run(std::byte* memory, Count position, Count bytes) {
    if (bytes > 0) full = full || !give(self, {memory, position, bytes, 1, bytes, bytes});
  }
  bool is_full() const { return full; }
};

struct RunSink {
  static constexpr bool kOrdered = true;
  static constexpr bool kInCaches = false;
  const std::byte* origin;
  std::size_t most;
  std::vector<ElementRun>* runs;
  void take(const std::byte* memory, Count, const BlockRow& blocks) const {
    for (Count i = 0; i < blocks.count && !is_full(); ++i)
      runs->push_back({memory + i * blocks.stride - origin, blocks.bytes});
  }
  void take_run(const std::byte* memory, Count, Count bytes) const {
    if (bytes > 0) runs->push_back({memory - origin, bytes});
  }
  bool is_full() const { return runs->size() > most; }
};

}  // namespace

// The origin is an address like any other: nothing is read.
bool element_runs(const Datatype& type, std::size_t most, std::vector<ElementRun>* runs) {
  auto* const origin = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 62);
  const Node& node = *type.layout().root.node;
  RunSink sink{origin, most, runs};
  if (node.bytes > 0) Walk<RunSink>(sink).loop(node, 0, origin, 0, 0, node.bytes);
  return runs->size() <= most;
}

std::shared_ptr<const void> layout_of(const Datatype& type, Count* origin) {
  const Placed& root = type.layout().root;
  if (origin != nullptr) *origin = root.offset;
  return root.node;
}

void rows(const Buffer& buffer, Count offset, Count bytes, void* self,
          bool (*give)(void* self, const Row& row)) {
  if (bytes <= 0) return;
  RowSink sink{self, give};
  if (buffer.is_one_run())
    sink.take_run(buffer.at() + offset, 0, bytes);
  else
    walk(buffer, offset, bytes, sink);
}

}  // namespace tutti::types
