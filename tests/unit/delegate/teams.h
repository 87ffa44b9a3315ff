// Calls of a team for tests: prepared, and looked at afterwards.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>
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

inline delegate::Waiting waiting() {
  delegate::Waiting waiting;
  waiting.progress = [](void*) { return 0; };
  waiting.idle = [](void*) { std::this_thread::yield(); };
  waiting.active = [](void*) {};
  waiting.describe = [](std::uint32_t fingerprint) { return std::to_string(fingerprint); };
  waiting.explain = [](void*, std::string why) { explained = std::move(why); };
  return waiting;
}

inline std::int32_t value(int rank, Count index) {
  return static_cast<std::int32_t>(rank * 1000 + index % 977);
}

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
    in_.resize(static_cast<std::size_t>(count * size_));
    for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = value(rank_, static_cast<Count>(i));
    out_.assign(in_.size(), -1);
    if (folds())
      bind_fold(count);
    else if (collective != Collective::barrier)
      bind_move(count);
    return call_;
  }
  bool is_right() const {
    return call_.collective == Collective::barrier || (folds() ? folded(count_) : moved(count_));
  }

 private:
  bool folds() const {
    return call_.collective == Collective::allreduce || call_.collective == Collective::reduce ||
           call_.collective == Collective::reduce_scatter;
  }
  void bind_fold(Count count) {
    // Every other one in place.
    const bool is_in_place = call_.collective == Collective::reduce_scatter && count % 2 == 1;
    if (is_in_place) out_ = in_;
    call_.send = is_in_place ? out_.data() : in_.data();
    call_.recv = out_.data();
    call_.count = count;
    call_.type = types::predefined_type(kInt);
    call_.op = types::predefined_op(kSum);
  }
  void bind_move(Count count) {
    const Count block = count * 4;
    call_.block = block;
    const bool to_each =
        call_.collective == Collective::scatter || call_.collective == Collective::alltoall;
    call_.from = Buffer::plain(in_.data(), to_each ? block * size_ : block);
    call_.into = Buffer::plain(out_.data(), block * size_);
    if (call_.collective == Collective::scatter) call_.into.bytes = block;
    if (call_.collective == Collective::bcast) {
      call_.into = Buffer::plain(out_.data(), block);
      if (rank_ == root_) std::copy_n(in_.begin(), count, out_.begin());
    }
  }
  bool folded(Count count) const {
    if (call_.collective == Collective::reduce && rank_ != root_) return true;
    for (Count i = 0; i < count; ++i) {
      std::int32_t sum = 0;
      const Count at = call_.collective == Collective::reduce_scatter ? rank_ * count + i : i;
      for (int r = 0; r < size_; ++r) sum += value(r, at);
      if (out_[static_cast<std::size_t>(i)] != sum) return false;
    }
    return true;
  }
  bool moved(Count count) const {
    if (call_.collective == Collective::gather && rank_ != root_) return true;
    const bool one =
        call_.collective == Collective::bcast || call_.collective == Collective::scatter;
    const bool to_each =
        call_.collective == Collective::scatter || call_.collective == Collective::alltoall;
    for (int r = 0; r < (one ? 1 : size_); ++r)
      for (Count i = 0; i < count; ++i) {
        const std::int32_t wanted = value(one ? root_ : r, i + (to_each ? rank_ * count : 0));
        if (out_[static_cast<std::size_t>(r * count + i)] != wanted) return false;
      }
    return true;
  }

  Team& team_;
  int rank_, size_, root_ = 0;
  Count count_ = 0;
  TeamCall call_;
  std::vector<std::int32_t> in_, out_;
};

inline constexpr Collective kServed[] = {
    Collective::barrier,   Collective::bcast,    Collective::reduce,
    Collective::allreduce, Collective::gather,   Collective::scatter,
    Collective::allgather, Collective::alltoall, Collective::reduce_scatter};

}  // namespace tutti::test
