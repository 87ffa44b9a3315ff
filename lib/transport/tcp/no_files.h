// no_files: when this process will not get the file that its next connection takes.
//
// Its limit of open files is its own: only it gives any back, and while it waits inside of MPI none
// of its calls does. Connections stay until the end; visitors who are nobody are gone after 10 s.
// So where nothing was given back for long, nothing will be. Only time inside counts: a program
// that computes may close its files afterwards.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tutti::transport::tcp {

class NoFiles {
 public:
  static constexpr std::int64_t kLongNs = 30'000'000'000;
  static constexpr std::int64_t kMostPerLookNs = 1'000'000'000;  // of what passed since the last

  // Looks are made inside of calls. True: it has lacked one for so long that it will for ever.
  bool look(bool lacks, std::int64_t now) {
    const std::int64_t passed = std::min(now - looked_ns_, kMostPerLookNs);
    lacking_ns_ = lacks && lacked_ ? lacking_ns_ + passed : 0;
    lacked_ = lacks;
    looked_ns_ = now;
    return lacking_ns_ >= kLongNs;
  }

 private:
  bool lacked_ = false;
  std::int64_t lacking_ns_ = 0, looked_ns_ = 0;
};

}  // namespace tutti::transport::tcp
