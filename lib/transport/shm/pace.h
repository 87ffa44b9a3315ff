// pace: how long payloads are best copied into a lane, found out while copying.
//
// Ordinary stores leave the data in the writer's cache, from where the reader pulls it line by
// line; streaming stores pass the caches by. Which is faster depends on where the two cores lie:
// measured on one machine, 2.3 against 21 GB/s between distant cores, 8.7 against 18 between
// near ones, 45 against 20 between the halves of one core. So each link times stretches of its
// longest frames both ways, takes the better, and now and then tries the other again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace tutti::transport::shm {

class Pace {
 public:
  explicit Pace(std::size_t longest_frame) : longest_(longest_frame) {}

  // Whether a payload of that size is to be written with streaming stores.
  bool streams(std::size_t bytes) const {
    return bytes == longest_ ? streams_longest_ : bytes >= streams_from_;
  }
  // To be told of every frame of the longest size that was written.
  void count_longest() {
    if (frames_++ == 0) return begin_stretch();
    if (frames_ > kStretch) end_stretch();
  }

  // Copies `bytes` past the caches; `to` is on a cache line.
  static void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes);

 private:
  static constexpr int kStretch = 16;  // frames timed together

  void begin_stretch();
  void end_stretch();
  void choose();

  std::size_t longest_;
  std::size_t streams_from_ = std::numeric_limits<std::size_t>::max();
  bool streams_longest_ = false;
  int frames_ = 0;
  int stretches_left_ = 0;  // until the other way is tried again
  bool tries_ = false;      // this stretch is such a trial
  std::int64_t began_ns_ = 0;
  double rate_[2] = {0, 0};  // bytes/ns by ordinary and by streaming stores; 0: never measured
};

}  // namespace tutti::transport::shm
