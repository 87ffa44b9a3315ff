// walk: over part of a layout. Private to types.
//
// A walk hands a sink equal blocks at equal distances in memory and stream (one run is one block).
// The first and last element of a part may be cut anywhere; what lies between is handed over in
// bulk.
//
// A sink has take() for a row of blocks, take_run() for one, is_full(), kOrdered (it wants them in
// stream order) and kInCaches (it wants columns of a table in parts that stay in the caches).
#pragma once

#include <algorithm>

#include "base/check.h"
#include "types/layout.h"

namespace tutti::types {

// `count` blocks of `bytes`, `stride` from one to the next in memory and `stream_stride` in the
// packed stream.
struct BlockRow {
  Count bytes;
  Count count;
  Count stride;
  Count stream_stride;
};

// A walk over stream bytes [from, to) of nodes; `origin` is the stream position that the
// sink calls 0.
template <class Sink>
class Walk {
 public:
  explicit Walk(Sink& sink) : sink_(sink) {}

  // Bytes [from, to) of `count` bodies, which begin at position `position`.
  void loop(const Node& body, Count stride, std::byte* at, Count position, Count from, Count to) {
    const Count each = body.bytes;
    const Count first = from / each;
    const Count last = to / each;
    if (first == last) {
      part(body, at + first * stride, position + first * each, from - first * each,
           to - first * each);
      return;
    }
    Count i = first;
    if (from > first * each) {
      part(body, at + i * stride, position + i * each, from - i * each, each);
      ++i;
    }
    if (i < last) whole(body, stride, at + i * stride, position + i * each, last - i);
    if (to > last * each) {
      part(body, at + last * stride, position + last * each, 0, to - last * each);
    }
  }

 private:
  static constexpr Count kColumnBytes = 16384;  // so many at a time, that they stay in L1
  static constexpr Count kFewest = 8;           // elements that make columns worth while

  // `count` whole bodies from `at` on.
  void whole(const Node& body, Count stride, std::byte* at, Count position, Count count) {
    if (body.kind == Node::Kind::run) {
      sink_.take(at, position, {body.bytes, count, stride, body.bytes});
      return;
    }
    const bool is_small = !Sink::kInCaches || std::max(stride, -stride) <= kColumnBytes / kFewest;
    if (body.kind == Node::Kind::runs && !Sink::kOrdered && is_small && count >= kFewest) {
      columns(body, stride, at, position, count);
      return;
    }
    for (Count i = 0; i < count && !sink_.is_full(); ++i) {
      part(body, at + i * stride, position + i * body.bytes, 0, body.bytes);
    }
  }

  // The same run of many elements, then the next run.
  void columns(const Node& body, Count stride, std::byte* at, Count position, Count count) {
    const Count wide = std::max({body.bytes, stride, -stride, kColumnBytes / 64});
    const Count height = Sink::kInCaches ? std::max<Count>(1, kColumnBytes / wide) : count;
    for (Count first = 0; first < count; first += height) {
      const Count some = std::min(height, count - first);
      for (const ByteRun& run : body.runs) {
        sink_.take(at + first * stride + run.offset, position + first * body.bytes + run.start,
                   {run.bytes, some, stride, body.bytes});
      }
    }
  }

  // Bytes [from, to) of one node at `at`, which begins at position `position`.
  void part(const Node& node, std::byte* at, Count position, Count from, Count to) {
    switch (node.kind) {
      case Node::Kind::run:
        sink_.take_run(at + from, position + from, to - from);
        break;
      case Node::Kind::loop:
        loop(*node.body, node.stride, at, position, from, to);
        break;
      case Node::Kind::runs:
        runs(node, at, position, from, to);
        break;
      case Node::Kind::list:
        list(node, at, position, from, to);
        break;
    }
  }

  void runs(const Node& node, std::byte* at, Count position, Count from, Count to) {
    const ByteRun* run = find(node.runs, from);
    if (from > run->start) {  // a cut run first
      const Count cut = from - run->start;
      const Count bytes = std::min(run->bytes - cut, to - from);
      sink_.take_run(at + run->offset + cut, position + from, bytes);
      from += bytes;
      ++run;
    }
    const ByteRun* const end = node.runs.data() + node.runs.size();
    for (; run != end && run->start + run->bytes <= to && !sink_.is_full(); ++run)
      sink_.take_run(at + run->offset, position + run->start, run->bytes);
    if (run != end && run->start < to && !sink_.is_full() && from <= run->start)
      sink_.take_run(at + run->offset, position + run->start, to - run->start);
  }

  void list(const Node& node, std::byte* at, Count position, Count from, Count to) {
    for (const Node::Child* child = find(node.list, from); from < to && !sink_.is_full(); ++child) {
      const Count cut = from - child->start;
      const Count end = std::min(child->node->bytes, to - child->start);
      part(*child->node, at + child->offset, position + child->start, cut, end);
      from = child->start + end;
    }
  }

  // The entry that holds stream position `from`.
  template <class Entry>
  static const Entry* find(const std::vector<Entry>& entries, Count from) {
    if (from == 0) return entries.data();
    const auto next =
        std::upper_bound(entries.begin(), entries.end(), from,
                         [](Count position, const Entry& entry) { return position < entry.start; });
    return &*(next - 1);
  }

  Sink& sink_;
};

// Bytes [offset, offset + bytes) of a message that is not contiguous.
template <class Sink>
void walk(const Buffer& buffer, Count offset, Count bytes, Sink& sink) {
  const Placed& root = buffer.type->layout().root;
  const Count from = buffer.skip + offset;
  TUTTI_CHECK(from >= 0 && from + bytes <= buffer.count * buffer.type->size(),
              "bytes outside the message");
  Walk<Sink>(sink).loop(*root.node, buffer.type->extent(),
                        static_cast<std::byte*>(buffer.data) + root.offset, -from, from,
                        from + bytes);
}

}  // namespace tutti::types
