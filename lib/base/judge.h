// judge: which of two ways of doing the same thing is faster here, found out while doing it.
//
// The rule: whoever does it asks each time which way to go (`next`), and tells afterwards what it
// took for so many bytes (`took`), unless something else came between. A way is worth the middle
// one of its last five figures. At first memory is new: the first turns are of way 0 and count for
// nothing. Then both ways have turns alternately, three each. After that the way that is kept is
// given up only when the other's worth is 15 % less; and the other is tried once in 64 turns, more
// rarely the slower it is (64 times the square of the ratio), but once in 1024. One judge serves
// one size, by powers of two (`size_class`), of one pair or team.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tutti {

// Sizes that are told apart: from `least` on, each twice the one before; the last one is open.
inline constexpr std::size_t size_class(std::size_t bytes, std::size_t least, std::size_t classes) {
  return std::min<std::size_t>(
      static_cast<std::size_t>(std::bit_width(std::max(bytes / least, std::size_t{1}))) - 1,
      classes - 1);
}
// What so many bytes took, as ns for 32 KiB.
inline std::uint32_t pace_of(std::int64_t ns, std::size_t bytes) {
  const double scaled = static_cast<double>(ns) * (32 << 10) / static_cast<double>(bytes);
  return static_cast<std::uint32_t>(std::clamp(scaled, 1.0, 2e9));
}

class Judge {
 public:
  static constexpr std::uint32_t kNew = 4, kFew = 3, kTryAgainAfter = 64, kTryAgainAtMost = 1024;
  static constexpr double kWorthwhile = 0.85;

  // The way that is kept, 0 or 1: for what nobody will tell the figure of.
  unsigned kept() const { return kept_; }
  // The way of the next turn.
  unsigned next() {
    if (turns_ < kNew + 2 * kFew) [[unlikely]] {
      const std::uint32_t turn = turns_++;
      return turn < kNew ? 0 : turn % 2;
    }
    if (until_trial_ > 0) [[likely]] {
      --until_trial_;
      return kept_;
    }
    until_trial_ = interval();
    return 1 - kept_;
  }
  // What a turn that went this way took, less is better: pace_of(), never 0.
  void took(unsigned way, std::uint32_t figure) {
    if (turns_ <= kNew) return;
    ways_[way].add(figure);
    const unsigned other = 1 - kept_;
    if (is_known() && ways_[other].middle() < kWorthwhile * ways_[kept_].middle()) kept_ = other;
  }
  // The middle figure of a way; 0: none.
  double worth(unsigned way) const { return ways_[way].middle(); }

 private:
  class Figures {
   public:
    void add(std::uint32_t figure) {
      last_[at_] = figure;
      at_ = at_ + 1 == last_.size() ? 0 : at_ + 1;
      known_ = std::min(known_ + 1, last_.size());
    }
    bool are_few() const { return known_ < kFew; }
    double middle() const {
      if (known_ == 0) return 0;
      auto sorted = last_;
      std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(known_));
      return sorted[known_ / 2];
    }

   private:
    std::array<std::uint32_t, 5> last_{};
    std::size_t at_ = 0, known_ = 0;
  };
  bool is_known() const { return !ways_[0].are_few() && !ways_[1].are_few(); }
  std::uint32_t interval() const {
    if (!is_known()) return kTryAgainAfter - 1;
    const double slower = ways_[1 - kept_].middle() / ways_[kept_].middle();
    const double turns = kTryAgainAfter * slower * slower;
    return static_cast<std::uint32_t>(std::clamp<double>(turns, kTryAgainAfter, kTryAgainAtMost)) -
           1;
  }

  std::array<Figures, 2> ways_;
  std::uint32_t turns_ = 0;        // of the first ones
  std::uint32_t until_trial_ = 0;  // turns before the other way is tried
  unsigned kept_ = 0;
};

}  // namespace tutti
