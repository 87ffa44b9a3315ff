// What a daemon says of itself first: who it is, its machine, how the others reach it.
#include "daemon/hello.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "base/environment.h"
#include "base/text.h"
#include "control/addresses.h"
#include "topo/gpus.h"

namespace tutti::launch::daemon {
namespace {

// A port nobody listens on now. The ranks' own framework takes it soon.
int find_free_port() {
  const UniqueFd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!probe.is_open() || ::bind(probe.get(), generic, length) != 0 ||
      ::getsockname(probe.get(), generic, &length) != 0)
    return 0;
  return ntohs(address.sin_port);
}

}  // namespace

control::MachinePart machine_part(const topo::Machine& machine) {
  control::MachinePart part;
  for (const topo::Thread& t : machine.threads)
    part.threads.insert(part.threads.end(),
                        {t.os_index, t.core, t.l3, t.numa, t.package, t.l2, t.l1});
  for (const topo::PciDevice& device : machine.devices)
    part.devices.push_back({static_cast<int>(device.kind), device.names, device.near});
  part.cores = machine.cores;
  part.cpu_quota = machine.cpu_quota;
  part.visible_gpus = machine.visible_gpus;
  part.hides_gpus = machine.hides_gpus;
  part.boot_id = machine.boot_id;
  return part;
}

topo::Machine machine_of(const control::MachinePart& part) {
  topo::Machine machine;
  for (std::size_t i = 0; i + 6 < part.threads.size(); i += 7) {
    const int* at = &part.threads[i];
    machine.threads.push_back({at[0], at[1], at[2], at[3], at[4], at[5], at[6]});
  }
  for (const control::DeviceSeen& device : part.devices)
    machine.devices.push_back(
        {static_cast<topo::PciDevice::Kind>(device.kind), device.names, device.near});
  machine.cores = part.cores;
  machine.cpu_quota = part.cpu_quota;
  machine.visible_gpus = part.visible_gpus;
  machine.hides_gpus = part.hides_gpus;
  machine.boot_id = part.boot_id;
  return topo::is_sound(machine) ? machine : topo::Machine();
}

Result<std::optional<topo::Machine>> machine_to_tell(const DaemonPlace& place,
                                                     const control::Prepare& prepare) {
  if (topo::Machine given = machine_of(prepare.machine); !given.threads.empty())
    return std::optional(std::move(given));
  if (place.machine || !prepare.want_machine) return place.machine;
  TUTTI_TRY(machine, topo::read_this_machine(prepare.want_devices ? topo::DeviceReading::read
                                                                  : topo::DeviceReading::left_out));
  if (prepare.want_devices)
    topo::keep_usable_gpus(machine, topo::nvidia_driver(),
                           find_in(place.environment, "CUDA_VISIBLE_DEVICES"));
  return std::optional(std::move(machine));
}

control::Hello hello_from(const DaemonPlace& place, const std::optional<topo::Machine>& machine,
                          const std::string& interfaces) {
  control::Hello hello;
  hello.version = control::version();
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  hello.host_name = name.data();
  hello.pid = ::getpid();
  if (machine) hello.machine = machine_part(*machine);
  hello.own_address = place.own_address;
  hello.head_address = place.head_address;
  if (const std::string connection = value_in(place.environment, "SSH_CONNECTION");
      place.over_network) {
    const auto words = text::split(connection, ' ');  // client, its port, server, its port
    if (words.size() == 4) {
      hello.head_address = words[0];
      hello.own_address = words[2];
    }
  }
  if (std::string chosen = control::address_among(interfaces); !chosen.empty())
    hello.own_address = std::move(chosen);
  if (place.over_network) hello.addresses = control::own_addresses();
  hello.free_port = find_free_port();
  return hello;
}

}  // namespace tutti::launch::daemon
