// The reference: what each collective must leave in `recv`.
#include "reference.h"

#include <algorithm>

namespace tutti::reference {
namespace {

constexpr std::int32_t kUntouched = -77;
constexpr std::int64_t kPrime = 10007;

std::int32_t value(int rank, Count index) {
  return static_cast<std::int32_t>((rank + 1) * 1009 + index * 7) % 9973;
}

// What `from` sends to `to` at `index`.
std::int32_t value(int from, int to, Count index) {
  return value(from * 31 + to, index);
}

void compose(void*, const void* a, void* b, Count count, Handle) {
  const auto* first = static_cast<const std::int32_t*>(a);
  auto* second = static_cast<std::int32_t*>(b);
  for (Count i = 0; i < count; ++i, first += 2, second += 2) {
    // (x -> a0 x + a1) then (x -> b0 x + b1)
    const std::int64_t scale = std::int64_t{second[0]} * first[0] % kPrime;
    const std::int64_t shift = (std::int64_t{second[0]} * first[1] + second[1]) % kPrime;
    second[0] = static_cast<std::int32_t>(scale);
    second[1] = static_cast<std::int32_t>(shift);
  }
}

std::vector<Count> sums_before(const std::vector<Count>& counts, Count gap) {
  std::vector<Count> displs;
  Count at = 0;
  for (const Count count : counts) {
    displs.push_back(at);
    at += count + gap;
  }
  return displs;
}

bool is_uneven(Collective c) {
  return c == Collective::gatherv || c == Collective::scatterv || c == Collective::allgatherv ||
         c == Collective::alltoallv;
}

bool reduces(Collective c) {
  return c == Collective::reduce || c == Collective::allreduce || c == Collective::reduce_scatter ||
         c == Collective::scan || c == Collective::exscan;
}

}  // namespace

Ref<types::Op> compose_op() {
  return types::Op::user(nullptr, &compose, false);
}

types::TypeRef pair_type() {
  auto type = types::make_contiguous(2, *types::predefined_type(kInt));
  (*type)->commit();
  return *type;
}

Trial::Trial(const Communicator& comm, const Plan& plan)
    : plan_(plan), rank_(comm.rank()), size_(comm.size()) {
  call_.collective = plan.collective;
  call_.root = plan.root;
  call_.in_place = plan.in_place;
  if (plan.collective == Collective::barrier) return;
  call_.send_type = call_.recv_type = types::predefined_type(kInt);
  if (reduces(plan.collective))
    make_reduction();
  else if (is_uneven(plan.collective))
    make_uneven();
  else
    make_movement();
  before_ = recv_;
  call_.send = plan_.in_place && plan.collective != Collective::scatter &&
                       plan.collective != Collective::scatterv
                   ? nullptr
                   : send_.data();
  call_.recv = recv_.data();
}

Trial::Ints Trial::input(int rank) const {
  const Count count = plan_.collective == Collective::reduce_scatter
                          ? plan_.count * size_ + size_ / 2
                          : plan_.count;
  Ints ints;
  for (Count i = 0; i < count * width(); ++i) ints.push_back(value(rank, i));
  return ints;
}

void Trial::make_reduction() {
  const bool is_root = rank_ == plan_.root;
  send_ = input(rank_);
  recv_.assign(send_.size(), kUntouched);
  call_.op = plan_.op != nullptr ? plan_.op : types::predefined_op(kSum);
  if (width() == 2) {
    pair_ = pair_type();
    call_.recv_type = pair_.get();
  }
  call_.recv_count = plan_.count;
  if (plan_.collective == Collective::reduce_scatter) {
    // Blocks of count, the last ones one longer.
    for (int r = 0; r < size_; ++r)
      recv_counts_.push_back(plan_.count + (r >= size_ - size_ / 2 ? 1 : 0));
    call_.recv_counts = recv_counts_;
  }
  if (plan_.collective == Collective::reduce) call_.in_place = plan_.in_place && is_root;
  plan_.in_place = call_.in_place;
  if (call_.in_place) recv_ = send_;
}

void Trial::make_movement() {
  const Count count = plan_.count;
  const bool is_root = rank_ == plan_.root;
  const bool rooted =
      plan_.collective == Collective::gather || plan_.collective == Collective::scatter;
  if (rooted) call_.in_place = plan_.in_place = plan_.in_place && is_root;
  call_.send_count = call_.recv_count = count;
  const bool to_each =
      plan_.collective == Collective::scatter || plan_.collective == Collective::alltoall;
  const int given = to_each ? size_ : 1;
  for (int to = 0; to < given; ++to)
    for (Count i = 0; i < count; ++i)
      send_.push_back(to_each ? value(rank_, to, i) : value(rank_, i));
  const bool one = plan_.collective == Collective::bcast || plan_.collective == Collective::scatter;
  recv_.assign(static_cast<std::size_t>(count * (one ? 1 : size_)), kUntouched);
  if (plan_.collective == Collective::bcast && is_root) recv_ = send_;
  if (!plan_.in_place) return;
  if (plan_.collective == Collective::alltoall)
    recv_ = send_;
  else if (plan_.collective != Collective::scatter)
    std::copy(send_.begin(), send_.end(), recv_.begin() + rank_ * count);
}

void Trial::make_uneven() {
  const bool is_root = rank_ == plan_.root;
  const bool all = plan_.collective == Collective::alltoallv;
  if (plan_.collective == Collective::gatherv || plan_.collective == Collective::scatterv)
    call_.in_place = plan_.in_place = plan_.in_place && is_root;
  if (all && plan_.in_place) call_.in_place = plan_.in_place = false;  // tried elsewhere
  const auto fill = [&](std::vector<Count>& counts, std::vector<Count>& displs, Ints& ints,
                        auto count_of) {
    for (int r = 0; r < size_; ++r) counts.push_back(count_of(r));
    displs = sums_before(counts, 1);
    ints.assign(static_cast<std::size_t>(displs.back() + counts.back() + 1), kUntouched);
  };
  const auto own = [&](int r) { return block(r); };
  if (all || (plan_.collective == Collective::scatterv && is_root)) {
    fill(send_counts_, send_displs_, send_, [&](int r) { return all ? sent(rank_, r) : block(r); });
    for (int r = 0; r < size_; ++r)
      for (Count i = 0; i < send_counts_[static_cast<std::size_t>(r)]; ++i)
        send_[static_cast<std::size_t>(send_displs_[static_cast<std::size_t>(r)] + i)] =
            value(rank_, r, i);
  } else if (plan_.collective != Collective::scatterv) {
    for (Count i = 0; i < block(rank_); ++i) send_.push_back(value(rank_, i));
  }
  call_.send_count = call_.recv_count = block(rank_);
  if (plan_.collective == Collective::scatterv) {
    recv_.assign(static_cast<std::size_t>(block(rank_)), kUntouched);
  } else if (all) {
    fill(recv_counts_, recv_displs_, recv_, [&](int r) { return sent(r, rank_); });
  } else if (is_root || plan_.collective == Collective::allgatherv) {
    fill(recv_counts_, recv_displs_, recv_, own);
    if (plan_.in_place)
      std::copy(send_.begin(), send_.end(),
                recv_.begin() + recv_displs_[static_cast<std::size_t>(rank_)]);
  }
  call_.send_counts = send_counts_;
  call_.send_displs = send_displs_;
  call_.recv_counts = recv_counts_;
  call_.recv_displs = recv_displs_;
}

Trial::Ints Trial::fold(int first, int last) const {
  Ints result = input(first);
  for (int r = first + 1; r < last; ++r) {
    Ints next = input(r);
    if (width() == 2)
      compose(nullptr, result.data(), next.data(), static_cast<Count>(next.size() / 2), 0);
    else
      for (std::size_t i = 0; i < next.size(); ++i)
        next[i] = call_.op == types::predefined_op(kMax) ? std::max(result[i], next[i])
                                                         : result[i] + next[i];
    result = next;
  }
  return result;
}

Trial::Ints Trial::expected_reduction() const {
  Ints result = before_;
  switch (plan_.collective) {
    case Collective::reduce:
      return rank_ == plan_.root ? fold(0, size_) : before_;
    case Collective::scan:
      return fold(0, rank_ + 1);
    case Collective::exscan:
      return rank_ == 0 ? before_ : fold(0, rank_);
    case Collective::reduce_scatter: {
      const Ints all = fold(0, size_);
      Count at = 0;
      for (int r = 0; r < rank_; ++r) at += recv_counts_[static_cast<std::size_t>(r)];
      const Count mine = recv_counts_[static_cast<std::size_t>(rank_)] * width();
      std::copy_n(all.begin() + at * width(), mine, result.begin());
      return result;
    }
    default:
      return fold(0, size_);
  }
}

Trial::Ints Trial::expected_movement() const {
  const Count count = plan_.count;
  if (plan_.collective == Collective::gather && rank_ != plan_.root) return before_;
  if (plan_.collective == Collective::scatter && plan_.in_place) return before_;
  Ints result;
  if (plan_.collective == Collective::bcast || plan_.collective == Collective::scatter) {
    for (Count i = 0; i < count; ++i)
      result.push_back(plan_.collective == Collective::bcast ? value(plan_.root, i)
                                                             : value(plan_.root, rank_, i));
    return result;
  }
  for (int r = 0; r < size_; ++r)
    for (Count i = 0; i < count; ++i)
      result.push_back(plan_.collective == Collective::alltoall ? value(r, rank_, i) : value(r, i));
  return result;
}

Trial::Ints Trial::expected_uneven() const {
  Ints result = before_;
  if (plan_.collective == Collective::scatterv) {
    for (Count i = 0; i < block(rank_) && !plan_.in_place; ++i)
      result[static_cast<std::size_t>(i)] = value(plan_.root, rank_, i);
    return result;
  }
  for (std::size_t r = 0; r < recv_counts_.size(); ++r)
    for (Count i = 0; i < recv_counts_[r]; ++i) {
      const int from = static_cast<int>(r);
      result[static_cast<std::size_t>(recv_displs_[r] + i)] =
          plan_.collective == Collective::alltoallv ? value(from, rank_, i) : value(from, i);
    }
  return result;
}

Trial::Ints Trial::expected() const {
  if (plan_.collective == Collective::barrier) return {};
  if (reduces(plan_.collective)) return expected_reduction();
  return is_uneven(plan_.collective) ? expected_uneven() : expected_movement();
}

bool Trial::check() const {
  return recv_ == expected();
}

std::string Trial::what() const {
  std::string text(coll::name_of(plan_.collective));
  text += " of " + std::to_string(plan_.count) + " on " + std::to_string(size_) + " ranks, root " +
          std::to_string(plan_.root);
  if (plan_.in_place) text += ", in place";
  if (width() == 2) text += ", user operation";
  return text;
}

std::vector<Plan> plans(int size, Count count) {
  std::vector<Plan> all;
  for (int c = 0; c < coll::kCollectives; ++c) {
    const auto collective = static_cast<Collective>(c);
    const bool rooted = collective == Collective::bcast || collective == Collective::reduce ||
                        collective == Collective::gather || collective == Collective::scatter ||
                        collective == Collective::gatherv || collective == Collective::scatterv;
    for (const bool in_place : {false, true}) {
      if (in_place && (collective == Collective::barrier || collective == Collective::bcast))
        continue;
      all.push_back({collective, count, 0, in_place, nullptr});
      if (rooted && size > 1) all.push_back({collective, count, size - 1, in_place, nullptr});
    }
  }
  return all;
}

}  // namespace tutti::reference
