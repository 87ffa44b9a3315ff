// pace: how bytes are best copied into memory that another core reads, found out while copying.
//
// Ordinary stores leave the data in the writer's cache, from where the reader pulls it line by
// line; streaming stores pass the caches by. Which is faster depends on where the two cores lie and
// on what their caches hold: measured on one machine, 2.3 against 21 GB/s between distant cores,
// 8.7 against 18 between near ones, 45 against 20 between the halves of one core.
//
// The rule: for each size (by powers of two) payloads are written in stretches of one kind. At the
// end of a stretch, when the lane holds nothing older, both ends time their copies, nothing else.
// What the slower end takes is the stretch's figure, and a judge (base/judge.h) says of which kind
// the next stretch is.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/judge.h"

namespace tutti {

enum class Stores : std::uint8_t { ordinary, streaming };
inline constexpr std::size_t kStoreKinds = 2;
inline constexpr std::uint32_t kUntimed = kStoreKinds;  // what a reader is told that times nothing

// Copies with such stores, to anywhere.
void copy_by(Stores kind, std::byte* to, const std::byte* from, std::size_t bytes);

// Sizes that are told apart: from 512 B on, each twice the one before; the last one is open.
inline constexpr std::size_t kLeastPaced = 512;
inline constexpr std::size_t kPaceSizes = 7;
inline std::size_t pace_size(std::size_t bytes) {
  return size_class(bytes, kLeastPaced, kPaceSizes);
}

// Follows the middle of such figures, 0 at first. Each moves it by an eighth at most: one that is
// slow for a reason of its own (an interrupt) or quick by chance counts for no more than another.
inline std::uint32_t follow(std::uint32_t known, std::uint32_t now) {
  return known == 0 ? now : std::clamp(now, known - known / 8, known + known / 8 + 1);
}

// What the reader measured, for the writer: pace_of, 0: nothing yet. relaxed: figures.
struct ReadPaces {
  std::atomic<std::uint32_t> of[kPaceSizes][kStoreKinds];

  // `bytes`: of the payload, `copied`: of the part that took so long.
  void took(std::size_t bytes, std::size_t copied, std::uint32_t kind, std::int64_t ns) {
    std::atomic<std::uint32_t>& told = of[pace_size(bytes)][kind];
    told.store(follow(told.load(std::memory_order_relaxed), pace_of(ns, copied)),
               std::memory_order_relaxed);
  }
};

// The writer's end: decides.
class Pace {
 public:
  // A stretch is an eighth of the longest ring; the last 16 payloads of it are timed, fewer
  // of long ones.
  static constexpr std::size_t kStretch = 512 << 10;
  // After so many bytes both kinds have had their first trials.
  static constexpr std::size_t kSettled =
      kStretch * (Judge::kNew + Judge::kFew + Judge::kAgree * Judge::kTrial + Judge::kBetween);
  // For another judge, which weighs copies by this one's stores against another way: so many turns
  // of so many bytes count only then; twice as many, as the trials may begin late.
  static constexpr std::uint32_t turns_unsettled(std::size_t bytes) {
    return std::max(static_cast<std::uint32_t>(2 * kSettled / bytes), Judge::kNew);
  }
  static constexpr std::size_t kTimed = kStretch / 4;
  static constexpr std::size_t kTimedPayloads = 16;

  struct Way {
    Stores stores = Stores::ordinary;
    bool is_timed = false;  // by both ends
    std::uint32_t told() const { return is_timed ? static_cast<std::uint32_t>(stores) : kUntimed; }
  };

  // For the next payload, of at least kLeastPaced bytes.
  Way way_for(std::size_t bytes, const ReadPaces& read) {
    Size& size = sizes_[pace_size(bytes)];
    if (size.left < bytes) [[unlikely]]
      end_stretch(size, read.of[pace_size(bytes)]);
    size.left -= std::min(size.left, bytes);
    return {size.stores, size.is_asked && size.left < std::min(kTimed, kTimedPayloads * bytes)};
  }
  // Copies a payload of `whole` bytes, or a part of it, that way.
  void copy(Way way, std::byte* to, const std::byte* from, std::size_t bytes, std::size_t whole) {
    if (way.stores == Stores::ordinary && !way.is_timed) [[likely]]
      std::memcpy(to, from, bytes);
    else
      copy_judged(way, to, from, bytes, whole);
  }
  // A timed payload, or a part of it, was copied.
  void took(std::size_t bytes, std::size_t copied, std::int64_t ns) {
    Size& size = sizes_[pace_size(bytes)];
    std::uint32_t& known = size.written[static_cast<std::size_t>(size.stores)];
    known = follow(known, pace_of(ns, copied));
  }

 private:
  void copy_judged(Way way, std::byte* to, const std::byte* from, std::size_t bytes,
                   std::size_t whole);
  struct Size {
    Stores stores = Stores::ordinary;
    std::size_t left = kStretch;                       // bytes until the stretch ends
    bool is_asked = true;                              // whether its figure can count
    std::array<std::uint32_t, kStoreKinds> written{};  // what the writer's copies take
    Judge judge;                                       // of the kinds, a stretch a turn
  };
  static void end_stretch(Size& size, const std::atomic<std::uint32_t>* read);

  std::array<Size, kPaceSizes> sizes_;
};

}  // namespace tutti
