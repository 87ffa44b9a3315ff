// The index of a long queue: buckets of nodes in order of arrival, doubled when full.
#include "p2p/match.h"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <new>
#include <utility>

namespace tutti::p2p {

std::size_t MatchQueue::bucket_of(const MatchKey& key) const {
  // Multiply and fold: the tags of a program are often consecutive or share low bits.
  std::uint64_t mixed =
      (static_cast<std::uint64_t>(key.context) << 32) ^ static_cast<std::uint32_t>(key.source);
  mixed *= 0x9e3779b97f4a7c15U;
  mixed ^= mixed >> 32;
  mixed += static_cast<std::uint32_t>(key.tag);
  mixed *= 0xd6e8feb86659fd93U;
  return static_cast<std::size_t>(mixed >> 32) & (buckets_.size() - 1);
}

void MatchQueue::link(MatchNode* node) {
  Bucket& bucket = buckets_[bucket_of(key_of(*node))];
  node->after = nullptr;
  node->before = bucket.last;
  (bucket.last == nullptr ? bucket.first : bucket.last->after) = node;
  bucket.last = node;
}

void MatchQueue::add_to_index(MatchNode* node) {
  ++shapes_[node->source == kAnySource][node->tag == kAnyTag];
  if (size_ > buckets_.size() && add_buckets()) return link_all();
  link(node);
}

void MatchQueue::make_index() {
  if (indexed_) return;
  indexed_ = true;
  indexed_from_ = stamps_ - size_;
  asked_ = 0;
  for (MatchNode* each = oldest_; each != nullptr; each = each->newer)
    ++shapes_[each->source == kAnySource][each->tag == kAnyTag];
  if (size_ > buckets_.size()) add_buckets();
  link_all();
}

// As many as there are nodes, all of them empty. False: there is no memory for so many, and those
// that there are get long.
bool MatchQueue::add_buckets() {
  try {
    std::vector<Bucket>(std::bit_ceil(size_)).swap(buckets_);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void MatchQueue::link_all() {
  for (MatchNode* each = oldest_; each != nullptr; each = each->newer) link(each);
}

void MatchQueue::remove_from_index(MatchNode* node) {
  Bucket& bucket = buckets_[bucket_of(key_of(*node))];
  (node->before == nullptr ? bucket.first : node->before->after) = node->after;
  (node->after == nullptr ? bucket.last : node->after->before) = node->before;
  --shapes_[node->source == kAnySource][node->tag == kAnyTag];
  if (size_ != 0) return;
  indexed_ = false;
  patience_ = kRarely * asked_ < stamps_ - indexed_from_ ? kPatience : kCheapWalk;
}

MatchNode* MatchQueue::first_with(const MatchKey& key) const {
  MatchNode* node = buckets_[bucket_of(key)].first;
  while (node != nullptr &&
         (node->tag != key.tag || node->source != key.source || node->context != key.context))
    node = node->after;
  return node;
}

MatchNode* PostedQueue::find_indexed(const MatchKey& message) {
  make_index();
  MatchNode* best = nullptr;
  for (const bool any_source : {false, true})
    for (const bool any_tag : {false, true}) {
      if (counted(any_source, any_tag) == 0 || (any_tag && message.tag < 0)) continue;
      MatchNode* node = first_with({message.context, any_source ? kAnySource : message.source,
                                    any_tag ? kAnyTag : message.tag});
      if (node != nullptr && (best == nullptr || node->stamp < best->stamp)) best = node;
    }
  return best;
}

}  // namespace tutti::p2p
