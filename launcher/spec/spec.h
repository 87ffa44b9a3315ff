// What options say to ranks, in one piece: a part of what the command line says (cli), of what a
// daemon is told (control) and of what a rank's environment is made from (daemon).
//
// A new option of this kind is a member here, its row in cli/options.cc and its row in
// daemon/rank_env.cc.
#pragma once

#include <string>

namespace tutti::launch::spec {

// What stands in front of lines that ranks write; travels as its number.
enum class OutputTag { none, tag, label, detailed, fullname, xml, json, pattern };

struct RankSpec {
  int universe = 0;  // slots that ranks see; 0: those of the job
  std::string role = "default";
  std::string run_id;          // torchrun's name of the job; empty: it is none of torchrun's
  std::string master_address;  // empty: proven
  int master_port = 0;         // 0: found free
  int max_restarts = 0;
  int gpus_per_rank = 0;  // its own; 0: it sees all
  bool as_srun = false;   // they see srun's variables, too
  bool report_links = false;
  std::string
      costs;  // what links cost, for all ranks alike (model/costs.h); it goes by the segment
  std::string record;  // "calls", "events": what they keep of their calls of MPI; empty: nothing
  template <class F>
  void fields(F&& f) {
    f("universe", universe), f("role", role), f("run_id", run_id);
    f("master_address", master_address), f("master_port", master_port);
    f("max_restarts", max_restarts), f("gpus_per_rank", gpus_per_rank), f("as_srun", as_srun);
    f("report_links", report_links), f("record", record), f("costs", costs);
  }
};

}  // namespace tutti::launch::spec
