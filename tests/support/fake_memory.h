// Memory that the fake transport exposes and reads: it counts what is open, reads late, fails where
// it is told to, and insists that keys arrive as they were made.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "fake_transport.h"

namespace tutti::test {

// Of all ranks.
struct FakeMemory {
  explicit FakeMemory(const FakeOptions& given) : options(given) {}
  const FakeOptions& options;
  std::mutex mutex;
  std::set<std::uint64_t> regions;  // that are exposed, by number
  std::uint64_t exposed = 0;
  std::atomic<int> remotes = 0;
  std::atomic<std::uint64_t> gets = 0;
};

std::unique_ptr<transport::Region> expose_fake(FakeMemory& memory, const Memory& exposed);

// What one rank reads.
class FakeReads {
 public:
  explicit FakeReads(FakeMemory& memory) : memory_(memory) {}
  std::unique_ptr<transport::Remote> import(BlobView key);
  Result<void> get(transport::Remote& from, std::uint64_t offset, const Memory& into, Done* done);
  // Those that are over fire.
  int progress();

 private:
  class Imported;
  struct Getting {
    Done* done;
    int rounds;
    const transport::Remote* from;
    bool ok;
  };

  FakeMemory& memory_;
  std::vector<Getting> gets_;
};

}  // namespace tutti::test
