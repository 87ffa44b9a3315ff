// Messages of `prun --check`: part of the table in messages.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tutti::launch::control {

// down: examine your host, and listen for the other hosts' probes.
struct Examine {
  std::int64_t head_clock_ms = 0;  // when this was sent, by the head's clock
  std::vector<std::string> hosts;  // names that must be known there
  std::string token;               // by which probes of this job are known
  template <class F>
  void fields(F&& f) {
    f("head_clock_ms", head_clock_ms), f("hosts", hosts), f("token", token);
  }
};

enum Grade { kGood, kRemark, kBad };  // remark: jobs run, but something is missing

struct Finding {
  std::string what;
  int grade = kGood;
  std::string text;
  std::string cure;  // of what is not good
  template <class F>
  void fields(F&& f) {
    f("what", what), f("grade", grade), f("text", text), f("cure", cure);
  }
};

// Of an interface that is up and no loopback.
struct InterfaceAddress {
  std::string name, address;
  int mtu = 0;
  template <class F>
  void fields(F&& f) {
    f("name", name), f("address", address), f("mtu", mtu);
  }
};

// What a name of the job leads to on one host, and the first address's own name there.
struct KnownName {
  std::string name;
  std::vector<std::string> addresses;
  std::string back;
  template <class F>
  void fields(F&& f) {
    f("name", name), f("addresses", addresses), f("back", back);
  }
};

// up: the answer to Examine.
struct Findings {
  std::vector<Finding> all;
  std::vector<InterfaceAddress> addresses;
  std::vector<KnownName> names;  // in the order of Examine's
  int port = 0;                  // where probes are heard, TCP and UDP; 0: nowhere
  template <class F>
  void fields(F&& f) {
    f("all", all), f("addresses", addresses), f("names", names), f("port", port);
  }
};

// down: send bytes from each of your addresses to each of that host's.
struct Probe {
  int to = 0;
  std::string token;
  std::vector<InterfaceAddress> mine, theirs;
  int port = 0;
  template <class F>
  void fields(F&& f) {
    f("to", to), f("token", token), f("mine", mine), f("theirs", theirs), f("port", port);
  }
};

struct ProbedPair {
  InterfaceAddress from, to;
  std::string problem;  // empty: bytes arrived
  int reached = -1;     // the host that answered
  int mtu = 0;          // of the longest packet that arrived whole; 0: not known
  double bytes_per_s = 0;
  double round_trip_us = 0;
  template <class F>
  void fields(F&& f) {
    f("from", from), f("to", to), f("problem", problem), f("reached", reached), f("mtu", mtu);
    f("bytes_per_s", bytes_per_s), f("round_trip_us", round_trip_us);
  }
};

// up: the answer to Probe.
struct Probed {
  int to = 0;
  std::vector<ProbedPair> pairs;
  template <class F>
  void fields(F&& f) {
    f("to", to), f("pairs", pairs);
  }
};

}  // namespace tutti::launch::control
