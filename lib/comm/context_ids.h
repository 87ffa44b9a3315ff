// Numbers of communicators. Each takes an even number and the next: point-to-point, collectives.
//
// A new number must be free on every member. Members propose their lowest free one; when the
// highest and the lowest proposal are equal it is agreed, else all go on from the highest.
// Numbers come back when their communicator dies, so they stay small; there are kMost of them, so
// that a program that never frees its communicators is told so before its memory ends.
//
// With its number a communicator gets a birth, above that of every communicator its members were in
// before (a clock of Lamport's). So birth and first member name a communicator among all there ever
// were in a job, while numbers come back and serve several groups at once.
//
// A process may be in several agreements at once (threads, nonblocking duplication). Only one
// proposes at a time (the one with the lowest claim); the others say "busy" and that agreement
// starts over. The lowest claim of all is nobody's second, so somebody always gets through.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tutti::comm {

// What members agreed on.
struct Number {
  std::uint32_t context;
  std::uint64_t birth;
};

// Why no number is agreed: some member has none left.
Error none_left();

class ContextIds {
 public:
  using Claim = std::pair<std::uint32_t, int>;  // context and tag of where it is agreed
  using Values = std::int64_t[3];
  static constexpr std::int64_t kMost = 1 << 16;  // communicators of a process at a time
  // Replaces each value by the maximum over all members.
  using Maximum = std::function<Code(Values& values)>;

  // One agreement, round by round: propose, maximum over the members, judge.
  class Agreement {
   public:
    enum class Verdict : std::uint8_t { agreed, again, busy, none };  // none: no number is left
    Agreement(ContextIds& ids, const Claim& claim);
    ~Agreement();
    Agreement(const Agreement&) = delete;
    Agreement& operator=(const Agreement&) = delete;

    void propose(Values& values);
    Verdict judge(const Values& maximum);
    Number number() const { return number_; }  // once agreed; it is taken

   private:
    void let_go();
    ContextIds& ids_;
    const Claim claim_;
    bool holds_ = false;
    std::int64_t from_ = 0;
    Number number_{};
  };

  // Called by all members alike; takes the number. `pause` lets other threads and messages move.
  Result<Number> agree(const Claim& claim, const Maximum& maximum,
                       const std::function<void()>& pause);
  // For a communicator of one: nobody to agree with, and nobody to whom its birth would matter.
  Result<Number> take_alone();
  void take(std::uint32_t context);
  void give(std::uint32_t context);

 private:
  std::int64_t lowest_free(std::int64_t from) const;
  bool try_hold(const Claim& claim);

  std::vector<bool> used_;       // by context / 2
  std::int64_t first_free_ = 0;  // none below is free
  std::multiset<Claim> waiting_;
  bool held_ = false;
  std::int64_t proposed_ = -1;  // by who holds
  std::int64_t clock_ = 0;      // the last birth here
};

}  // namespace tutti::comm
