// The arithmetic behind the shapes: O(log p) a tree, O(p) where there is a list of counts.
#include "coll/shapes.h"

#include <algorithm>

#include "base/check.h"

namespace tutti::coll {

Blocks::Blocks(Slice whole, std::span<const Count> counts)
    : whole_(whole), p_(static_cast<int>(counts.size())) {
  starts_.reserve(counts.size() + 1);
  starts_.push_back(0);
  for (const Count count : counts) starts_.push_back(starts_.back() + count);
  TUTTI_CHECK(starts_.back() == whole.count, "counts do not add up to the slice");
}

Count Blocks::start(int index) const {
  if (!starts_.empty()) return starts_[static_cast<std::size_t>(index)];
  const Count each = whole_.count / p_;
  const Count extra = whole_.count % p_;
  return each * index + std::min<Count>(index, extra);
}

Slice Blocks::range(int first, int last) const {
  const Count from = start(first);
  return whole_.part(from, start(last) - from);
}

std::vector<Slice> wrapped(const Blocks& blocks, int first, int length) {
  const int p = blocks.size();
  const int head = std::min(length, p - first);
  std::vector<Slice> pieces{blocks.range(first, first + head)};
  if (length > head) pieces.push_back(blocks.range(0, length - head));
  return pieces;
}

Chain::Chain(const RankTeam& team, int root) {
  const int position = team.after(team.rank(), -root);
  if (position > 0) previous = team.at(team.after(team.rank(), -1));
  if (position < team.size() - 1) next = team.at(team.after(team.rank(), 1));
}

KnomialTree::KnomialTree(const RankTeam& team, int root, int radix)
    : position(team.after(team.rank(), -root)) {
  const int p = team.size();
  const auto rank_at = [&](int v) { return team.at(team.after(root, v)); };
  int stride = 1;  // my subtree is what lies below my lowest digit that is not zero
  while (stride < p && (position / stride) % radix == 0) stride *= radix;
  if (position > 0) parent = rank_at(position - position / stride % radix * stride);
  span = std::min(stride, p - position);
  for (int below = stride / radix; below >= 1; below /= radix)
    for (int digit = radix - 1; digit >= 1; --digit) {
      const int v = position + digit * below;
      if (v < p) children.push_back({rank_at(v), v, std::min(below, p - v)});
    }
}

namespace {

// The in-order binary tree over labels 1 .. n, where exactly the odd labels are leaves.
struct InOrder {
  int parent = 0;  // 0: the top
  int left = 0, right = 0;

  InOrder(int n, int label) {
    int low = 1;
    int size = n;
    for (;;) {
      const int top = top_of(low, size);
      if (top == label) {
        if (top > low) left = top_of(low, top - low);
        if (top < low + size - 1) right = top_of(top + 1, low + size - 1 - top);
        return;
      }
      parent = top;
      if (label < top) {
        size = top - low;
      } else {
        size = low + size - 1 - top;
        low = top + 1;
      }
    }
  }

  static int top_of(int low, int size) {
    int power = 1;
    while (power * 2 <= size) power *= 2;
    return low + power - 1;
  }
};

}  // namespace

DoubleTree::DoubleTree(const RankTeam& team, int root) {
  const int n = team.size() - 1;  // members beside the root, at positions 1 .. n
  const int position = team.after(team.rank(), -root);
  const auto rank_at = [&](int v) { return team.at(team.after(root, v)); };
  // The second tree is the first one mirrored (n even) or shifted by one (n odd), which turns
  // odd labels into even ones.
  const auto label_of = [&](int half, int v) {
    if (half == 0) return v;
    return n % 2 == 0 ? n + 1 - v : v % n + 1;
  };
  const auto position_of = [&](int half, int label) {
    if (half == 0) return label;
    return n % 2 == 0 ? n + 1 - label : (label + n - 2) % n + 1;
  };
  if (n == 0) return;
  for (int half = 0; half < 2; ++half) {
    Half& mine = halves[half];
    if (position == 0) {
      mine.children.push_back(rank_at(position_of(half, InOrder::top_of(1, n))));
      continue;
    }
    const InOrder tree(n, label_of(half, position));
    mine.parent = tree.parent == 0 ? team.at(root) : rank_at(position_of(half, tree.parent));
    for (const int child : {tree.left, tree.right})
      if (child != 0) mine.children.push_back(rank_at(position_of(half, child)));
  }
}

PowerOfTwoFold::PowerOfTwoFold(const RankTeam& team) : team_(team) {
  while (size_ * 2 <= team.size()) size_ *= 2;
  extra_ = team.size() - size_;
  const int rank = team.rank();
  if (rank >= 2 * extra_) {
    index_ = rank - extra_;
    return;
  }
  aside_ = rank % 2 == 0;
  for_two_ = !aside_;
  mate_ = team.at(aside_ ? rank + 1 : rank - 1);
  index_ = aside_ ? -1 : rank / 2;
}

int PowerOfTwoFold::at(int index) const {
  return team_.at(index < extra_ ? 2 * index + 1 : index + extra_);
}

int PowerOfTwoFold::first_member(int index) const {
  return index < extra_ ? 2 * index : index + extra_;
}

int PowerOfTwoFold::worker_for(int member) const {
  return member < 2 * extra_ ? member / 2 : member - extra_;
}

Halving::Halving(const PowerOfTwoFold& fold, Start start) {
  const int workers = fold.size();
  Range mine{0, workers};
  for (int k = 1; k < workers; k *= 2) {
    const int bit = start == Start::nearest ? k : workers / (2 * k);
    const int middle = (mine.first + mine.last) / 2;
    const Range low{mine.first, middle};
    const Range high{middle, mine.last};
    const bool upper = (fold.index() & bit) != 0;
    const Range keep = upper ? high : low;
    rounds.push_back({bit, fold.at(fold.index() ^ bit), upper, upper ? low : high, keep});
    mine = keep;
  }
}

TeamHosts::TeamHosts(const RankTeam& team, int root) : groups_team_({}, 0), leaders_({}, 0) {
  const auto host_of = team.host_of();
  std::vector<int> seen;  // host index -> group, in order of first member
  for (int i = 0; i < team.size(); ++i) {
    const auto host = static_cast<std::size_t>(host_of[static_cast<std::size_t>(i)]);
    if (seen.size() <= host) seen.resize(host + 1, -1);
    if (seen[host] < 0) {
      seen[host] = static_cast<int>(groups_.size());
      groups_.emplace_back();
    }
    groups_[static_cast<std::size_t>(seen[host])].push_back(i);
    if (i == root) root_host_ = seen[host];
    if (i == team.rank()) my_host_ = seen[host];
  }
  std::vector<int> leaders;
  for (int host = 0; host < count(); ++host)
    leaders.push_back(team.at(host == root_host_ ? root : members(host).front()));
  const std::vector<int>& mine = members(my_host_);
  const auto index_of = [&](int member) {
    return static_cast<int>(std::lower_bound(mine.begin(), mine.end(), member) - mine.begin());
  };
  local_leader_ = my_host_ == root_host_ ? index_of(root) : 0;
  const int local_rank = index_of(team.rank());
  is_leader_ = local_rank == local_leader_;
  std::vector<int> ranks;
  for (const int member : mine) ranks.push_back(team.at(member));
  groups_team_ = RankTeam(std::move(ranks), local_rank);
  leaders_ = RankTeam(std::move(leaders), my_host_);
}

}  // namespace tutti::coll
