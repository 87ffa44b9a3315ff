// layout.cc: building flattened layouts in normal form (see layout.h).
//
// Normal form: nothing empty inside; neighbours in stream and memory are one run; equal runs
// at equal distances are a loop; a few runs of any shape are a flat `runs` node, because
// walking a flat array is faster than walking nodes.
#include "types/layout.h"

#include <algorithm>

namespace tutti::types {

namespace {

constexpr Count kFlatRuns = 16;  // a part with at most so many runs is flattened into its parent

NodeRef share(Node node) {
  return std::make_shared<const Node>(std::move(node));
}

// How many runs the node would be if flattened, or more than kFlatRuns.
Count count_runs(const Node& node) {
  switch (node.kind) {
    case Node::Kind::run:
      return 1;
    case Node::Kind::runs:
      return static_cast<Count>(node.runs.size());
    case Node::Kind::loop: {
      const Count inner = count_runs(*node.body);
      return inner > kFlatRuns || node.count > kFlatRuns ? kFlatRuns + 1 : inner * node.count;
    }
    case Node::Kind::list:
      break;
  }
  return kFlatRuns + 1;
}

// Appends a run, joined to the last one where they touch.
void append(std::vector<ByteRun>& runs, Count offset, Count bytes) {
  if (!runs.empty() && runs.back().offset + runs.back().bytes == offset) {
    runs.back().bytes += bytes;
    return;
  }
  const Count start = runs.empty() ? 0 : runs.back().start + runs.back().bytes;
  runs.push_back({offset, start, bytes});
}

void flatten(std::vector<ByteRun>& runs, const Node& node, Count offset) {
  switch (node.kind) {
    case Node::Kind::run:
      append(runs, offset, node.bytes);
      break;
    case Node::Kind::runs:
      for (const ByteRun& run : node.runs) append(runs, offset + run.offset, run.bytes);
      break;
    case Node::Kind::loop:
      for (Count i = 0; i < node.count; ++i) flatten(runs, *node.body, offset + i * node.stride);
      break;
    case Node::Kind::list:
      for (const Node::Child& child : node.list) flatten(runs, *child.node, offset + child.offset);
      break;
  }
}

bool is_regular(const std::vector<ByteRun>& runs) {
  const Count stride = runs[1].offset - runs[0].offset;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (runs[i].bytes != runs[0].bytes || runs[i].offset - runs[i - 1].offset != stride) {
      return false;
    }
  }
  return true;
}

// The best node for these runs (at least one).
Placed from_runs(std::vector<ByteRun> runs) {
  const Count first = runs.front().offset;
  if (runs.size() == 1) return single_run(first, runs.front().bytes);
  const auto count = static_cast<Count>(runs.size());
  Node node;
  node.bytes = runs.back().start + runs.back().bytes;
  if (is_regular(runs)) {
    node.kind = Node::Kind::loop;
    node.count = count;
    node.stride = runs[1].offset - first;
    node.body = single_run(0, runs.front().bytes).node;
    return {first, share(std::move(node))};
  }
  for (ByteRun& run : runs) run.offset -= first;
  node.kind = Node::Kind::runs;
  node.runs = std::move(runs);
  node.runs.shrink_to_fit();
  return {first, share(std::move(node))};
}

}  // namespace

Placed single_run(Count offset, Count bytes) {
  Node node;
  node.bytes = bytes;
  return {offset, share(std::move(node))};
}

Placed repeat(const Placed& body, Count count, Count stride) {
  const Node& inner = *body.node;
  if (count == 0 || inner.bytes == 0) return single_run(0, 0);
  if (count == 1) return body;
  if (inner.kind == Node::Kind::run && inner.bytes == stride) {
    return single_run(body.offset, count * stride);
  }
  Node node;
  node.kind = Node::Kind::loop;
  node.bytes = count * inner.bytes;
  node.count = count;
  node.stride = stride;
  node.body = body.node;
  Count span = 0;
  if (inner.kind == Node::Kind::loop && !__builtin_mul_overflow(inner.count, inner.stride, &span) &&
      span == stride) {
    node.count = count * inner.count;
    node.stride = inner.stride;
    node.body = inner.body;
  } else if (inner.kind != Node::Kind::run && count_runs(node) <= kFlatRuns) {
    std::vector<ByteRun> runs;
    flatten(runs, node, body.offset);
    return from_runs(std::move(runs));
  }
  return {body.offset, share(std::move(node))};
}

Placed sequence(std::span<const Placed> parts) {
  std::vector<ByteRun> runs;
  bool flat = true;
  for (const Placed& part : parts) flat = flat && count_runs(*part.node) <= kFlatRuns;
  if (flat) {
    for (const Placed& part : parts) {
      if (part.node->bytes != 0) flatten(runs, *part.node, part.offset);
    }
    return runs.empty() ? single_run(0, 0) : from_runs(std::move(runs));
  }
  Node node;
  node.kind = Node::Kind::list;
  for (const Placed& part : parts) {
    if (part.node->bytes == 0) continue;
    node.list.push_back({part.offset, node.bytes, part.node});
    node.bytes += part.node->bytes;
  }
  if (node.list.size() == 1) return {node.list.front().offset, node.list.front().node};
  return {0, share(std::move(node))};
}

}  // namespace tutti::types
