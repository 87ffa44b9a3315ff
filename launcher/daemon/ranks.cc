// Starting the ranks of a host, and what is done to all of them.
#include "daemon/ranks.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>

#include "base/environment.h"
#include "base/numbers.h"
#include "daemon/daemon.h"
#include "daemon/rank_env.h"
#include "status/status.h"

namespace tutti::launch::daemon {
namespace {

constexpr std::chrono::milliseconds kSlowStart{20};
// The daemon's own, with those of four ranks that are on their way; of each rank its two streams,
// its control socket and its door.
constexpr rlim_t kOwnOpenFiles = 36, kOpenFilesOfRank = 4;

// As many descriptors as there may be: a rank takes up to six. Returns the limit before.
rlimit raise_open_files() {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit most{before.rlim_max, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &most);
  return before;
}

// What the head said is used as it came: it must make sense.
bool makes_sense(const control::Launch& launch, int host) {
  const auto apps = static_cast<int>(launch.apps.size());
  const auto hosts = static_cast<int>(launch.hosts.size());
  const auto within = [](int index, int count) { return index >= 0 && index < count; };
  return within(host, hosts) &&
         std::all_of(launch.apps.begin(), launch.apps.end(),
                     [](const control::AppPart& app) { return !app.argv.empty(); }) &&
         std::all_of(launch.host_of.begin(), launch.host_of.end(),
                     [&](int one) { return within(one, hosts); }) &&
         std::all_of(launch.ranks.begin(), launch.ranks.end(),
                     [&](const control::RankPart& rank) {
                       return within(rank.app, apps) &&
                              within(rank.rank, static_cast<int>(launch.host_of.size())) &&
                              launch.host_of[static_cast<std::size_t>(rank.rank)] == host;
                     }) &&
         std::count(launch.host_of.begin(), launch.host_of.end(), host) ==
             static_cast<std::ptrdiff_t>(launch.ranks.size());
}

// Cores among these processors; 0: not bound.
int cores_of(const topo::Machine& machine, const std::vector<int>& cpus) {
  std::set<int> cores;
  for (const topo::Thread& thread : machine.threads)
    if (std::find(cpus.begin(), cpus.end(), thread.os_index) != cpus.end())
      cores.insert(thread.core);
  return static_cast<int>(cores.size());
}

}  // namespace

Ranks::Ranks(control::Loop& loop, Say say)
    : loop_(loop), say_(std::move(say)), open_files_limit_(raise_open_files()) {
  // The ranks' descriptor numbers are kept free in this process.
  fds_ = rank_fds(open_files_limit_.rlim_max);
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  for (const int fd : {fds_.segment, fds_.control, fds_.server})
    ::dup3(nothing.get(), fd, O_CLOEXEC);
}

Result<void> Ranks::launch(control::Launch launch, const Place& place) {
  if (!ranks_.empty() || !makes_sense(launch, place.host))
    return fail(Code::intern, "prun sent a plan that makes no sense");
  TUTTI_DO(check_open_files(launch));
  launch_ = std::move(launch);
  place_ = place;
  TUTTI_DO(make_job_segment(place));
  open_door();
  for (std::size_t i = 0; i < launch_.ranks.size(); ++i) {
    RankProcess& rank = ranks_.emplace_back();
    rank.part = launch_.ranks[i];
    rank.local = static_cast<int>(i);
    if (rank.part.takes_stdin) input_offsets_[rank.local] = 0;
  }
  find_files(loop_, wanted(), [this](Found&& found) { on_found(std::move(found)); });
  return {};
}

// What is to be asked of file systems before a rank can start.
Wanted Ranks::wanted() const {
  Wanted wanted{launch_.apps, place_.environment,    place_.directory, place_.library_folder,
                {},           launch_.output.appends};
  for (const RankProcess& rank : ranks_)
    for (const int stream : {0, 1}) {
      const std::string& pattern = stream == 0 ? launch_.output.out_file : launch_.output.err_file;
      const bool merged = stream == 1 && launch_.output.merge_stderr;
      const bool to_file = (rank.part.to_file & (stream == 0 ? 1 : 2)) != 0 && !merged;
      wanted.files.push_back(to_file ? fill_pattern(pattern, writer_of(rank)) : "");
    }
  return wanted;
}

void Ranks::on_found(Found&& found) {
  for (const std::string& note : found.notes) say_(control::Note{note, true});
  apps_ = std::move(found.apps);
  for (RankProcess& rank : ranks_)
    for (const int stream : {0, 1}) {
      OpenedFile& file = found.files.at(static_cast<std::size_t>(2 * rank.local + stream));
      file_problems_.push_back(std::move(file.problem));
      if (file.fd.is_open())
        rank.file[stream] = std::make_unique<RankFile>(
            loop_, std::move(file),
            [this, &rank, stream](int error) { on_file(rank, stream, error); });
    }
  make_servers();
}

// Those on their way run their programs first: then who looks finds them among our descendants.
void Ranks::pause(bool on) {
  is_paused_ = on;
  if (on && starter_) starter_->drain();
  if (!on && std::exchange(start_waits_, false)) start_more();
}

// As many as begin at once; where one is slow to, the loop goes on meanwhile.
void Ranks::start_more() {
  if (is_paused_) {
    start_waits_ = true;
    return;
  }
  if (!starter_)
    starter_ = std::make_unique<RankStarter>([this](RankProcess& rank) { hear_of_exec(rank); });
  bool waits = false;
  while (!waits && next_to_start_ < ranks_.size()) {
    if (!starter_->make_room()) {
      waits = true;
    } else if (const auto done = start(ranks_[next_to_start_++]); !done) {
      return say_(
          control::DaemonFailed{status::of(status::ExitStatus::no_resources), done.error().text});
    }
  }
  if (waits || !starter_->drain()) {
    loop_.after(kSlowStart, [this] { start_more(); });
    return;
  }
  starter_.reset();
  ranks_run_ = true;
  std::vector<control::RankPart>().swap(launch_.ranks);  // each has its own part
  if (!input_offsets_.empty()) write_input();
}

Result<void> Ranks::make_job_segment(const Place& place) {
  wireup::JobFacts facts;
  facts.hosts = launch_.hosts;
  facts.host_of = launch_.host_of;
  facts.this_host = place.host;
  facts.job_id = launch_.job_id;
  facts.key = {reinterpret_cast<const std::uint8_t*>(launch_.job_key.data()),
               launch_.job_key.size()};
  if (place.machine) {
    facts.cores = static_cast<std::uint32_t>(place.machine->usable_cores());
    facts.topology = topo::text_of(*place.machine);
  }
  if (launch_.machine_cores > 0) {
    facts.machine_ranks = launch_.machine_ranks;
    facts.cores = static_cast<std::uint32_t>(launch_.machine_cores);
  }
  auto costs = model::parse_costs(launch_.spec.costs);
  if (!costs) return fail(Code::intern, "prun sent " + costs.error().text);
  facts.costs = *costs;
  return generations_.open(std::move(facts));
}

const wireup::LocalRecord* Ranks::record_of(const RankProcess& rank) const {
  const wireup::Segment* const segment = generations_.find(rank.generation);
  if (!rank.joined || segment == nullptr) return nullptr;
  return &segment->local(static_cast<std::uint32_t>(rank.local));
}

// Before anything starts: what this daemon needs for itself and for each rank.
Result<void> Ranks::check_open_files(const control::Launch& launch) const {
  rlim_t needed = kOwnOpenFiles + kOpenFilesOfRank * launch.ranks.size();
  for (const control::RankPart& rank : launch.ranks)
    for (const int stream : {1, 2}) needed += (rank.to_file & stream) != 0 ? 1 : 0;
  needed = std::max(needed, kLeastOpenFiles);
  if (open_files_limit_.rlim_max >= needed) return {};
  return fail(Code::other, "the hard limit of open files (ulimit -Hn) is " +
                               std::to_string(open_files_limit_.rlim_max) + " there; at least " +
                               std::to_string(needed) + " are needed for " +
                               text::counted(launch.ranks.size(), "rank") +
                               ": raise it, or start fewer ranks there");
}

// Ranks that nothing comes in between do without: a host that has no room for it says nothing.
void Ranks::open_door() {
  door_ = std::make_unique<RankDoor>(
      loop_, RankDoor::Answers{
                 [this](int local, wireup::DoorWish wish) { return segment_for(local, wish); },
                 [this](int local, UniqueFd control) { enter(local, std::move(control)); },
                 [this](int local) -> std::optional<std::uint32_t> {
                   const RankProcess& rank = ranks_[static_cast<std::size_t>(local)];
                   return rank.ended ? std::nullopt : std::optional(rank.generation);
                 }});
  const std::string folder = temporary_folder(value_in(place_.environment, "TMPDIR"));
  if (!door_->open(launch_.ranks.size(), place_.host, folder)) door_.reset();
}

// Cores that it is bound to, shared out among the ranks that are bound to the same; 0: not bound.
int Ranks::cores_for(const RankProcess& rank) const {
  const int cores = cores_of(*place_.machine, rank.part.cpus);
  if (cores < 2) return cores;
  const auto sharing = std::count_if(
      ranks_.begin(), ranks_.end(),
      [&rank](const RankProcess& other) { return other.part.cpus == rank.part.cpus; });
  return std::max(1, cores / static_cast<int>(sharing));
}

// Why it cannot start; empty reason: it can.
CannotStart Ranks::problem_of(const RankProcess& rank) const {
  if (ending_) return {status::of(status::ExitStatus::internal), "the job ended before it started"};
  const App& app = apps_.at(static_cast<std::size_t>(rank.part.app));
  if (!app.problem.reason.empty()) return app.problem;
  for (const int stream : {0, 1})
    if (const auto& text = file_problems_.at(static_cast<std::size_t>(2 * rank.local + stream));
        !text.empty())
      return {status::of(status::ExitStatus::no_resources), text};
  return {};
}

// One that cannot start is reported as ended; errors are the host's.
Result<void> Ranks::start(RankProcess& rank) {
  const control::AppPart& part = launch_.apps.at(static_cast<std::size_t>(rank.part.app));
  const App& app = apps_.at(static_cast<std::size_t>(rank.part.app));
  if (const CannotStart problem = problem_of(rank); !problem.reason.empty()) {
    report_not_started(rank, problem);
    return {};
  }
  RankFacts facts;
  facts.job_id = launch_.job_id;
  facts.rank = rank.part.rank;
  facts.size = static_cast<int>(launch_.host_of.size());
  facts.local_rank = rank.local;
  facts.local_size = static_cast<int>(ranks_.size());
  facts.host = place_.host;
  facts.hosts = static_cast<int>(launch_.hosts.size());
  facts.app = rank.part.app;
  facts.apps = static_cast<int>(launch_.apps.size());
  facts.segment_fd = fds_.segment;
  facts.control_fd = fds_.control;
  if (door_) facts.door = door_->path(), facts.door_key = door_->key_of(rank.local);
  facts.spec = launch_.spec;
  if (facts.hosts > 1) facts.interface = interface_towards(launch_.spec.master_address);
  facts.library_folder = place_.library_folder;
  facts.directory = app.directory;
  facts.restarts = launch_.restarts;
  facts.cpus = static_cast<int>(rank.part.cpus.size());
  if (place_.machine) facts.cores = cores_for(rank);
  facts.gpus = rank.part.gpus;
  facts.program = &part;
  facts.programs = &launch_.apps;
  facts.as_srun = launch_.spec.as_srun ? &launch_ : nullptr;
  TUTTI_TRY(served, servers_.outfit(rank.local, app.needs));
  RankStart how;
  how.path = app.path;
  how.directory = app.directory;
  how.argv = &part.argv;
  facts.server_variables = &served.variables;
  how.more_argv = own_words(part, rank);
  how.window = launch_.window;
  how.by_shell = !app.needs.is_binary;
  how.environment = rank_environment(place_.environment, facts);
  how.server = std::move(served.fd);
  how.segment_fd = generations_.find(0)->fd();
  how.merge_stderr = launch_.output.merge_stderr;
  how.as = fds_;
  how.open_files = open_files_limit_;
  TUTTI_DO(starter_->start(rank, std::move(how)));
  by_pid_.emplace_back(rank.pid, rank.local);
  watch(rank);
  return {};
}

void Ranks::watch(RankProcess& rank) {
  watch_control(rank, rank.control.get());
  for (const int stream : {0, 1}) watch_output(rank, stream);
}

void Ranks::report_not_started(RankProcess& rank, const CannotStart& problem) {
  rank.ended = true;
  control::RankEnded report;
  report.rank = rank.part.rank;
  report.launch_status = problem.status;
  report.reason = problem.reason;
  say_(report);
  tell_started();
}

void Ranks::publish(const control::Addresses& addresses) {
  if (!generations_.is_open() || addresses.ranks.size() != addresses.addresses.size()) return;
  if (!drop_passed()) return;  // nobody here will ask
  for (std::size_t i = 0; i < addresses.ranks.size(); ++i)
    if (const auto done =
            generations_.publish(addresses.generation, addresses.ranks[i], addresses.addresses[i]);
        !done)
      return say_(
          control::DaemonFailed{status::of(status::ExitStatus::no_resources), done.error().text});
}

void Ranks::gone(const control::Gone& gone) {
  if (!generations_.is_open() || gone.ranks.size() != gone.finalized.size()) return;
  for (std::size_t i = 0; i < gone.ranks.size(); ++i)
    generations_.ended(gone.ranks[i], gone.finalized[i], any_joined_);
}

void Ranks::on_child_ended(pid_t pid, int wait_status) {
  const auto found = std::find_if(by_pid_.begin(), by_pid_.end(),
                                  [pid](const auto& one) { return one.first == pid; });
  if (found == by_pid_.end()) return tool_ended(pid);
  RankProcess& rank = ranks_[static_cast<std::size_t>(found->second)];
  *found = by_pid_.back();
  by_pid_.pop_back();
  if (starter_) starter_->on_ended(rank);
  rank.ended = true;
  rank.wait_status = wait_status;
  if (door_) door_->forget(rank.local);
  report_end(rank);
}

}  // namespace tutti::launch::daemon
