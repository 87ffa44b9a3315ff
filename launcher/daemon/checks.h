// What `prun --check` asks of this host, answered when it is known.
#pragma once

#include <functional>

#include "control/control.h"
#include "daemon/background.h"
#include "daemon/examine.h"
#include "daemon/probe.h"

namespace tutti::launch::daemon {

class Checks {
 public:
  using Say = std::function<void(const control::Message&)>;
  Checks(control::Loop& loop, Say say) : say_(std::move(say)), listener_(loop), background_(loop) {}

  void examine(int host, const control::Examine& wish, const InfoProgram& info);
  void probe(const control::Probe& wish);

 private:
  Say say_;
  ProbeListener listener_;
  Background background_;
};

}  // namespace tutti::launch::daemon
