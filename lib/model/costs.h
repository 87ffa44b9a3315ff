// costs: what links and folds cost, in one table; everything the model works from beside the team.
//
// All ranks of a job must work from the same figures, for they choose algorithms without a word:
// the table is in the job segment. prun makes it for all hosts; under another launcher rank 0
// does. It travels as text; plain values, so that a segment can hold it.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tutti::model {

// Latency (us) and inverse bandwidth (us per byte) of a class of links.
struct LinkClass {
  double latency_us = 1;
  double us_per_byte = 1e-4;
};

struct CostRow {
  double latency_us;
  double gigabytes;       // a second, where the wire's rate is not known
  double most_gigabytes;  // a second, on any wire: what one core moves
};

// Shares of what a link costs, the same on every machine.
inline constexpr double kGapShare = 0.25;  // of the latency: a message keeps its ports busy so long
inline constexpr double kCopyShare = 0.5;  // of an inside link's time a byte: a local copy
// A delegate, in which everyone writes once and reads once and nothing is matched: of the latency,
// for each level of the ranks' meeting; and of the time a byte (measured with two ranks, 64 KiB to
// 16 MiB: 0.2 to 0.9 of the quickest schedule, of which the model thinks that folding hides behind
// moving; record 0089).
inline constexpr double kMeetShare = 0.4;
inline constexpr double kDirectShare = 0.7;

// A kind that is none of these costs what the first costs. gpu: what the copies add to a message
// between hosts out of a GPU's memory into another's, and carry; ipc: such a message inside a host,
// which the receiver's GPU reads; nccl: a call of NCCL's inside a host, to begin, and what passes
// each GPU meanwhile.
inline constexpr std::array<std::string_view, 7> kLinkKinds{"tcp", "rdma", "shm", "self",
                                                            "gpu", "ipc",  "nccl"};

struct Costs {
  // Measured on machines of two to four cores. Of GPUs the latencies, on an H200; their rates are
  // assumed, between those of PCIe and of one GPU's memory.
  std::array<CostRow, kLinkKinds.size()> links{
      CostRow{15, 1.2, 4}, CostRow{2, 10, 50},    CostRow{0.12, 40, 40}, CostRow{0.05, 50, 50},
      CostRow{15, 10, 10}, CostRow{15, 200, 200}, CostRow{20, 200, 200}};
  // A second of a sum (two bytes are read and one is written): 36 to 53 within a cache, 5 beyond.
  double fold_gigabytes = 20;
  double gpu_fold_gigabytes = 400;  // by a GPU

  // Of a kind of link on a wire of so many Gbit/s, which bounds what the link is said to carry; 0:
  // not known, or no wire.
  LinkClass of_link(std::string_view kind, double wire_gbits) const;
  double fold_us_per_byte() const { return 1e-3 / fold_gigabytes; }  // of the result
  double gpu_fold_us_per_byte() const { return 1e-3 / gpu_fold_gigabytes; }
};

// "tcp=15:1.2:4,fold=20": KIND=LATENCY:RATE[:MOST], fold=RATE and gpu_fold=RATE, in us and GB/s;
// what is not named is as built in. Errors: what cannot be read, and what may stand there.
Result<Costs> parse_costs(std::string_view text);
// All of it; parse_costs() makes the same table of it, to the bit.
std::string text_of(const Costs& costs);

}  // namespace tutti::model
