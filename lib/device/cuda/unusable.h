// unusable: memory that no call can use, such as that which was freed, or that this call cannot:
// whatever is asked for fails.
#pragma once

#include "types/types.h"

namespace tutti::device::cuda {

class Unusable final : public types::Device {
 public:
  MemoryKind kind() const override { return MemoryKind::cuda; }
  int number() const override { return ordinal; }
  bool is_usable() const override { return false; }
  Code refusal() const override { return code; }
  bool owns(const void*) const override { return false; }
  void pack(const types::Buffer&, types::Count, std::span<std::byte>, Done* done) override {
    done->fire(done, false);
  }
  void unpack(const types::Buffer&, types::Count, std::span<const std::byte>, Done* done) override {
    done->fire(done, false);
  }
  void copy(const types::Buffer&, const types::Buffer&, Done* done) override {
    done->fire(done, false);
  }
  bool folds(const types::Fold&) const override { return true; }
  void fold(const types::Fold&, Done* done) override { done->fire(done, false); }
  int progress() override { return 0; }
  types::Device* begin_call() override { return this; }
  void await_caller(Done* done) override { done->fire(done, false); }

  int ordinal = -1;
  Code code = Code::buffer;
};

}  // namespace tutti::device::cuda
