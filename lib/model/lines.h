// lines: what a meeting of a host's ranks takes: each says a cache line and hears those of others.
//
// A tree of members: who hears whom before it says its own line. Those that nobody hears first are
// the tops; everybody hears these, and so knows of all.
#pragma once

#include <span>

namespace tutti::model {

// Where a rank is bound, by numbers of its host; -1: to several of that kind, or not known.
struct BoundAt {
  int cache = -1;  // the last-level one
  int numa = -1;
  int package = -1;
  bool is_known() const { return cache >= 0 && numa >= 0 && package >= 0; }
};

// Until what one says is heard by the other, us.
double line_us(const BoundAt& one, const BoundAt& other);

// Until everybody has heard of everybody; above[m] is who hears m, a member before it, or -1: m is
// a top. All -1: each hears all others.
double meeting_us(std::span<const BoundAt> places, std::span<const int> above);

}  // namespace tutti::model
