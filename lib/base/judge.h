// judge: which of two ways of doing the same thing is faster here, found out while doing it.
//
// Whoever does it asks each time which way to go (`next`), and tells afterwards, in this order,
// what it took for so many bytes (`took`), unless something else came between. One judge serves one
// size, by powers of two (`size_class`), of one pair or team.
//
// One way is kept, at first the one that was expected to be faster. The other is tried now and
// then, so:
//
//   kNew, kFew       The first four turns of all count for nothing, because memory is new (more,
//                    where whoever makes the judge says so: the last five figures count); the
//                    first trial follows when three more were told of, so none where nobody tells.
//   kTrial           A trial goes on until ten figures of it are told: ten turns in a row, or
//                    more where figures come some turns late or are lost.
//   kTrialAtMost     After twenty turns it is over all the same, and then it decides nothing.
//   kSettling        Its first seven figures do not count: so long it takes until caches hold no
//                    more what the kept way left there (of blocks of 16 MiB; record 0076).
//   kWorthwhile      The middle figure of its last three is held against the middle one of the
//                    kept way's last five, and it has won if it is 15 % less.
//   kBetween         Five turns of the kept way later (and as many more as its figures came late)
//                    it is tried again,
//   kAgree           until two trials say the same: if they were won, the other way is kept from
//                    there on. One trial alone is too often wrong, as others use the machine for
//                    as long as a trial takes.
//   kTryAgainAfter   All this comes once in 1280 turns (so one turn in 64 is a trial's), more
//                    rarely the slower the other was: 1280 times the square of the ratio,
//   kTryAgainAtMost  but once in 20480.
//   kAsked           Where telling has a price, it is needed only while it is asked for (`asks`):
//                    in trials and before them. The turns until then may be passed over (`skip`).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tutti {

// Sizes that are told apart: from `least` on, each twice the one before; the last one is open.
inline constexpr std::size_t size_class(std::size_t bytes, std::size_t least, std::size_t classes) {
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes / least | 1)) - 1,
                               classes - 1);
}
// What so many bytes took, as ns for so many.
inline constexpr std::size_t kPaceBytes = std::size_t{32} << 10;
inline std::uint32_t pace_of(std::int64_t ns, std::size_t bytes) {
  const double scaled = static_cast<double>(ns) * kPaceBytes / static_cast<double>(bytes);
  return static_cast<std::uint32_t>(std::clamp(scaled, 1.0, 2e9));
}

class Judge {
 public:
  static constexpr std::uint32_t kNew = 4, kFew = 3;          // turns: uncounted, counted
  static constexpr std::uint32_t kTrial = 10, kSettling = 7;  // figures of a trial, the uncounted
  static constexpr std::uint32_t kTrialAtMost = 2 * kTrial;   // its turns
  static constexpr std::uint32_t kAgree = 2, kBetween = 5;    // trials, turns from one to the next
  static constexpr std::uint32_t kTryAgainAfter = 64 * kAgree * kTrial;
  static constexpr std::uint32_t kTryAgainAtMost = 16 * kTryAgainAfter;
  // Turns of the kept way before a trial that are asked about: what it is held against, twice, as
  // figures may be lost.
  static constexpr std::uint32_t kAsked = 10;
  static constexpr double kWorthwhile = 0.85;

  explicit Judge(unsigned expected = 0, std::uint32_t uncounted = kNew)
      : until_trial_(std::max(uncounted, kNew) + kFew), kept_(expected) {}

  // The way that is kept, 0 or 1: for what nobody will tell the figure of.
  unsigned kept() const { return kept_; }
  // The way of the next turn.
  unsigned next() {
    if (until_trial_ > 0) [[likely]] {
      --until_trial_;
      return kept_;
    }
    if (trial_ == 0) {
      if (figures_[kept_].are_few()) return kept_;
      figures_[1 - kept_].clear();
    }
    if (++trial_ == kTrialAtMost) {
      end_trial();
      until_trial_ = kTryAgainAfter - kTrialAtMost;
    }
    return 1 - kept_;
  }
  // Passes over the turns of the kept way that nobody needs to be told of; how many they are.
  std::uint32_t skip() {
    if (trial_ > 0 || until_trial_ <= kAsked) return 0;
    const std::uint32_t skipped = until_trial_ - kAsked;
    until_trial_ = kAsked;
    return skipped;
  }
  // Whether the figure of the turn that was asked for last can count.
  bool asks() const { return trial_ > 0 || until_trial_ < kAsked; }
  // What a turn took that was asked for, less is better: pace_of(), never 0.
  void took(unsigned way, std::uint32_t figure) {
    if (way == kept_) {
      if (new_ > 0)
        --new_;
      else
        figures_[way].add(figure);
      return;
    }
    if (trial_ == 0) return;  // of a trial that is over
    if (++told_ > kSettling) figures_[way].add(figure);
    if (told_ < kTrial) return;
    const std::uint32_t owed = trial_ - kTrial;  // figures of it that may come yet
    end_trial();
    decide();
    until_trial_ += owed;
  }
  // The middle figure of a way; 0: none.
  double worth(unsigned way) const { return figures_[way].middle(); }

 private:
  class Figures {
   public:
    void clear() { at_ = known_ = 0; }
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

  void end_trial() { trial_ = told_ = 0; }

  void decide() {
    const unsigned other = 1 - kept_;
    if (figures_[0].are_few() || figures_[1].are_few()) return;
    const double ratio = figures_[other].middle() / figures_[kept_].middle();
    const bool has_won = ratio < kWorthwhile;
    if (++trials_[has_won ? 1 : 0] < kAgree) {
      until_trial_ = kBetween;
      return;
    }
    trials_ = {};
    if (has_won) kept_ = other;
    const double turns = kTryAgainAfter * std::max(1.0, ratio * ratio);
    until_trial_ = static_cast<std::uint32_t>(std::min<double>(turns, kTryAgainAtMost)) -
                   kAgree * kTrial - kBetween;
  }

  std::array<Figures, 2> figures_;
  std::uint32_t new_ = kNew;               // figures that count for nothing
  std::uint32_t until_trial_;              // turns of the kept way
  std::uint32_t trial_ = 0;                // turns of the trial that is under way, so far
  std::uint32_t told_ = 0;                 // figures of it
  std::array<std::uint32_t, 2> trials_{};  // lost and won, since a way was settled on
  unsigned kept_;
};

}  // namespace tutti
