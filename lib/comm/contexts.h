// Numbers of communicators. Each takes an even number and the next: point-to-point, collectives.
//
// A new number must be free on every member. Members propose their lowest free one; when the
// highest and the lowest proposal are equal it is agreed, else all go on from the highest.
// Numbers come back when their communicator dies, so they stay small.
//
// With threads, a process may be in several agreements at once. Only one proposes at a time
// (the one with the lowest claim); the others say "busy" and that agreement starts over. The
// lowest claim of all is nobody's second, so somebody always gets through.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tutti::comm {

class ContextIds {
 public:
  using Claim = std::pair<std::uint32_t, int>;  // context of the parent, tag (create_group)
  // Replaces each value by the maximum over all members.
  using Maximum = std::function<Code(std::int64_t (&values)[2])>;

  // Called by all members alike. `pause` lets other threads and messages move.
  Result<std::uint32_t> agree(const Claim& claim, const Maximum& maximum,
                              const std::function<void()>& pause);
  void take(std::uint32_t context);
  void give(std::uint32_t context);

 private:
  std::int64_t lowest_free(std::int64_t from) const;
  bool try_hold(const Claim& claim);

  std::vector<bool> used_;  // by context / 2
  std::set<Claim> waiting_;
  bool held_ = false;
};

}  // namespace tutti::comm
