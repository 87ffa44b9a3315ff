// What the head does with each message of a daemon.
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/check.h"
#include "base/environment.h"
#include "base/file.h"
#include "control/addresses.h"
#include "job/head.h"
#include "job/parts.h"
#include "status/status.h"

namespace tutti::launch::job {
namespace {

constexpr std::chrono::seconds kReasonDelay{1};  // between a victim's word and the reason's

JobSecrets make_secrets() {
  JobSecrets secrets;
  secrets.key.resize(32);
  TUTTI_CHECK(::getrandom(secrets.key.data(), secrets.key.size(), 0) == 32, "no random numbers");
  TUTTI_CHECK(::getrandom(&secrets.job_id, sizeof secrets.job_id, 0) == 8, "no random numbers");
  secrets.job_id >>= 1;  // fits a signed number, for scripts
  return secrets;
}

// TUTTI_INTERFACES as the ranks see it.
std::string interfaces_of(const JobRequest& request) {
  constexpr const char* kName = "TUTTI_INTERFACES";
  for (const cli::AppSpec& app : request.spec.apps)
    for (const cli::EnvChange& change : app.environment)
      if (change.name == kName && change.value) return *change.value;
  return value_in(request.environment, kName);
}

}  // namespace

std::vector<std::string> shown_of(const std::vector<std::string>& notices,
                                  const cli::JobSpec& spec) {
  const bool asks = spec.verbose || spec.report_bindings || spec.display_map;
  return asks || ::isatty(STDERR_FILENO) != 0 ? notices : std::vector<std::string>{};
}

control::Prepare Head::prepare_for(int index) {
  const Host& fresh = host(index);
  control::Prepare prepare{index, name_of(index), control::version(), true,
                           plan::wants_devices(request_.spec)};
  if (fresh.is_early) prepare.machine = daemon::machine_part(*request_.machine);
  prepare.interfaces = interfaces_of(request_);
  if (fresh.via != index)
    prepare.up_addresses = host(fresh.via).hello.addresses;
  else if (fresh.over_network)
    prepare.up_addresses = control::own_addresses();
  return prepare;
}

void Head::on_ready(int index, control::ChannelEnds ends) {
  Host& fresh = host(index);
  if (fresh.left) return;  // the job is over before it came
  fresh.via = index;
  fresh.channel = std::make_unique<control::Channel>(loop_, std::move(ends));
  fresh.channel->open([this, index](control::Frame&& one) { on_frame(index, std::move(one)); },
                      [this, index](const std::string& why) { on_closed(index, why); });
  fresh.channel->send(index, prepare_for(index));
}

void Head::on_closed(int index, const std::string& why) {
  host(index).channel.reset();
  if (host(index).left) return;
  const auto starter = starters_.of_host.find(index);
  const std::string words =
      starter != starters_.of_host.end() ? starter->second->last_words(index) : "";
  host_failed(index, status::of(status::ExitStatus::host_lost),
              "its daemon was lost (connection " + why + ")" + (words.empty() ? "" : ": " + words) +
                  "; its ranks are gone");
}

void Head::on_frame(int direct, control::Frame&& one) {
  const int from = one.host == control::kEveryHost ? direct : one.host;
  auto message = control::decode(one.body);
  if (!message || from < 0 || at(from) >= hosts_.size() || host(from).via != direct)
    return host_failed(direct, status::of(status::ExitStatus::host_lost),
                       "its daemon said something unintelligible" +
                           (message ? "" : " (" + message.error().text + ")"));
  if (host(from).is_stranger) {
    auto numbers = daemon::numbers_only(std::move(*message));
    if (!numbers) return;
    *message = std::move(*numbers);
  }
  std::visit([this, from](const auto& what) { handle(from, what); }, *message);
}

void Head::handle(int index, const control::Heartbeat&) {
  // The first sign of a host that another daemon started: it is ready for us.
  Host& fresh = host(index);
  if (fresh.said_hello || fresh.channel || fresh.left) return;
  send(index, prepare_for(index));
}

void Head::handle(int index, const control::Hello& hello) {
  Host& fresh = host(index);
  if (fresh.said_hello) return;
  if (hello.version != control::version())
    return host_failed(
        index, status::of(status::ExitStatus::version_mismatch),
        "its prund is version " + hello.version + ", this prun " + control::version());
  fresh.said_hello = true;
  fresh.hello = hello;
  if (fresh.channel)
    fresh.channel->keep_alive(daemon::kBeat, daemon::kSilence,
                              [this] { return suspension_ && suspension_->is_on(); });
  if (!fresh.to_grow.empty()) send(index, grow_message(std::move(fresh.to_grow)));
  if (checker_) return examine(index);
  if (course_.state == State::ending) return look_for_end();  // it was the last to be waited for
  for (const Host& one : hosts_)
    if (!one.said_hello) return;
  if (course_.state == State::starting) launch();
}

// Every host is there: bind, and tell each what to start.
void Head::launch() {
  plan::Plan& plan = request_.plan;
  std::vector<topo::Machine> machines;
  std::vector<control::Hello> hellos;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    machines.push_back(daemon::machine_of(hosts_[i].hello.machine));
    hellos.push_back(hosts_[i].hello);
    names.push_back(plan.hosts[i].name);
  }
  if (const auto bound = plan::bind_ranks(plan, request_.spec, machines); !bound)
    return fail(status::of(status::ExitStatus::too_few_slots), bound.error().text);
  for (const std::string& note : shown_of(plan.notes, request_.spec)) streams_.terminal().say(note);
  if (request_.spec.display_topo)
    streams_.terminal().write(1, plan::print_topology(plan, machines));
  if (request_.spec.report_bindings)
    streams_.terminal().write(2, plan::print_bindings(plan, machines));

  if (const auto opened = observation_.open_usage(); !opened)
    return fail(status::of(status::ExitStatus::no_resources), opened.error().text);

  JobSecrets secrets = make_secrets();
  secrets.restarts = round_.restarts;
  secrets.round = round_.number;
  course_.job_id = secrets.job_id;
  const bool color = ::isatty(1) != 0 && value_in(request_.environment, "NO_COLOR").empty();
  const std::size_t first = at(plan.ranks.at(0).host);
  const auto shared = plan::shared_machines(plan, machines);
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    control::Launch launch = common_part(request_.spec, plan, secrets,
                                         working_directory(value_in(request_.environment, "PWD")),
                                         request_.environment, hosts_[i].over_network);
    if (launch.spec.master_address.empty())
      launch.spec.master_address = proven_address(hellos, names, first);
    if (launch.spec.master_port == 0) launch.spec.master_port = hellos[first].free_port;
    launch.output.color = color;
    add_ranks(launch, request_.spec, plan, static_cast<int>(i));
    streams_.direct(launch);
    for (const plan::SharedMachine& one : shared) {
      if (one.hosts.size() < 2 ||
          std::find(one.hosts.begin(), one.hosts.end(), i) == one.hosts.end())
        continue;
      launch.machine_ranks = one.ranks;
      launch.machine_cores = one.machine.usable_cores();
    }
    // Its own command line says what a node of a torchrun starts.
    if (hosts_[i].has_joined && request_.spec.torch.used)
      send(static_cast<int>(i), *daemon::numbers_only(std::move(launch)));
    else
      send(static_cast<int>(i), launch);
  }
  launched_ = true;
  streams_.open_files();
  observation_.open_desk();
  enter(State::launching);
  streams_.feed_input();
}

void Head::handle(int index, const control::Started&) {
  host(index).started = true;
  for (const Host& one : hosts_)
    if (!one.started) return;
  if (course_.state == State::launching) enter(State::running);
}

void Head::handle(int index, const control::RankEnded& report) {
  if (report.rank < 0 || at(report.rank) >= course_.rank_ended.size() ||
      course_.rank_ended[at(report.rank)] || request_.plan.ranks[at(report.rank)].host != index)
    return;
  course_.rank_ended[at(report.rank)] = true;
  --course_.ranks_left;
  tell_end(report, judge(report, name_of(index)));
  if (course_.ranks_left == 0) {
    tell_victim();
    observation_.all_ranks_ended();
  }
  tell_hosts_of(report);
  look_for_end();
}

// The line that says why, where the rank's output is, and what it wrote last.
void Head::tell_end(const control::RankEnded& report, const Verdict& verdict) {
  if (verdict.status == 0) return;
  if (!ending_.has_failed() && ending_.is_victim(report.rank)) return;
  const bool by_user = ending_.signal() != 0 && WIFSIGNALED(report.wait_status) &&
                       WTERMSIG(report.wait_status) == ending_.signal();
  std::string line = verdict.line;
  if (report.launch_status == 0) {
    line += output_place(streams_.place_of(report.rank));
    if (request_.plan.ranks.size() > 1) line += last_lines(report.last_lines);
  }
  if (request_.spec.keep_going || (request_.spec.report_exits && ending_.has_failed())) {
    ending_.blemish(verdict.status);
    if (!by_user) streams_.terminal().say(line);
    return;
  }
  fail(verdict.status, by_user ? "" : line, report.launch_status == 0 ? Cause::rank : Cause::ended);
}

void Head::handle(int index, const control::RankAborts& report) {
  Verdict verdict = judge(report, name_of(index));
  if (!ending_.has_failed() && report.follows) {
    if (!ending_.victim()) loop_.after(kReasonDelay, [this] { tell_victim(); });
    return ending_.blame_another(report.rank, std::move(verdict));
  }
  fail(verdict.status, verdict.line, Cause::rank);
}

// A rank ended the job because it had lost a peer, or because a collective failed on another: what
// that one says is the reason, if it is told in time; it may be heard later.
void Head::tell_victim() {
  if (const auto& victim = ending_.victim(); victim && !ending_.has_failed())
    fail(victim->status, victim->line, Cause::rank);
}

void Head::handle(int index, const control::Bye&) {
  // Nobody leaves before the head says so, or the job's last rank has ended.
  if (course_.state != State::leaving && course_.state != State::done)
    return host_failed(index, status::of(status::ExitStatus::host_lost),
                       "its daemon left before the end of the job");
  host_left(index);
}

void Head::handle(int, const control::HostFailed& report) {
  if (report.host < 0 || at(report.host) >= hosts_.size()) return;
  Host& lost = host(report.host);
  if (lost.left) return;
  if (!lost.said_hello && !lost.channel && course_.state == State::starting &&
      report.status != status::of(status::ExitStatus::host_lost)) {
    // Hosts that cannot reach each other: we may still reach it ourselves.
    control::HostPart part;
    part.host = report.host;
    part.name = name_of(report.host);
    return start_over_network({part});
  }
  host_failed(report.host, report.status, report.reason);
}

void Head::handle(int, const control::Note& note) {
  streams_.terminal().say(note.text);
}

// Once its ranks run a daemon that says so is still there: what they have written comes, and ends.
void Head::handle(int index, const control::DaemonFailed& report) {
  host_failed(index, report.status, report.reason, !host(index).started);
}

}  // namespace tutti::launch::job
