// What collview is asked to do.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "coll/coll.h"

namespace tutti::collview {

struct Options {
  std::string verb;                            // list, draw, check, cost, dump, time
  const coll::Algorithm* algorithm = nullptr;  // all but list
  int size = 4;
  int root = 0;
  coll::Count count = 8;
  coll::Count segment = 0;
  int rank = -1;             // dump: all
  std::vector<int> host_of;  // empty: one host
  std::string output;        // empty: standard output
  bool markdown = false;
  int seeds = 20;
};

inline constexpr const char* kUsage =
    "usage: collview list [--markdown]\n"
    "       collview draw  COLLECTIVE ALGORITHM [options] [-o FILE.svg]\n"
    "       collview check COLLECTIVE ALGORITHM [options] [--seeds N]\n"
    "       collview cost  COLLECTIVE ALGORITHM [options]\n"
    "       collview dump  COLLECTIVE ALGORITHM [options] [--rank R]\n"
    "       collview time  COLLECTIVE ALGORITHM [options] [--rank R]\n"
    "options: -p RANKS (4)  -n UNITS (8)  --root R (0)  --segment UNITS (0)\n"
    "         --hosts L (ranks a host, consecutive) or --hosts 0,1,0,1 (host of each rank)\n";

Result<Options> parse(const std::vector<std::string>& words);

}  // namespace tutti::collview
