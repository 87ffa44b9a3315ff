// The servers that this host's programs look for: one of each kind that is needed.
#pragma once

#include <memory>
#include <vector>

#include "serve/serve.h"

namespace tutti::launch::daemon {

class Servers {
 public:
  // Makes what the programs need. `ready` is called once, at once or later: `problem` says what
  // cannot be served, or is empty.
  using Ready = std::function<void(const std::string& problem)>;
  struct Place {
    int host = 0;
    std::string pmix_program;  // empty: not here
    int server_fd = -1;        // by which a rank finds what it inherits of a server
  };
  void open(control::Loop& loop, const control::Launch& launch, const Place& place,
            serve::Needs needs, serve::ServeReports reports, const Ready& ready);
  // What one rank inherits, given what its program needs.
  Result<serve::Server::Outfit> outfit(int local, const serve::Needs& needs);
  void hear(const control::Message& message);
  void close();

 private:
  std::unique_ptr<serve::Server> pmi1_, pmix_;
};

}  // namespace tutti::launch::daemon
