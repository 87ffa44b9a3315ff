// What one rank's fake transport has lent. What is given back is overwritten first: who still reads
// it finds other bytes there, and the sanitizer finds who reads it later.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "fake_flying.h"
#include "transport/transport.h"

namespace tutti::test {

// Of all ranks of a net. relaxed: counts.
struct FakeLoans {
  std::atomic<std::uint64_t> number = 0;  // so far
  std::atomic<std::size_t> bytes = 0;     // now
};

class FakeLender final : public transport::Lender {
 public:
  FakeLender(FakeLoans& all, std::size_t most) : all_(all), most_(most) {}
  FakeLender(const FakeLender&) = delete;
  FakeLender& operator=(const FakeLender&) = delete;
  ~FakeLender() { TUTTI_CHECK(lent_.empty(), "a loan outlives its transport"); }

  // Gives the sink a frame as a loan; false: there is no room, or it wants none.
  bool delivers(transport::Sink& sink, int from, Flying& frame) {
    if (frame.size < kLongFrame || frame.size + bytes_ > most_ ||
        !sink.wants_loan(from, frame.header, frame.size))
      return false;
    const std::uint64_t number = next_++;
    std::vector<std::byte>& memory = lent_[number] = std::move(frame.bytes);
    bytes_ += memory.size();
    all_.bytes.fetch_add(memory.size(), std::memory_order_relaxed);
    all_.number.fetch_add(1, std::memory_order_relaxed);
    TUTTI_CHECK(sink.on_lent(from, frame.header, memory, transport::Loan(*this, number)),
                "no test posts frames that nobody sends");
    return true;
  }

  void take_back(std::uint64_t number) override {
    const auto found = lent_.find(number);
    TUTTI_CHECK(found != lent_.end(), "a loan ends once");
    std::vector<std::byte>& memory = found->second;
    std::fill(memory.begin(), memory.end(), std::byte{0xdd});
    bytes_ -= memory.size();
    all_.bytes.fetch_sub(memory.size(), std::memory_order_relaxed);
    lent_.erase(found);
  }

 private:
  FakeLoans& all_;
  const std::size_t most_;
  std::map<std::uint64_t, std::vector<std::byte>> lent_;
  std::size_t bytes_ = 0;
  std::uint64_t next_ = 0;
};

}  // namespace tutti::test
