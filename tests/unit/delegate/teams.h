// Calls of a team for tests: prepared, and looked at afterwards.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "delegate/delegate.h"

namespace tutti::test {

using coll::Collective;
using delegate::Team;
using delegate::TeamCall;
using types::Buffer;
using types::Count;

inline constexpr Handle kInt = 0x209, kDouble = 0x214, kSum = 0x21;

inline thread_local std::string explained;  // what this member's team said about its failure
inline thread_local delegate::FailureCause cause_said = delegate::FailureCause::mismatch;

inline delegate::Waiting waiting() {
  delegate::Waiting waiting;
  waiting.progress = [](void*) { return 0; };
  waiting.idle = [](void*) { std::this_thread::yield(); };
  waiting.active = [](void*) {};
  waiting.describe = [](std::uint32_t fingerprint) { return std::to_string(fingerprint); };
  waiting.explain = [](void*, std::string why, delegate::FailureCause cause) {
    explained = std::move(why);
    cause_said = cause;
  };
  return waiting;
}

inline std::int32_t value(int rank, Count index) {
  return static_cast<std::int32_t>(rank * 1000 + index % 977);
}

// Sizes of blocks that differ: none, all, about half, anything.
inline Count size_drawn(Count count, int key) {
  const std::uint32_t mixed =
      (static_cast<std::uint32_t>(key) + 77U + static_cast<std::uint32_t>(count)) * 2654435761U;
  switch (mixed >> 30) {
    case 0:
      return 0;
    case 1:
      return count;
    case 2:
      return (count + 1) / 2;
    default:
      return count == 0 ? 0 : static_cast<Count>(mixed >> 8) % count;
  }
}

// One side of a v form in memory: blocks with gaps, in any order, of elements with gaps or without.
struct Layout {
  std::vector<Count> counts, displs;
  std::vector<std::int32_t> ints;
  types::TypeRef strided;
  int stride = 1;

  template <class SizeOf>
  void lay_out(int size, Count count, bool is_backward, const SizeOf& size_of) {
    stride = count % 5 == 1 ? 2 : 1;
    counts.resize(static_cast<std::size_t>(size));
    displs.resize(counts.size());
    Count at = 1;
    for (int i = 0; i < size; ++i) {
      const auto member = static_cast<std::size_t>(is_backward ? size - 1 - i : i);
      counts[member] = size_of(static_cast<int>(member));
      displs[member] = at;
      at += counts[member] + i % 3;
    }
    ints.assign(static_cast<std::size_t>((at + 1) * stride), -1);
    if (stride == 2) strided = *types::make_resized(*types::predefined_type(kInt), 0, 8);
  }
  types::Datatype& type() const {
    return stride == 2 ? *strided.get() : *types::predefined_type(kInt);
  }
  std::int32_t& at(int member, Count i) {
    return ints[static_cast<std::size_t>((displs[static_cast<std::size_t>(member)] + i) * stride)];
  }
  delegate::BlockList blocks(const types::Devices& devices) {
    return {ints.data(), &type(), counts, displs, {}, &devices};
  }
};

// Runs one call of a kind and looks at the result.
class Mixer {
 public:
  Mixer(Team& team, int rank, int size) : team_(team), rank_(rank), size_(size) {}

  bool run(Collective collective, Count count, int root) {
    const TeamCall& call = prepare(collective, count, root);
    return team_.takes(call) && team_.run(call) == Code::ok && is_right();
  }

  // The call, and afterwards whether it has done what it should.
  const TeamCall& prepare(Collective collective, Count count, int root) {
    root_ = root;
    count_ = count;
    call_ = {};
    call_.collective = collective;
    call_.root = root;
    call_.fingerprint = static_cast<std::uint32_t>(collective) * 1000 + 1;
    if (coll::is_v_form(collective)) {
      bind_uneven();
      return call_;
    }
    in_.resize(static_cast<std::size_t>(count * size_));
    for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = value(rank_, static_cast<Count>(i));
    out_.assign(in_.size(), -1);
    if (folds())
      bind_fold(count);
    else if (collective != Collective::barrier)
      bind_move(count);
    return call_;
  }
  // Whether this member's blocks lie apart in memory in the next call.
  std::function<bool()> may_have_gaps = [] { return false; };

  bool is_right() {
    take_gaps_out();
    if (coll::is_v_form(call_.collective)) return moved_uneven();
    return call_.collective == Collective::barrier || (folds() ? folded(count_) : moved(count_));
  }

  // As programs do with what they gave, once the call is back.
  void scribble() {
    std::fill(in_.begin(), in_.end(), -77);
    std::fill(out_.begin(), out_.end(), -77);
    std::fill(spaced_in_.begin(), spaced_in_.end(), -77);
    std::fill(spaced_out_.begin(), spaced_out_.end(), -77);
  }

 private:
  bool is(Collective collective) const { return call_.collective == collective; }
  bool folds() const { return coll::delegated(call_.collective).kind == coll::Delegated::fold; }
  void bind_fold(Count count) {
    // Every other one in place.
    const bool is_in_place =
        (is(Collective::reduce_scatter) || is(Collective::scan) || is(Collective::exscan)) &&
        count % 2 == 1;
    if (is_in_place) out_ = in_;
    call_.send = is_in_place ? out_.data() : in_.data();
    call_.recv = out_.data();
    call_.count = count;
    call_.type = types::predefined_type(kInt);
    call_.op = types::predefined_op(kSum);
    start_ = is(Collective::reduce_scatter) ? rank_ * count : 0;
    if (!is(Collective::reduce_scatter) || count % 4 < 2) return;
    uneven_.emplace();
    into_.counts.clear();
    for (int member = 0; member < size_; ++member) {
      if (member == rank_)
        start_ = std::accumulate(into_.counts.begin(), into_.counts.end(), Count{0});
      into_.counts.push_back(size_drawn(count, member));
    }
    uneven_->into.counts = into_.counts;
    call_.uneven = &*uneven_;
    call_.count = into_.counts[static_cast<std::size_t>(rank_)];
  }
  void bind_move(Count count) {
    const Count block = count * 4;
    call_.block = block;
    const bool to_each = is(Collective::scatter) || is(Collective::alltoall);
    call_.from = Buffer::plain(in_.data(), to_each ? block * size_ : block);
    call_.into = Buffer::plain(out_.data(), block * size_);
    if (is(Collective::scatter)) call_.into.bytes = block;
    if (is(Collective::bcast)) {
      call_.into = Buffer::plain(out_.data(), block);
      if (rank_ == root_) std::copy_n(in_.begin(), count, out_.begin());
    }
    call_.in_place = is(Collective::alltoall) && count % 2 == 1;
    if (call_.in_place) out_ = in_;
    if (may_have_gaps()) put_gaps_in();
  }
  // Every int with one more beside it that is nobody's.
  void put_gaps_in() {
    const auto spread = [this](std::vector<std::int32_t>& ints, std::vector<std::int32_t>& spaced,
                               Buffer& buffer) {
      spaced.assign(2 * ints.size() + 1, -9);
      for (std::size_t i = 0; i < ints.size(); ++i) spaced[2 * i] = ints[i];
      buffer = Buffer::whole(spaced.data(), buffer.bytes / 4, *strided_);
    };
    strided_ = *types::make_resized(*types::predefined_type(kInt), 0, 8);
    if (!is(Collective::bcast)) spread(in_, spaced_in_, call_.from);
    spread(out_, spaced_out_, call_.into);
    has_gaps_ = true;
  }
  void take_gaps_out() {
    if (!std::exchange(has_gaps_, false)) return;
    for (std::size_t i = 0; i < out_.size(); ++i) out_[i] = spaced_out_[2 * i];
  }
  // In place each block goes back where one as long came from.
  Count between(int giver, int taker) const {
    if (is(Collective::scatterv)) return size_drawn(count_, taker);
    if (!is(Collective::alltoallv)) return size_drawn(count_, giver);
    if (call_.in_place)
      return size_drawn(count_, std::min(giver, taker) * 37 + std::max(giver, taker));
    return size_drawn(count_, giver * 37 + taker);
  }
  std::int32_t sent(int giver, int taker, Count i) const {
    return value(giver,
                 i + (is(Collective::scatterv) || is(Collective::alltoallv) ? taker * 7 : 0));
  }
  void bind_uneven() {
    const bool to_each = is(Collective::scatterv) || is(Collective::alltoallv);
    const bool is_rooted = is(Collective::gatherv) || is(Collective::scatterv);
    call_.in_place = count_ % 3 == 0 && (!is_rooted || rank_ == root_);
    from_.lay_out(size_, count_, false, [&](int member) {
      return to_each ? between(rank_, member) : member == rank_ ? between(rank_, 0) : 0;
    });
    into_.lay_out(size_, count_, true, [&](int member) {
      return is(Collective::scatterv) && member != rank_ ? 0 : between(member, rank_);
    });
    if (is(Collective::scatterv)) into_.counts[static_cast<std::size_t>(rank_)] = between(0, rank_);
    Layout& given = call_.in_place && !is(Collective::scatterv) ? into_ : from_;
    for (int member = 0; member < size_; ++member) {
      if (!to_each && member != rank_) continue;
      for (Count i = 0; i < between(rank_, member); ++i)
        given.at(member, i) = sent(rank_, member, i);
    }
    uneven_.emplace(delegate::Uneven{from_.blocks(devices_), into_.blocks(devices_)});
    call_.uneven = &*uneven_;
    if (!to_each && !call_.in_place) call_.from = uneven_->from.of(rank_);
    if (is(Collective::scatterv) && !call_.in_place) call_.into = uneven_->into.of(rank_);
  }
  bool moved_uneven() {
    if (is(Collective::gatherv) && rank_ != root_) return true;
    if (is(Collective::scatterv) && call_.in_place) return true;
    std::size_t written = 0;
    for (int giver = 0; giver < size_; ++giver) {
      if (is(Collective::scatterv) && giver != root_) continue;
      const int place = is(Collective::scatterv) ? rank_ : giver;
      for (Count i = 0; i < between(giver, rank_); ++i, ++written)
        if (into_.at(place, i) != sent(giver, rank_, i)) return false;
    }
    // And nothing else.
    return into_.ints.size() - written ==
           static_cast<std::size_t>(std::count(into_.ints.begin(), into_.ints.end(), -1));
  }
  bool folded(Count count) const {
    if (is(Collective::reduce) && rank_ != root_) return true;
    if (is(Collective::exscan) && rank_ == 0) return true;
    const int givers = is(Collective::scan) ? rank_ + 1 : is(Collective::exscan) ? rank_ : size_;
    const Count mine = is(Collective::reduce_scatter) ? call_.count : count;
    for (Count i = 0; i < mine; ++i) {
      std::int32_t sum = 0;
      for (int r = 0; r < givers; ++r) sum += value(r, start_ + i);
      if (out_[static_cast<std::size_t>(i)] != sum) return false;
    }
    return true;
  }
  bool moved(Count count) const {
    if (is(Collective::gather) && rank_ != root_) return true;
    const bool one = is(Collective::bcast) || is(Collective::scatter);
    const bool to_each = is(Collective::scatter) || is(Collective::alltoall);
    for (int r = 0; r < (one ? 1 : size_); ++r)
      for (Count i = 0; i < count; ++i) {
        const std::int32_t wanted = value(one ? root_ : r, i + (to_each ? rank_ * count : 0));
        if (out_[static_cast<std::size_t>(r * count + i)] != wanted) return false;
      }
    return true;
  }

  Team& team_;
  int rank_, size_, root_ = 0;
  Count count_ = 0, start_ = 0;
  TeamCall call_;
  std::vector<std::int32_t> in_, out_, spaced_in_, spaced_out_;
  types::TypeRef strided_;
  bool has_gaps_ = false;
  Layout from_, into_;
  const types::Devices devices_{};
  std::optional<delegate::Uneven> uneven_;
};

inline constexpr Collective kServed[] = {
    Collective::barrier,   Collective::bcast,      Collective::reduce,
    Collective::allreduce, Collective::gather,     Collective::scatter,
    Collective::allgather, Collective::alltoall,   Collective::reduce_scatter,
    Collective::scan,      Collective::exscan,     Collective::gatherv,
    Collective::scatterv,  Collective::allgatherv, Collective::alltoallv};

}  // namespace tutti::test
