// The servers that this host's programs look for: one of each kind that is needed.
#pragma once

#include <memory>
#include <vector>

#include "serve/serve.h"

namespace tutti::launch {

class Servers {
 public:
  // Makes what the programs need; what prun was told (launch.serve) goes before that. `ready` is
  // called once, at once or later: `problem` says what cannot be served, or is empty.
  using Ready = std::function<void(const std::string& problem)>;
  struct Place {
    int host = 0;
    std::string pmix_program;  // empty: not here
  };
  void open(Loop& loop, const Launch& launch, const Place& place, Needs needs, ServeReports reports,
            const Ready& ready);
  // What one rank inherits, given what its program needs.
  Result<Server::Outfit> outfit(int local, const Needs& needs);
  void hear(const Message& message);
  void close();

 private:
  bool forced_ = false;
  std::unique_ptr<Server> pmi1_, pmix_;
};

}  // namespace tutti::launch
