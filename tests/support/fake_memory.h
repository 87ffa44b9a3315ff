// Memory that the fake transport exposes, reads and writes: it counts what is open, reads late,
// writes later still and in any order, fails where it is told to, and insists that keys arrive as
// they were made.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
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

// What one rank reads and writes.
class FakeAccess {
 public:
  explicit FakeAccess(FakeMemory& memory) : memory_(memory), random_(memory.options.seed) {}
  std::unique_ptr<transport::Remote> import(BlobView key);
  Result<void> get(transport::Remote& from, std::uint64_t offset, const Memory& into, Done* done);
  // Written when its rounds are over, and (late_done) read only then.
  Result<void> put(transport::Remote& to, std::uint64_t offset, const Memory& from, Done* done);
  Result<void> atomic(transport::Remote& at, std::uint64_t offset, const transport::Atomic& what,
                      const Memory& before, Done* done);
  // Of all this rank has put, to whomever.
  void flush(Done* done);
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
  // On its way to the peer's memory: bytes, or an atomic.
  struct Arriving {
    std::uint64_t number;
    int rounds;
    const transport::Remote* to;
    std::uint64_t offset;
    Memory from;                   // pinned; of an atomic what stood there before
    std::vector<std::byte> bytes;  // a copy, unless pinned
    transport::Atomic what;
    bool is_atomic;
    Done* done;
  };
  struct Flushing {
    std::uint64_t last;  // the latest before it
    Done* done;
  };
  Result<void> begin(Arriving arriving);
  bool arrive(const Arriving& arriving);
  int progress_gets();
  int progress_puts();
  int progress_flushes();

  FakeMemory& memory_;
  std::vector<Getting> gets_;
  std::minstd_rand random_;
  std::vector<Arriving> puts_;
  std::vector<Flushing> flushes_;
  std::uint64_t begun_ = 0;
  bool has_lost_ = false;  // since the latest flush
};

// The half of a link that reaches memory.
class FakeAccessLink : public transport::Link {
 public:
  Result<std::unique_ptr<transport::Remote>> import(BlobView key) override;
  Result<void> get(transport::Remote& from, std::uint64_t offset, const types::Buffer& into,
                   Done* done) override;
  Result<void> put(transport::Remote& to, std::uint64_t offset, const types::Buffer& from,
                   Done* done) override;
  Result<void> atomic(transport::Remote& at, std::uint64_t offset, const transport::Atomic& what,
                      const Memory& before, Done* done) override;
  Result<void> flush(Done* done) override;

 protected:
  explicit FakeAccessLink(FakeAccess& access) : access_(access) {}

 private:
  FakeAccess& access_;
};

}  // namespace tutti::test
