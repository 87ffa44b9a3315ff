// Matching: which posted receive takes an arriving message, which message a new receive takes.
//
// Two queues in order of arrival. A queue is searched from its front, which is exact and costs
// nothing while messages come in the order of their receives. The next search for the same key
// begins where the last one ended, so that threads which take turns cost each other one walk a
// turn. When walks get long on the average, the queue is indexed by a hash of (context, source,
// tag), wildcards being keys of their own; an arriving message then looks at the front and at most
// at four keys and takes the oldest stamp, so a thousand posted receives cost what ten do, and the
// order of MPI 5.0, 3.5 is kept exactly.
//
// Single thread (the gate). Nodes are the caller's; a queue never frees one, and throws nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "p2p/p2p.h"

namespace tutti::p2p {

struct MatchNode {
  std::uint32_t context = 0;
  int source = 0;  // or kAnySource
  int tag = 0;     // or kAnyTag
  std::uint64_t stamp = 0;
  MatchNode* older = nullptr;  // the queue, in order
  MatchNode* newer = nullptr;
  MatchNode* before = nullptr;  // the bucket, in order
  MatchNode* after = nullptr;
};

struct MatchKey {
  std::uint32_t context;
  int source;
  int tag;
};

inline bool operator==(const MatchKey& a, const MatchKey& b) {
  return a.context == b.context && a.source == b.source && a.tag == b.tag;
}

// True when a receive for `wanted` takes a message that says `is`.
inline bool accepts(const MatchKey& wanted, const MatchKey& is) {
  return wanted.context == is.context &&
         (wanted.source == is.source || wanted.source == kAnySource) &&
         (wanted.tag == is.tag || (wanted.tag == kAnyTag && is.tag >= 0));
}
inline MatchKey key_of(const MatchNode& node) {
  return {node.context, node.source, node.tag};
}

// First in, first out, with an index by key once searches were long. It stays indexed until empty.
class MatchQueue {
 public:
  bool is_empty() const { return oldest_ == nullptr; }
  std::size_t size() const { return size_; }
  MatchNode* oldest() const { return oldest_; }

  void add(MatchNode* node) {
    node->stamp = ++stamps_;
    node->newer = nullptr;
    node->older = newest_;
    (newest_ == nullptr ? oldest_ : newest_->newer) = node;
    newest_ = node;
    if (from_ == nullptr) from_ = node;
    ++size_;
    if (indexed_) [[unlikely]]
      add_to_index(node);
  }
  void remove(MatchNode* node) {
    (node->older == nullptr ? oldest_ : node->older->newer) = node->newer;
    (node->newer == nullptr ? newest_ : node->newer->older) = node->older;
    if (from_ == node) from_ = node->newer;
    --size_;
    if (indexed_) [[unlikely]]
      remove_from_index(node);
  }

 protected:
  struct Bucket {
    MatchNode* first = nullptr;
    MatchNode* last = nullptr;
  };
  // The oldest node that fits; by_index(node) finds it, from this node on, when walks got long.
  template <class Fits, class ByIndex>
  MatchNode* seek(const MatchKey& key, const Fits& fits, const ByIndex& by_index) {
    if (oldest_ == nullptr || fits(*oldest_)) return oldest_;
    if (key == sought_ && from_ != nullptr && fits(*from_)) return from_;
    MatchNode* node = key == sought_ ? from_ : oldest_->newer;
    sought_ = key;
    if (indexed_ && node != nullptr) {
      ++asked_;
      return from_ = by_index(node);
    }
    return from_ = walk(node, fits, by_index);
  }
  void make_index();
  // How many indexed nodes have wildcards: [any source][any tag].
  std::size_t counted(bool any_source, bool any_tag) const { return shapes_[any_source][any_tag]; }
  MatchNode* first_with(const MatchKey& key) const;

 private:
  static constexpr std::size_t kFirstBuckets = 64;
  static constexpr int kPatience = 512;         // nodes walked past in all
  static constexpr int kCheapWalk = 8;          // nodes: a walk that costs no patience
  static constexpr std::uint64_t kRarely = 16;  // nodes that came for one look into the index

  template <class Fits, class ByIndex>
  [[gnu::noinline]] MatchNode* walk(MatchNode* node, const Fits& fits, const ByIndex& by_index) {
    int left = patience_;
    for (; node != nullptr && !fits(*node); node = node->newer)
      if (--left == 0) return by_index(node);
    patience_ = std::min(left + kCheapWalk, kPatience);
    return node;
  }
  void add_to_index(MatchNode* node);
  void remove_from_index(MatchNode* node);
  void link(MatchNode* node);
  void link_all();
  bool add_buckets();
  std::size_t bucket_of(const MatchKey& key) const;

  MatchNode* oldest_ = nullptr;
  MatchNode* newest_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t stamps_ = 0;
  // No node older than from_ (null: no node) fits sought_.
  MatchKey sought_{};
  MatchNode* from_ = nullptr;
  int patience_ = kPatience;  // looks left until it is indexed
  bool indexed_ = false;
  std::uint64_t indexed_from_ = 0;  // the last stamp given before
  std::uint64_t asked_ = 0;         // how often the index was
  std::size_t shapes_[2][2] = {};
  // A power of two, at least size_ where there is memory for so many.
  std::vector<Bucket> buckets_ = std::vector<Bucket>(kFirstBuckets);
};

// Receives that wait for a message.
class PostedQueue : public MatchQueue {
 public:
  // The oldest receive that accepts a message with this key, left in the queue; or null.
  MatchNode* find(const MatchKey& message) {
    return seek(
        message, [&](const MatchNode& node) { return accepts(key_of(node), message); },
        [&](MatchNode*) { return find_indexed(message); });
  }

 private:
  MatchNode* find_indexed(const MatchKey& message);
};

// Messages that wait for a receive.
class UnexpectedQueue : public MatchQueue {
 public:
  // The oldest message that a receive for `wanted` accepts, left in the queue; or null.
  MatchNode* find(const MatchKey& wanted) {
    const auto fits = [&](const MatchNode& node) { return accepts(wanted, key_of(node)); };
    return seek(wanted, fits, [&](MatchNode* node) {
      if (wanted.source != kAnySource && wanted.tag != kAnyTag) return find_indexed(wanted);
      while (node != nullptr && !fits(*node)) node = node->newer;
      return node;
    });
  }

 private:
  MatchNode* find_indexed(const MatchKey& wanted) {
    make_index();
    return first_with(wanted);
  }
};

}  // namespace tutti::p2p
