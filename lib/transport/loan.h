// loan.h: payloads that their receiver keeps for a while (part of this room's door, transport.h
// includes it).
//
// A payload is the transport's again when on_frame returns. What is done with it may end later: a
// device's copy. A transport that can spare the memory lends it then (Sink::on_lent), and whoever
// keeps the loan needs no copy of its own.
#pragma once

#include <cstdint>
#include <utility>

namespace tutti::transport {

class Lender {
 public:
  // Called once for each loan, also after the peer is gone: in any order, and from inside
  // progress(), on_lent() or a device's progress. So it posts nothing and calls no sink.
  virtual void take_back(std::uint64_t number) = 0;

 protected:
  ~Lender() = default;
};

// The payload stays as it is until this ends. Like links and regions it ends before its transport.
class Loan {
 public:
  Loan() = default;  // of nothing
  Loan(Lender& lender, std::uint64_t number) : lender_(&lender), number_(number) {}
  Loan(Loan&& other) noexcept
      : lender_(std::exchange(other.lender_, nullptr)), number_(other.number_) {}
  Loan& operator=(Loan&& other) noexcept {
    if (this == &other) return *this;
    end();
    lender_ = std::exchange(other.lender_, nullptr);
    number_ = other.number_;
    return *this;
  }
  ~Loan() { end(); }

  explicit operator bool() const { return lender_ != nullptr; }
  void end() {
    if (Lender* const lender = std::exchange(lender_, nullptr)) lender->take_back(number_);
  }

 private:
  Lender* lender_ = nullptr;
  std::uint64_t number_ = 0;
};

}  // namespace tutti::transport
