// A plan case: everything that goes into a plan, and the text that comes out.
//
//   # what the case shows
//   command: prun -np 4 --hostfile f ./app
//   this: here 4                          name and cores of the machine prun runs on
//   file f:                               a hostfile; its lines are indented
//     a slots=2
//   machine *: package:2 core:4 pu:2      hwloc's synthetic form, by host; * for all others
//   machine a: xml two_core_vm.xml        a recorded one, from tests/plan/machines
//   quota a: 1.5                          cpu.max of a host, in processors
//   boot a: 1                             hosts of one boot are names of one machine
//   ---
//   the expected text, to the end of the file
#pragma once

#include <map>
#include <string>
#include <vector>

struct PlanCase {
  std::string input;  // up to and with "---\n"
  std::vector<std::string> command;
  std::string this_host = "here";
  int this_cores = 4;
  std::map<std::string, std::string> files;
  std::map<std::string, std::string> machines;
  std::map<std::string, double> quotas;
  std::map<std::string, std::string> boots;
  std::map<std::string, std::string> visible;  // CUDA_VISIBLE_DEVICES
  std::string expected;
};

// Stops the test when the file is not a case.
PlanCase read_case(const std::string& path);
