// Virtual hosts: a daemon in each, forked from this process and moved into its namespaces.
//
// The processors of this machine are shared out: each host gets cores of its own when there are
// enough, else all of them see all. What goes wrong inside a host is told over its channel.
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <set>

#include "base/shortage.h"
#include "spawn/fork_daemon.h"
#include "spawn/keepers.h"
#include "spawn/namespaces.h"
#include "spawn/spawn.h"
#include "status/status.h"

namespace tutti::launch::spawn {
namespace {

// The processors of one share of `shares`, whole cores; empty: there are not enough.
std::vector<int> share_of(const topo::Machine& machine, int share, int shares) {
  std::vector<int> cores;
  for (const topo::Thread& thread : machine.threads)
    if (cores.empty() || cores.back() != thread.core) cores.push_back(thread.core);
  const auto count = static_cast<int>(cores.size());
  if (count < shares) return {};
  std::set<int> mine;
  for (int i = share * count / shares; i < (share + 1) * count / shares; ++i)
    mine.insert(cores[static_cast<std::size_t>(i)]);
  std::vector<int> processors;
  for (const topo::Thread& thread : machine.threads)
    if (mine.count(thread.core) != 0) processors.push_back(thread.os_index);
  return processors;
}

// The part of the machine that a host is left with.
topo::Machine part_of(const topo::Machine& machine, const std::vector<int>& processors) {
  if (processors.empty()) return machine;
  topo::Machine part = machine;
  std::set<int> cores;
  part.threads.clear();
  for (const topo::Thread& thread : machine.threads) {
    if (std::find(processors.begin(), processors.end(), thread.os_index) == processors.end())
      continue;
    part.threads.push_back(thread);
    cores.insert(thread.core);
  }
  for (topo::PciDevice& device : part.devices)
    std::erase_if(device.near, [&processors](int cpu) {
      return std::find(processors.begin(), processors.end(), cpu) == processors.end();
    });
  part.cores = static_cast<int>(cores.size());
  return part;
}

class Virtual final : public control::Spawner {
 public:
  Virtual(control::Loop& loop, VirtualPlan plan, control::SpawnReports reports, DaemonInputs given)
      : loop_(loop),
        plan_(std::move(plan)),
        reports_(std::move(reports)),
        machine_(std::move(given.machine)),
        environment_(std::move(given.environment)) {}
  ~Virtual() override {
    if (switch_ended_.is_open()) loop_.forget(switch_ended_.get());
    net_.reset();  // a host that is still being made does not get any further
  }

  void start(const std::vector<control::HostPart>& hosts) override;
  std::string last_words(int host) override { return keepers_.last_words(host); }

 private:
  void start_one(const control::HostPart& host, int number, int count);
  daemon::DaemonPlace enter(int channel, const control::HostPart& host, int number, int count);
  void fail_later(int host, int status, std::string why);

  control::Loop& loop_;
  VirtualPlan plan_;
  control::SpawnReports reports_;
  std::optional<topo::Machine> machine_;
  std::vector<std::string> environment_;
  std::optional<VirtualNet> net_;
  Keepers keepers_;
  UniqueFd switch_ended_;
};

void Virtual::start(const std::vector<control::HostPart>& hosts) {
  std::vector<std::string> names;
  for (const control::HostPart& host : hosts) names.push_back(host.name);
  if (!machine_)
    if (auto machine = topo::read_this_machine()) machine_ = std::move(*machine);
  auto net = VirtualNet::create(std::move(names), {plan_.rate, plan_.delay});
  if (!net) {
    for (const control::HostPart& host : hosts)
      fail_later(host.host, status::of(status::ExitStatus::virtual_refused), net.error().text);
    return;
  }
  net_.emplace(std::move(*net));
  const auto count = static_cast<int>(hosts.size());
  for (int i = 0; i < count; ++i) start_one(hosts[static_cast<std::size_t>(i)], i, count);
  // After the hosts were forked: they keep no copy. The job cannot do without its network.
  switch_ended_ = net_->switch_ended();
  if (!switch_ended_.is_open()) return;
  loop_.on_readable(switch_ended_.get(), [this, first = hosts.front().host] {
    loop_.forget(switch_ended_.get());
    reports_.failed(first, status::of(status::ExitStatus::host_lost), kSwitchKilled);
  });
}

void Virtual::start_one(const control::HostPart& host, int number, int count) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail_later(host.host, status::of(status::ExitStatus::no_resources),
                      std::strerror(errno));
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0)
    return fail_later(host.host, status::of(status::ExitStatus::no_resources), no_process(errno));
  if (pid == 0)
    become_daemon(theirs.get(), environment_,
                  [&] { return enter(theirs.get(), host, number, count); });
  keepers_.add(host.host, pid, std::move(ours));
  loop_.post([this, index = host.host] { reports_.ready(index, keepers_.channel_to(index)); });
}

// In the daemon's process: the keeper stays outside.
daemon::DaemonPlace Virtual::enter(int channel, const control::HostPart& host, int number,
                                   int count) {
  const auto entered = net_->enter(number);
  if (!entered) {
    const std::string last = control::frame(
        host.host, control::encode(control::DaemonFailed{
                       status::of(status::ExitStatus::virtual_refused), entered.error().text}));
    (void)!::write(channel, last.data(), last.size());
    ::_exit(1);
  }
  daemon::DaemonPlace place;
  place.environment = environment_;
  place.own_address = VirtualNet::ipv4(number);
  if (machine_) {
    const std::vector<int> processors = share_of(*machine_, number, count);
    if (!processors.empty()) topo::bind_self(processors);
    place.machine = part_of(*machine_, processors);
  }
  return place;
}

void Virtual::fail_later(int host, int status, std::string why) {
  loop_.post([this, host, status, why = std::move(why)] { reports_.failed(host, status, why); });
}

}  // namespace

std::unique_ptr<control::Spawner> spawn_virtual(control::Loop& loop, VirtualPlan plan,
                                                control::SpawnReports reports, DaemonInputs given) {
  return std::make_unique<Virtual>(loop, std::move(plan), std::move(reports), std::move(given));
}

}  // namespace tutti::launch::spawn
