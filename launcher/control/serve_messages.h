// Messages about what servers for other MPIs' programs need: part of the table in messages.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tutti::launch::control {

// up: what this host's ranks give to all, under a name. When every host that has ranks in it has
// said one of that name, all parts go down, by host.
struct Gather {
  std::string name;
  std::vector<int> hosts;  // that take part; empty: all
  std::string part;
  template <class F>
  void fields(F&& f) {
    f("name", name), f("hosts", hosts), f("part", part);
  }
};

// down: the parts of all hosts.
struct Gathered {
  std::string name;
  std::vector<std::string> parts;
  template <class F>
  void fields(F&& f) {
    f("name", name), f("parts", parts);
  }
};

// down, between a daemon and its PMIx server (launcher/pmix): the job it is to serve.
struct ServeJob {
  std::uint64_t job_id = 0;
  int host = 0;
  std::vector<std::string> hosts;
  std::vector<int> host_of;  // of each rank of the job
  std::vector<int> app_of;   // of each rank of the job
  std::vector<int> local;    // ranks of this host, by local rank
  int universe = 1;
  template <class F>
  void fields(F&& f) {
    f("job_id", job_id), f("host", host), f("hosts", hosts), f("host_of", host_of);
    f("app_of", app_of), f("local", local), f("universe", universe);
  }
};

struct Variables {
  std::vector<std::string> all;  // "NAME=value"
  template <class F>
  void fields(F&& f) {
    f("all", all);
  }
};

// up: it serves; what each local rank must find in its environment. Or why it does not.
struct Serves {
  std::vector<Variables> ranks;
  std::string problem;
  template <class F>
  void fields(F&& f) {
    f("ranks", ranks), f("problem", problem);
  }
};

// up: a rank came to its server, or said goodbye to it.
struct Served {
  int rank = 0;
  bool finalized = false;
  template <class F>
  void fields(F&& f) {
    f("rank", rank), f("finalized", finalized);
  }
};

// Between servers, by way of the head: what has `rank` put up? Asked by a host, under its number.
struct Fetch {
  int rank = 0;
  int asker = 0;  // host
  std::uint64_t number = 0;
  template <class F>
  void fields(F&& f) {
    f("rank", rank), f("asker", asker), f("number", number);
  }
};

struct Fetched {
  int asker = 0;
  std::uint64_t number = 0;
  int status = 0;
  std::string data;
  template <class F>
  void fields(F&& f) {
    f("asker", asker), f("number", number), f("status", status), f("data", data);
  }
};

}  // namespace tutti::launch::control
