// A device for tests whose memory the processor may not touch: a stray load or store of ours ends
// the test. What it is asked for it does late, in any order that the contract allows: who does not
// wait for an end sees old data. Deterministic by seed; driven by the thread that calls progress().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/unique_fd.h"
#include "types/types.h"

namespace tutti::test {

struct FakeDeviceOptions {
  std::uint64_t seed = 1;
  int longest_delay =
      5;                // looks until work ends: 0 to so many; 0: at once, before the call returns
  int fails_from = -1;  // the number of the first work that fails; -1: none
  bool lacks_memory = false;  // fails at once: there is no memory to begin it
};

class FakeDevice final : public types::Device {
 public:
  explicit FakeDevice(int number, const FakeDeviceOptions& options = {});
  FakeDevice(const FakeDevice&) = delete;
  FakeDevice& operator=(const FakeDevice&) = delete;
  ~FakeDevice() override;

  // Memory of the device, never given back.
  std::byte* take(std::size_t bytes);
  // The same bytes where the test may touch them.
  std::byte* seen(const void* address) const;

  MemoryKind kind() const override { return MemoryKind::cuda; }
  int number() const override { return number_; }
  bool owns(const void* address) const override;
  void pack(const types::Buffer& from, types::Count offset, std::span<std::byte> out,
            Done* done) override;
  void unpack(const types::Buffer& into, types::Count offset, std::span<const std::byte> in,
              Done* done) override;
  void copy(const types::Buffer& from, const types::Buffer& into, Done* done) override;
  bool folds(const types::Fold& fold) const override;
  void fold(const types::Fold& fold, Done* done) override;
  int progress() override;
  types::Device* begin_call() override { return this; }
  // What is asked for from now on waits for what the caller gave the device, until that ends.
  void stand_behind(bool is_behind) { is_behind_ = is_behind; }
  bool stands_behind_caller() override { return is_behind_; }
  void await_caller(Done* done) override {
    begin([] {}, done);
  }

  // Now and then there is none. What is given back is overwritten.
  std::byte* take_scratch(std::size_t bytes) override;
  void give_scratch(std::byte* at) override;

  int begun() const { return begun_; }
  std::size_t pending() const { return pending_.size(); }

 private:
  struct Work {
    int looks;
    std::function<void()> run;
    Done* done;
    bool fails, is_behind;
  };
  void begin(std::function<void()> run, Done* done);
  types::Buffer seen(const types::Buffer& buffer) const;
  std::uint64_t draw();

  static constexpr std::size_t kBytes = std::size_t{256} << 20;
  const int number_;
  const FakeDeviceOptions options_;
  std::uint64_t state_;
  UniqueFd file_;
  std::byte* forbidden_;
  std::byte* open_;
  std::size_t taken_ = 0;
  int begun_ = 0;
  bool is_behind_ = false;
  std::vector<Work> pending_;
  struct ScratchPiece {
    std::byte* at;
    std::size_t bytes;
    bool is_taken;
  };
  std::vector<ScratchPiece> scratch_;
};

}  // namespace tutti::test
