// What ranks say of their calls: --stats as tables, --trace as a file. Reads what
// watch/recorder.h sends; a parcel that cannot be is left out and counted. No clock, no loop.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "control/messages.h"
#include "job/links.h"

namespace tutti::launch::job {

// --stats.
class Usage {
 public:
  explicit Usage(std::vector<std::string> host_of_rank) : hosts_(std::move(host_of_rank)) {}
  void take(const control::Used& used);
  std::string report() const;

 private:
  struct Call {
    std::uint64_t calls = 0, total_ns = 0, longest_ns = 0, bytes = 0;
    int slowest = 0;  // rank of the longest one
  };
  struct Rank {
    std::uint64_t inside_ns = 0, waiting_ns = 0;
  };
  struct Link {
    std::uint64_t messages = 0, bytes = 0;
  };
  void take_spent(int rank, std::string_view parcel);
  void take_sent(int rank, std::string_view lines);
  std::string calls_table() const;
  std::string ranks_table() const;
  std::string links_table() const;

  std::vector<std::string> hosts_;  // by rank
  std::map<std::string, Call> calls_;
  std::map<int, Rank> ranks_;
  std::map<std::string, Link> links_;  // "a -> b" TAB "tcp"
  LinkNames names_;
  std::uint64_t left_out_ = 0;  // parcels, or lines of them
};

// --trace: the format of Chrome's tracing, which Perfetto opens: a process a host, a track a rank.
class Trace {
 public:
  static Result<std::unique_ptr<Trace>> open(const std::string& path, std::vector<int> host_of_rank,
                                             const std::vector<std::string>& host_names);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  void take(const control::Used& used);
  // The end of the file. Errors: something could not be written, the disk is full perhaps.
  Result<void> close();

 private:
  Trace(std::FILE* file, std::string path, std::vector<int> hosts)
      : file_(file), path_(std::move(path)), hosts_(std::move(hosts)) {}
  void begin_entry();

  std::FILE* file_;
  std::string path_;
  std::vector<int> hosts_;  // by rank
  std::int64_t base_ns_ = 0;
  bool any_ = false;
};

}  // namespace tutti::launch::job
