// costs: what links and folds cost, in one table; everything the model works from beside the team.
#pragma once

#include <string_view>

namespace tutti::model {

// Latency (us) and inverse bandwidth (us per byte) of a class of links.
struct LinkClass {
  double latency_us = 1;
  double us_per_byte = 1e-4;
};

// Of a kind that the table has ("self", "shm", "tcp", "rdma") on a wire of so many Gbit/s; 0: not
// known, or no wire. A kind that it has not costs what tcp costs.
LinkClass cost_of_link(std::string_view kind, double wire_gbits);

// Reading two bytes and writing one of their sum: us per byte of the result.
double cost_of_fold();

}  // namespace tutti::model
