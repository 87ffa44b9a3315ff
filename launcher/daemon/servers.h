// The servers that this host's programs look for: one of each kind that is needed.
#pragma once

#include <memory>
#include <vector>

#include "serve/serve.h"

namespace tutti::launch {

class Servers {
 public:
  // `needs`: of all programs together; what prun was told (launch.serve) goes before it.
  void open(Loop& loop, const Launch& launch, int host, Needs needs, ServeReports reports);
  // What one rank inherits, given what its program needs.
  Result<Server::Outfit> outfit(int local, const Needs& needs);
  void on_gathered(const Gathered& all);

 private:
  bool forced_ = false;
  std::unique_ptr<Server> pmi1_;
};

}  // namespace tutti::launch
