// contest: several ways to serve a kind of calls (a collective, of about so many bytes), weighed by
// what the model says of them and then by what they took (part of this room's door).
//
// Members hold a contest each, which they ask and tell the same: so they answer alike. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace tutti::select {

class Contest {
 public:
  // Our own algorithms; a GPU vendor's library; both, by levels.
  enum Way : std::uint8_t { ours, library, levels };
  static constexpr int kWays = 3;
  using Times = std::array<double, kWays>;  // us
  using Mask = std::array<bool, kWays>;     // which ways there are; ours is always

  Contest() = default;
  explicit Contest(const Times& predicted) : predicted_(predicted) {}

  // Whether another way than ours may take this call. Where it may not, members need not agree: the
  // call is not counted among those that took a way.
  bool asks(const Mask& can);
  // The way that takes this call.
  Way next(const Mask& can);
  // What a call took that went this way, with the slowest member.
  void took(Way way, double us);

  // Who serves from now on, when it is known what calls took that went any way worth a try.
  // Nothing: not yet, or only one ever did.
  std::optional<Way> verdict(const Mask& can) const;
  // "nccl: predicted 30.1 us, took 28.5 us; ours: predicted 88.2 us"
  std::string why(const Mask& can) const;
  static const char* name_of(Way way);

 private:
  struct Record {
    int given = 0;  // calls that went this way
    int told = 0;   // of them it is known what they took
    double us = 0;  // by these
  };
  bool is_tried(int way) const;
  double time_of(int way) const;
  Way best(const Mask& can) const;
  bool is_worth_a_try(int way, const Mask& can) const;
  Way least_tried(const Mask& can) const;

  Times predicted_{};
  std::array<Record, kWays> records_{};
  std::uint32_t calls_ = 0;  // since a loser was tried again
};

}  // namespace tutti::select
