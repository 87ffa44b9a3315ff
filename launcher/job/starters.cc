// How each host of the job is reached: this machine, virtual hosts, or over the network.
#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/environment.h"
#include "base/file.h"
#include "base/text.h"
#include "control/addresses.h"
#include "daemon/daemon.h"
#include "job/hosts.h"
#include "spawn/installation.h"
#include "spawn/spawn.h"
#include "status/status.h"

namespace tutti::launch::job {
namespace {

// From how many hosts on daemons start daemons.
constexpr std::size_t kTreeFrom = 33;
// Of a spare's frame, which says no more than that it is there.
constexpr std::size_t kMaxSpareBytes = std::size_t{64} << 10;

// `user` of "user@host": another one is reached by ssh, on this machine, too.
bool is_this_user(const std::string& user, const std::vector<std::string>& environment) {
  if (user.empty() || user == value_in(environment, "USER") ||
      user == value_in(environment, "LOGNAME"))
    return true;
  for (const std::string& line : text::split(file_text("/etc/passwd").value_or(""), '\n')) {
    const auto words = text::split(line, ':');  // name, password, number, ...
    if (words.size() > 2 && words[0] == user) return words[2] == std::to_string(::geteuid());
  }
  return false;
}

}  // namespace

bool is_this_machine(const std::string& name) {
  if (name == "localhost" || name == "127.0.0.1" || name == "::1") return true;
  std::array<char, 256> own{};
  ::gethostname(own.data(), own.size() - 1);
  const std::string mine = own.data();
  if (name == mine || name == mine.substr(0, mine.find('.'))) return true;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return false;
  const auto all = control::own_addresses();
  bool own_address = false;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next)
    own_address = own_address || std::find(all.begin(), all.end(),
                                           control::address_text(one->ai_addr)) != all.end();
  ::freeaddrinfo(found);
  return own_address;
}

control::SpawnReports Hosts::reports() {
  control::SpawnReports reports;
  reports.ready = [this](int index, control::ChannelEnds ends) {
    on_ready(index, std::move(ends));
  };
  reports.failed = [this](int index, int status, const std::string& reason) {
    fail(index, status, reason);
  };
  reports.login = [this](int index, const std::string& noise, bool sent_daemon) {
    host(index).noise = noise;
    host(index).was_sent_daemon = sent_daemon;
  };
  reports.note = [this](const std::string& text) { calls_.note(text); };
  return reports;
}

control::Spawner& Hosts::add_spawner(std::unique_ptr<control::Spawner> spawner,
                                     const std::vector<control::HostPart>& hosts) {
  for (const control::HostPart& host : hosts) spawner_of_[host.host] = spawner.get();
  spawners_.push_back(std::move(spawner));
  return *spawners_.back();
}

// Whether this host's ranks, too, are to be in a step of Slurm, which gets the job's signals: in a
// job script and in a shell of salloc. A prun that is in a step itself has them with it.
bool Hosts::is_by_srun() const {
  return request_.spec.starter == cli::Starter::slurm &&
         value_in(request_.environment, "SLURM_STEP_ID").empty();
}

bool Hosts::is_reached_here(const control::HostPart& part) const {
  return request_.spec.starter == cli::Starter::local || !request_.allocation.given ||
         (!is_by_srun() && is_this_machine(part.name) &&
          is_this_user(part.user, request_.environment));
}

// As the user names it.
control::HostPart Hosts::part_of(int index) const {
  control::HostPart part;
  part.host = index;
  part.name = name_of(index);
  for (const hosts::HostSlots& given : request_.allocation.hosts) {
    if (given.name != part.name) continue;
    part.user = given.user;
    part.port = given.port;
  }
  return part;
}

// They hear that the job is there, and how it ends.
void Hosts::keep_spares() {
  for (const auto& one : round_.spares) {
    UniqueFd out(::fcntl(one->channel.get(), F_DUPFD_CLOEXEC, 3));
    auto& channel = spares_.emplace_back(std::make_unique<control::StartupChannel>(
        loop_,
        control::ChannelEnds{std::move(one->channel), std::move(out), std::move(one->already),
                             std::move(one->stream), kMaxSpareBytes}));
    // Nobody misses one that goes.
    channel->open([](control::Frame&&) {}, [](const std::string&) {});
    channel->keep_alive(daemon::kBeat, daemon::kSilence);
  }
}

void Hosts::start(bool by_tree) {
  keep_spares();
  std::vector<control::HostPart> here, remote, made, joined;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const control::HostPart part = part_of(static_cast<int>(i));
    const bool has_joined = std::ranges::any_of(
        request_.allocation.hosts,
        [&part](const hosts::HostSlots& given) { return given.joined && given.name == part.name; });
    if (has_joined)
      joined.push_back(part);
    else if (request_.spec.starter == cli::Starter::virtual_hosts)
      made.push_back(part);
    else
      (is_reached_here(part) ? here : remote).push_back(part);
  }
  for (const control::HostPart& part : remote) host(part.host).over_network = true;
  const spawn::DaemonInputs given{request_.machine, request_.environment, request_.early};
  if (request_.early && request_.machine && !here.empty()) host(here[0].host).is_early = true;
  if (!here.empty()) add_spawner(spawn::spawn_local(loop_, reports(), given), here).start(here);
  if (!joined.empty())
    add_spawner(spawn::spawn_joined(loop_, reports(), std::move(round_.joined)), joined)
        .start(joined);
  for (const control::HostPart& part : joined) {
    host(part.host).over_network = host(part.host).has_joined = true;
    host(part.host).is_stranger = request_.meeting->is_open();
  }
  if (!made.empty()) {
    spawn::VirtualPlan plan{request_.spec.virtual_rate, request_.spec.virtual_delay};
    add_spawner(spawn::spawn_virtual(loop_, std::move(plan), reports(), given), made).start(made);
  }
  if (by_tree && remote.size() >= kTreeFrom) return start_by_tree(remote);
  start_over_network(remote);
}

// Of two levels: about as many relays as each of them has hosts.
void Hosts::start_by_tree(const std::vector<control::HostPart>& hosts) {
  const auto relays = static_cast<std::size_t>(std::ceil(std::sqrt(hosts.size())));
  std::vector<control::HostPart> first(hosts.begin(), hosts.begin() + static_cast<long>(relays));
  for (std::size_t i = relays; i < hosts.size(); ++i) {
    const control::HostPart& relay = first[i % relays];
    host(hosts[i].host).via = relay.host;
    host(relay.host).to_grow.push_back(hosts[i]);
  }
  start_over_network(first);
}

void Hosts::start_over_network(const std::vector<control::HostPart>& hosts) {
  if (hosts.empty()) return;
  for (const control::HostPart& part : hosts) host(part.host).via = part.host;
  if (request_.spec.starter == cli::Starter::slurm && request_.spec.launch_agent.empty()) {
    loop_.post([this, hosts] {
      for (const control::HostPart& part : hosts)
        fail(part.host, status::of(status::ExitStatus::usage),
             "no srun of Slurm in PATH, by which " + request_.spec.slurm_asked + " starts daemons");
    });
    return;
  }
  if (request_.spec.starter == cli::Starter::slurm) suspension_.emplace(request_.environment);
  add_spawner(spawn::spawn_ssh(loop_, grow_message({}), reports(), request_.environment), hosts)
      .start(hosts);
}

control::Grow Hosts::grow_message(std::vector<control::HostPart> hosts) const {
  control::Grow grow;
  grow.hosts = std::move(hosts);
  const bool by_slurm = request_.spec.starter == cli::Starter::slurm;
  grow.agent.push_back(!request_.spec.launch_agent.empty() ? request_.spec.launch_agent
                       : by_slurm                          ? "srun"
                                                           : "ssh");
  grow.agent.insert(grow.agent.end(), request_.spec.agent_args.begin(),
                    request_.spec.agent_args.end());
  const std::string& prefix = request_.spec.remote_prefix;
  grow.prefix = prefix.empty() ? spawn::this_installation().prefix : prefix;
  for (const std::string& entry : request_.environment)
    grow.patient = grow.patient || entry.starts_with("KUBERNETES_SERVICE_HOST=");
  return grow;
}

}  // namespace tutti::launch::job
