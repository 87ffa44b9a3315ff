// Which processors each rank of a host is located on, before --bind-to widens or narrows them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/cli.h"
#include "plan/plan.h"
#include "topo/topo.h"

namespace tutti::launch::plan {

// A core (its threads), or one hardware thread where those are counted.
using Unit = std::vector<topo::Thread>;
using Units = std::vector<Unit>;

bool counts_threads(const cli::Placement& placement);
Units units_of(const topo::Machine& machine, bool by_thread);
const char* name_of(cli::MapBy map_by);  // "package"; print.cc
// The object of a policy around a thread: its package, NUMA node, cache...; 0: the whole host.
int object_of(const topo::Thread& thread, cli::MapBy map_by);
// How many of them the machine has.
int objects_of(const topo::Machine& machine, cli::MapBy map_by);

struct Dealt {
  std::vector<Units> units;  // by local rank
  std::vector<int> turns;    // whose turn each was: of a device, or an object
  int rounds = 0;            // how often all units were taken
};
// `count` ranks of one host. Errors: more processors for each than any object has.
Result<Dealt> deal(const topo::Machine& machine, const cli::Placement& placement, int count);

// "0-1,3", "1:0-2" (package:cores), "0:*" -> those cores. Errors: there are none such.
Result<Units> units_named(const topo::Machine& machine, const std::string& text, bool by_thread);

}  // namespace tutti::launch::plan
