// OtherCalls: a message that comes in the place of another: of another collective call than the
// receive's, or word of a failure; and what is said of such a receive.
#pragma once

#include <functional>
#include <string>

#include "base/knobs.h"
#include "p2p/p2p.h"
#include "p2p/transfer.h"
#include "wireup/wireup.h"

namespace tutti::p2p {

class OtherCalls {
 public:
  OtherCalls(const wireup::Wireup& wireup, const Knobs& knobs) : wireup_(wireup), knobs_(knobs) {}

  // Turns a fingerprint into words.
  void set_text(std::function<std::string(std::uint32_t)> text) { text_ = std::move(text); }
  // Word of a failure comes in the place of messages that are no collective's, too.
  void meet(Transfer& transfer, std::uint32_t theirs, GaveUp gave_up);
  // Of messages outside collectives the status says who sent what.
  MessageFailure failure_of(const Transfer& transfer) const;

 private:
  std::string describe(std::uint32_t fingerprint) const;
  std::string describe_mismatch(const Transfer& transfer) const;
  MessageFailure sender_failure(const Transfer& transfer) const;

  const wireup::Wireup& wireup_;
  const Knobs& knobs_;
  std::function<std::string(std::uint32_t)> text_;
  bool has_warned_ = false;
};

}  // namespace tutti::p2p
