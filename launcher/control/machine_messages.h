// A topo::Machine on its way between prun and a daemon: part of messages.h, apart because of its
// size.
#pragma once

#include <string>
#include <vector>

namespace tutti::launch::control {

// A GPU or a network card (topo::PciDevice).
struct DeviceSeen {
  int kind = 0;
  std::vector<std::string> names;
  std::vector<int> near;
  template <class F>
  void fields(F&& f) {
    f("kind", kind), f("names", names), f("near", near);
  }
};

// A topo::Machine on its way: seven numbers a hardware thread.
struct MachinePart {
  std::vector<int> threads;
  std::vector<DeviceSeen> devices;
  int cores = 0;
  double cpu_quota = 0;
  bool hides_gpus = false;
  std::string visible_gpus, boot_id;
  template <class F>
  void fields(F&& f) {
    f("threads", threads), f("devices", devices), f("cores", cores);
    f("cpu_quota", cpu_quota), f("visible_gpus", visible_gpus), f("boot_id", boot_id);
    f("hides_gpus", hides_gpus);
  }
};

}  // namespace tutti::launch::control
