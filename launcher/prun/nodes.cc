// Who leads and who joins.
//
//   --listen PORT            this one leads; hosts come by --join, with the same key file
//   torchrun, static nodes   --node-rank 0 leads at --master-addr:--master-port
//   torchrun, c10d           the first one on the endpoint's host leads
#include "prun/nodes.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/environment.h"
#include "base/file.h"
#include "base/text.h"
#include "prun/surroundings.h"
#include "secure/secure.h"
#include "spawn/installation.h"
#include "status/status.h"
#include "topo/gpus.h"

namespace tutti::launch::prun {
namespace {

constexpr std::string_view kKeyUse = "tutti meeting";
constexpr int kStaticPort = 29500, kElasticPort = 29400;  // torchrun's defaults

// Those that a program started here would see; /dev says how many where the driver tells nothing
// else.
int count_gpus() {
  const auto visible = variable("CUDA_VISIBLE_DEVICES");
  if (visible && visible->empty()) return 0;
  std::vector<topo::DriverGpu> gpus = topo::nvidia_driver().gpus;
  std::erase_if(gpus, [](const topo::DriverGpu& gpu) { return !gpu.usable; });
  if (gpus.empty())
    for (const std::string& name : names_in("/dev"))
      if (name.starts_with("nvidia") && text::parse_int(name.substr(6))) gpus.emplace_back();
  return static_cast<int>(topo::visible_gpus(visible.value_or(""), gpus).size());
}

std::string key_path(const job::JobRequest& request) {
  if (!request.spec.key_file.empty()) return request.spec.key_file;
  const std::string config = value_in(request.environment, "XDG_CONFIG_HOME");
  return (config.empty() ? value_in(request.environment, "HOME") + "/.config" : config) +
         "/tutti/join.key";
}

// What this node has of a key: TUTTI_JOIN_KEY, else the key file's text; nothing when there is
// none.
Result<std::optional<std::string>> own_key(const job::JobRequest& request) {
  if (!request.join_key.empty()) return std::optional<std::string>(request.join_key);
  return secure::read_key_file(key_path(request));
}

// All of it, on its disk or its server: what only shows when it gets there (a quota) counts.
bool write_line(int file, const std::string& line) {
  errno = ENOSPC;  // of a part
  return file >= 0 &&
         ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
         (::fsync(file) == 0 || errno == EINVAL || errno == ENOSYS);  // there is no such thing
}

// Where nothing has it yet; by a second name where the file system has these (NFS does), else (vfat
// does) by the kernel's word. One that has neither (some in user space) gets a file that is filled
// under its name.
bool take_name(const std::string& from, const std::string& to, const std::string& line) {
  if (::link(from.c_str(), to.c_str()) == 0) return true;
  if (errno == EEXIST) return false;
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  const UniqueFd file(::open(to.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
  if (write_line(file.get(), line)) return true;
  const int error = errno;
  if (file.is_open()) ::unlink(to.c_str());
  errno = error;
  return false;
}

// Into a file for this user's eyes only, which has its name when the key is in it: whoever comes in
// between finds no file, and of several that make one at a time all have the first one's.
Result<std::string> make_key(const job::JobRequest& request) {
  const std::string path = key_path(request), key = spawn::fresh_id();
  if (request.spec.key_file.empty()) {
    const std::string folder = path.substr(0, path.rfind('/'));
    ::mkdir(folder.substr(0, folder.rfind('/')).c_str(), 0777);
    ::mkdir(folder.c_str(), 0700);
  }
  std::string unnamed = path + ".XXXXXX";
  const UniqueFd file(::mkostemp(unnamed.data(), O_CLOEXEC));
  const std::string line = key + "\n";
  const bool named = write_line(file.get(), line) && take_name(unnamed, path, line);
  const int error = errno;
  if (file.is_open()) ::unlink(unnamed.c_str());
  if (named) return key;
  if (error == EEXIST) {
    TUTTI_TRY(theirs, secure::read_key_file(path));
    if (theirs) return *theirs;
  }
  return fail(Code::arg, "cannot write a key to " + path + ": " + std::strerror(error));
}

// Of --listen (which makes one) and --join.
Result<spawn::MeetingKey> listen_key(const job::JobRequest& request, bool make) {
  TUTTI_TRY(text, own_key(request));
  if (!text && !make)
    return fail(Code::arg, "no key in " + key_path(request) +
                               "; copy that of the prun that listens, or name it "
                               "by --key-file or TUTTI_JOIN_KEY");
  if (!text) {
    TUTTI_TRY(fresh, make_key(request));
    text = fresh;
  }
  TUTTI_TRY(secret, secure::secret_from(*text, kKeyUse));
  return spawn::MeetingKey{secret, false, "prun"};
}

// Of torchrun's nodes, which may have none.
Result<spawn::MeetingKey> torch_key(const job::JobRequest& request) {
  TUTTI_TRY(text, own_key(request));
  if (!text && !request.spec.key_file.empty())
    return fail(Code::arg, "no key file " + request.spec.key_file);
  spawn::MeetingKey key;
  key.job = "torchrun " + request.spec.rank.run_id;
  key.is_open = !text;
  if (!text) return key;
  TUTTI_TRY(secret, secure::secret_from(*text, kKeyUse));
  key.secret = secret;
  return key;
}

int offered_slots(const cli::JobSpec& spec, const std::optional<topo::Machine>& machine) {
  if (spec.placement.ranks_per_node > 0) return spec.placement.ranks_per_node;
  return machine ? plan::usable_slots(*machine, spec.placement) : 1;
}

// Serves round after round, until the job is over.
Result<int> serve(const job::JobRequest& request, const spawn::HostAndPort& where,
                  const spawn::MeetingKey& key, spawn::JoiningHost self) {
  const cli::TorchSpec& torch = request.spec.torch;
  const double patience = request.spec.start_timeout_s > 0 ? request.spec.start_timeout_s
                          : torch.used                     ? torch.join_timeout_s
                                                           : 60;
  std::fflush(nullptr);
  for (;;) {
    TUTTI_DO(spawn::go_to_meeting(where, key, patience, &self));
    daemon::DaemonPlace place;
    place.by_hand = place.over_network = true;
    place.shows_output = torch.used;
    place.environment = request.environment;
    place.library_folder = spawn::this_installation().added_folder;
    place.head_address = spawn::peer_address(self.channel.get());
    place.own_address = request.spec.local_address.empty() ? spawn::own_address(self.channel.get())
                                                           : request.spec.local_address;
    if (torch.used) place.directory = request.directory;
    place.up.out.reset(::fcntl(self.channel.get(), F_DUPFD_CLOEXEC, 3));
    place.up.in = std::move(self.channel);
    place.up.stream = std::move(self.stream);
    place.among_strangers = key.is_open;
    if (key.is_open) place.up.most = control::kMaxStrangersBytes;
    if (torch.used)
      place.own_launch = [&request, slots = self.slots](int host, const control::Launch& said) {
        return job::own_launch(request, slots, host, said);
      };
    const int status = daemon::run_kept_daemon(std::move(place));
    if (status != daemon::kComeAgain) return status;
  }
}

struct Role {
  spawn::HostAndPort where;
  spawn::MeetingKey key;
  bool leads = false, may_lead = false;
};

Result<Role> torch_role(const job::JobRequest& request) {
  const cli::JobSpec& spec = request.spec;
  const cli::TorchSpec& torch = spec.torch;
  Role role;
  const bool is_static = torch.backend == "static";
  const int port = spec.rank.master_port > 0 ? spec.rank.master_port
                   : !is_static              ? kElasticPort
                   : torch.any_port          ? 0
                                             : kStaticPort;
  const std::string master =
      spec.rank.master_address.empty() ? "127.0.0.1" : spec.rank.master_address;
  TUTTI_TRY(where,
            spawn::parse_host_and_port(torch.endpoint.empty() ? master : torch.endpoint, port));
  role.where = where;
  if (role.where.address.empty()) role.where.address = "127.0.0.1";
  if (role.where.port == 0 && torch.min_nodes > 1)
    return fail(Code::arg, "port 0 is another one on each node; give all " +
                               std::to_string(torch.min_nodes) + " nodes one that is free on " +
                               role.where.address);
  TUTTI_TRY(key, torch_key(request));
  role.key = key;
  role.leads = is_static && torch.node_rank == 0;
  const int node = hosts::slurm_task(variable).node;
  if (role.leads && node > 0 && !job::is_this_machine(role.where.address))
    return fail(Code::arg,
                "node " + std::to_string(node) + " of the Slurm step says --node-rank 0, and " +
                    role.where.address +
                    ", where rank 0 leads, is another host: a $SLURM_NODEID that the job script "
                    "fills in is 0 for all; write: srun bash -c 'torchrun ... --node-rank "
                    "$SLURM_NODEID ...'");
  const bool is_there = job::is_this_machine(role.where.address);
  role.may_lead = is_static ? torch.node_rank <= 0 && is_there : torch.is_host.value_or(is_there);
  return role;
}

// Where the leading node listens: at the address that the others were given, when it is one of this
// machine's. A name may mean another address elsewhere than here: then at all of them.
spawn::HostAndPort door_of(const spawn::HostAndPort& where) {
  in6_addr address{};
  const bool is_number = ::inet_pton(AF_INET, where.address.c_str(), &address) == 1 ||
                         ::inet_pton(AF_INET6, where.address.c_str(), &address) == 1;
  if (where.address == "localhost") return {"127.0.0.1", where.port};
  return {is_number && job::is_this_machine(where.address) ? where.address : "", where.port};
}

void say_open(const spawn::HostAndPort& where) {
  const std::string door = door_of(where).address;
  if (door == "127.0.0.1" || door == "::1") return;  // users of this machine are told apart
  std::fprintf(
      stderr,
      "prun: no key: whoever reaches port %d can take a seat in this job and spoil its "
      "numbers; to shut strangers out give every node the same TUTTI_JOIN_KEY (16 bytes or "
      "more) or join.key\n",
      where.port);
}

// The host list of a torchrun node that leads: itself.
void lead_torch(job::JobRequest& request, const Role& role, int slots,
                const std::string& this_host) {
  hosts::HostSlots own;
  own.name = this_host;
  own.slots = slots;
  own.slots_given = true;
  own.source = "--nproc-per-node";
  request.allocation = {};
  request.allocation.hosts.push_back(std::move(own));
  request.allocation.given = true;
  request.spec.placement.ranks_per_node = 0;
  if (request.spec.torch.backend != "static") return;
  request.spec.rank.master_address = role.where.address;
  request.spec.rank.master_port = role.where.port;
  request.meeting_is_port = true;
}

}  // namespace

Result<void> settle_torch(cli::JobSpec& spec, const std::optional<topo::Machine>& machine) {
  cli::Placement& placement = spec.placement;
  if (const std::string word = placement.per_node_word; !word.empty()) {
    const int gpus = word == "cpu" ? 0 : count_gpus();
    if (word == "gpu" && gpus == 0)
      return fail(Code::arg,
                  "--nproc-per-node gpu: this machine has none; give their number, or cpu");
    placement.ranks_per_node = gpus > 0 ? gpus : machine ? machine->usable_threads() : 1;
  }
  if (!spec.torch.used) return {};
  placement.oversubscribe = true;
  if (!cli::hosts_of(spec).empty() || !cli::hostfiles_of(spec).empty())
    placement.most_hosts = spec.torch.max_nodes > 1 ? spec.torch.max_nodes : placement.most_hosts;
  return {};
}

Result<std::optional<int>> meet(job::JobRequest& request,
                                const std::optional<topo::Machine>& machine,
                                const std::string& this_host) {
  cli::JobSpec& spec = request.spec;
  spawn::JoiningHost self;
  self.name = this_host;
  self.slots = offered_slots(spec, machine);
  self.node_rank = spec.torch.node_rank;
  if (const auto* join = std::get_if<cli::JoinJob>(&spec.command)) {
    TUTTI_TRY(where, spawn::parse_host_and_port(join->where, 0));
    TUTTI_TRY(key, listen_key(request, false));
    TUTTI_TRY(status, serve(request, where, key, std::move(self)));
    return std::optional<int>(status);
  }
  if (!spec.listen.empty()) {
    TUTTI_TRY(where, spawn::parse_host_and_port(spec.listen, 0));
    TUTTI_TRY(key, listen_key(request, true));
    TUTTI_TRY(meeting, spawn::HostMeeting::open(where, key));
    request.meeting = std::move(meeting);
    if (!request.allocation.given) request.allocation = {};
    std::fprintf(stderr, "prun: listening; on each host run: prun --join %s:%d\n",
                 where.address.empty() ? this_host.c_str() : where.address.c_str(),
                 request.meeting->port());
    return std::optional<int>();
  }
  const bool meets = spec.torch.used && !spec.torch.standalone && spec.torch.max_nodes > 1 &&
                     !request.allocation.given;
  if (!meets) return std::optional<int>();
  TUTTI_TRY(role, torch_role(request));
  if (role.leads || role.may_lead) {
    auto meeting = spawn::HostMeeting::open(door_of(role.where), role.key);
    if (meeting) {
      if (role.key.is_open) say_open(role.where);
      lead_torch(request, role, self.slots, this_host);
      request.meeting = std::move(*meeting);
      return std::optional<int>();
    }
    if (role.leads || meeting.error().code != Code::pending)
      return tl::unexpected<Error>(meeting.error());
  }
  TUTTI_TRY(status, serve(request, role.where, role.key, std::move(self)));
  return std::optional<int>(status);
}

}  // namespace tutti::launch::prun
