// model: what the patterns that algorithms are made of take on a machine, as closed forms.
//
// Closed forms over p ranks on h hosts with L ranks each, placed host by host (neighbours share a
// host) or in turns (neighbours do not, and ranks h apart do: then all L ranks of a host use its
// port at a time where otherwise one would). A message of n
// bytes takes latency + n * us_per_byte; a port is busy for the bytes and a share of the
// latency. Times in us.
//
// Where ranks share cores, moving bytes is work for a core: patterns in which all ranks of a host
// are at it together take as many times longer as ranks share one (everyone()); trees, where few
// are, only pay that both ends of a message inside a host are on one core.
#pragma once

#include <cstdint>

#include "model/costs.h"

namespace tutti::model {

// What is known of a team; built once a communicator, and the same on all its members.
struct TeamFacts {
  int size = 1;
  int hosts = 1;
  int largest_host = 1;         // ranks on the fullest host
  bool consecutive = true;      // ranks of a host follow one another
  bool oversubscribed = false;  // some host has more ranks than cores
  double ranks_per_core = 1;    // where it is; else 1
  bool shm_delegate = false;    // the whole team sits on one host and has an area
  LinkClass inside;
  LinkClass between;
  double fold_us_per_byte = Costs{}.fold_us_per_byte();
};

class Model {
 public:
  Model(const TeamFacts& team, std::int64_t segment_bytes);

  // The same model for another set of ranks: those of a host, one leader a host.
  Model inside_host() const;
  Model leaders() const;
  Model stripes() const;       // as leaders, but every rank of a host takes a turn
  Model host_by_host() const;  // all, as a composition over hosts arranges them

  double p() const { return p_; }
  double fold() const { return fold_; }  // us per byte

  // One message on the slowest kind of link that the team spans.
  double hop(double n) const;
  // The root of p ranks serves the others one after another; each costs `fold` a byte more.
  double star(double n, double fold) const;
  // A message through a tree of this radix, cut in segments.
  double tree(double n, int radix, double fold) const;
  // Through all ranks one after another, cut in segments.
  double chain(double n, double fold) const;
  // Two half messages through two binary trees, cut in segments.
  double double_tree(double n, double fold) const;
  // p - 1 steps around the ring, a message of n each, `fold` a byte in each step.
  double ring(double n, double fold) const;
  // As ring, each message cut in segments that overlap with folding.
  double segmented_ring(double n, double fold) const;
  // log p exchanges of n bytes with partners at distance 1, 2, 4 ...
  double doubling(double n, double fold) const;
  // log p exchanges: n/2 with the nearest partner, n/4 with the next ...; or the farthest first.
  double halving(double n, double fold) const;
  double far_halving(double n, double fold) const;
  // log p messages to the rank 1, 2, 4 ... further on, each `growth` times the one before.
  double dissemination(double n, double growth, double fold) const;
  // Standing aside of ranks beyond a power of two: their vector comes, the result goes.
  double folding(double n, double fold) const;
  // Blocks of n/p that gather at the root up a binomial tree.
  double gather(double n) const;
  // Everyone sends n bytes to everyone.
  double all_pairs(double n, double fold) const;
  // Bruck's rounds: half of n moves in each, packed and unpacked.
  double bruck_alltoall(double n) const;

 private:
  struct Link {
    double latency, per_byte, gap;
    double message(double n) const { return latency + n * per_byte; }
    double busy(double n) const { return gap + n * per_byte; }
  };
  static Link link_of(const LinkClass& facts, double slowdown);
  // For patterns of all ranks at once: links and folds as slow as the cores are shared.
  Model everyone() const;
  bool shares_cores() const { return sharing_ > 1; }
  double pieces(double n) const;  // segments of a message
  double piece(double n) const;   // bytes of one
  bool spans_hosts() const { return hosts_ > 1; }

  // The time of one round of exchanges in which all ranks send n bytes that far.
  double round(double n, double distance) const;

  double p_, hosts_, local_;
  double share_;  // neighbours' messages that leave a host at a time
  double segment_;
  double fold_;
  bool in_turns_;
  double sharing_;  // ranks a core that are busy at a time, at most
  Link inside_, between_;
};

}  // namespace tutti::model
