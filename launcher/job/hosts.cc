// What is said between the head and the daemons, as far as it concerns the way to them.
#include "job/hosts.h"

#include <utility>

#include "base/environment.h"
#include "control/addresses.h"
#include "daemon/daemon.h"
#include "job/alike.h"
#include "status/status.h"

namespace tutti::launch::job {
namespace {

// TUTTI_INTERFACES as the ranks see it.
std::string interfaces_of(const JobRequest& request) {
  constexpr const char* kName = "TUTTI_INTERFACES";
  for (const cli::AppSpec& app : request.spec.apps)
    for (const cli::EnvChange& change : app.environment)
      if (change.name == kName && change.value) return *change.value;
  return value_in(request.environment, kName);
}

}  // namespace

Hosts::Hosts(control::Loop& loop, Round& round, const Course& course, Calls calls)
    : loop_(loop),
      round_(round),
      request_(round.request),
      course_(course),
      calls_(std::move(calls)),
      hosts_(round.request.plan.hosts.size()) {
  for (std::size_t i = 0; i < hosts_.size(); ++i) hosts_[i].via = static_cast<int>(i);
}

void Hosts::close() {
  for (Host& host : hosts_) host.channel.reset();
  spares_.clear();
  suspension_.reset();
  spawner_of_.clear();
  spawners_.clear();
}

std::string Hosts::awaited() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const bool here = course_.state == State::starting ? hosts_[i].said_hello : hosts_[i].started;
    if (!here && !hosts_[i].left) names.push_back(request_.plan.hosts[i].name);
  }
  return listed(names);
}

void Hosts::send(int index, const control::Message& message) {
  Host& direct = host(host(index).via);
  if (direct.channel) direct.channel->send(index, message);
}

void Hosts::send_all(const control::Message& message) {
  const std::string body = control::encode(message);
  for (Host& one : hosts_)
    if (one.channel) one.channel->send_raw(control::kEveryHost, body);
}

std::set<int> Hosts::ask(const control::Look& look) {
  send_all(look);
  std::set<int> asked;
  for (std::size_t i = 0; i < hosts_.size(); ++i)
    if (!hosts_[i].left && !hosts_[i].is_stranger) asked.insert(static_cast<int>(i));
  return asked;
}

void Hosts::say_bye(const control::Bye& bye) {
  send_all(bye);
  for (const auto& spare : spares_) spare->send(control::kEveryHost, bye);
}

bool Hosts::is_told() const {
  return std::all_of(hosts_.begin(), hosts_.end(), [](const Host& one) {
    return !one.channel || one.channel->queued_bytes() == 0;
  });
}

void Hosts::settle() {
  for (Host& host : hosts_)
    if (host.channel) host.channel->settle();
}

void Hosts::leave(int index) {
  if (host(index).left) return;
  host(index).left = true;
  calls_.left(index);
  for (std::size_t i = 0; i < hosts_.size(); ++i)  // those behind it are gone with it
    if (hosts_[i].via == index && static_cast<int>(i) != index && course_.state != State::leaving)
      leave(static_cast<int>(i));
  calls_.changed();
}

void Hosts::drop(int index) {
  host(index).left = true;
}

void Hosts::drop_those_that_never_came() {
  for (Host& host : hosts_)
    if (!host.said_hello) host.left = true;  // its spawner ends with the job
}

void Hosts::fail(int index, int status, const std::string& reason, bool is_gone) {
  if (!host(index).left) calls_.failed(index, status, reason, is_gone);
}

control::Prepare Hosts::prepare_for(int index) {
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

void Hosts::on_ready(int index, control::ChannelEnds ends) {
  Host& fresh = host(index);
  if (fresh.left) return;  // the job is over before it came
  fresh.via = index;
  if (fresh.is_stranger) ends.most = control::kMaxStrangersBytes;
  fresh.channel = std::make_unique<control::StartupChannel>(loop_, std::move(ends));
  fresh.channel->open([this, index](control::Frame&& one) { on_frame(index, std::move(one)); },
                      [this, index](const std::string& why) { on_closed(index, why); });
  fresh.channel->send(index, prepare_for(index));
}

void Hosts::on_closed(int index, const std::string& why) {
  host(index).channel.reset();
  if (host(index).left) return;
  const auto starter = spawner_of_.find(index);
  const std::string words = starter != spawner_of_.end() ? starter->second->last_words(index) : "";
  fail(index, status::of(status::ExitStatus::host_lost),
       "its daemon was lost (connection " + why + ")" + (words.empty() ? "" : ": " + words) +
           (course_.state == State::leaving ? "; what its ranks wrote last may be missing"
                                            : "; its ranks are gone"));
}

void Hosts::on_frame(int direct, control::Frame&& one) {
  const int from = one.host == control::kEveryHost ? direct : one.host;
  auto message = control::decode(one.body);
  if (!message || from < 0 || at(from) >= hosts_.size() || host(from).via != direct)
    return fail(direct, status::of(status::ExitStatus::host_lost),
                "its daemon said something unintelligible" +
                    (message ? "" : " (" + message.error().text + ")"));
  if (host(from).is_stranger) {
    auto numbers = daemon::numbers_only(std::move(*message));
    if (!numbers) return;
    *message = std::move(*numbers);
  }
  const bool is_ours = std::visit([&](const auto& what) { return take(from, what); }, *message);
  if (!is_ours) calls_.said(from, *message);
}

bool Hosts::take(int index, const control::Heartbeat&) {
  // The first sign of a host that another daemon started: it is ready for us.
  const Host& fresh = host(index);
  if (!fresh.said_hello && !fresh.channel && !fresh.left) send(index, prepare_for(index));
  return true;
}

bool Hosts::take(int index, const control::Hello& hello) {
  Host& fresh = host(index);
  if (fresh.said_hello) return true;
  if (hello.version != control::version()) {
    fail(index, status::of(status::ExitStatus::version_mismatch),
         "its prund is version " + hello.version + ", this prun " + control::version());
    return true;
  }
  fresh.said_hello = true;
  fresh.hello = hello;
  if (fresh.channel)
    fresh.channel->keep_alive(daemon::kBeat, daemon::kSilence,
                              [this] { return suspension_ && suspension_->ask(); });
  if (!fresh.to_grow.empty()) send(index, grow_message(std::move(fresh.to_grow)));
  return false;
}

bool Hosts::take(int index, const control::Started&) {
  host(index).started = true;
  return false;
}

// Told by the daemon that was to start the host's.
bool Hosts::take(int index, const control::HostFailed& report) {
  if (report.host < 0 || at(report.host) >= hosts_.size()) return true;
  if (host(report.host).via != index) return true;
  const Host& lost = host(report.host);
  if (lost.left) return true;
  if (!lost.said_hello && !lost.channel && course_.state == State::starting &&
      report.status != status::of(status::ExitStatus::host_lost)) {
    // Hosts that cannot reach each other: we may still reach it ourselves.
    start_over_network({part_of(report.host)});
  } else {
    fail(report.host, report.status, report.reason);
  }
  return true;
}

// A daemon whose ranks run already lives on after this word: what they have written still comes.
bool Hosts::take(int index, const control::DaemonFailed& report) {
  fail(index, report.status, report.reason, !host(index).started);
  return true;
}

bool Hosts::take(int index, const control::Bye&) {
  // Nobody leaves before the head says so, or the job's last rank has ended.
  if (course_.state == State::leaving || course_.state == State::done)
    leave(index);
  else
    fail(index, status::of(status::ExitStatus::host_lost),
         "its daemon left before the end of the job");
  return true;
}

}  // namespace tutti::launch::job
