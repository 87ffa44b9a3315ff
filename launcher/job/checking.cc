// From one examination or probe to the next.
#include "job/checking.h"

#include <array>
#include <chrono>

#include "base/check.h"
#include "base/hex.h"
#include "base/random_bytes.h"
#include "status/status.h"

namespace tutti::launch::job {
namespace {

std::string make_token() {
  std::array<unsigned char, 16> bytes{};
  TUTTI_CHECK(random_bytes(bytes.data(), bytes.size()), "no random numbers");
  return text::hex(bytes.data(), bytes.size());
}

std::int64_t wall_clock_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

std::vector<std::string> names_of(const plan::Plan& plan) {
  std::vector<std::string> names;
  for (const plan::PlannedHost& host : plan.hosts) names.push_back(host.name);
  return names;
}

}  // namespace

Checking::Checking(const JobRequest& request, const Course& course, StateMachine& machine,
                   Hosts& hosts, control::Terminal& terminal)
    : request_(request),
      course_(course),
      machine_(machine),
      hosts_(hosts),
      terminal_(terminal),
      checker_(names_of(request.plan), make_token()) {}

std::string Checking::way_to(int index) const {
  const Hosts::Facts& host = hosts_[index];
  std::string way = "on this machine";
  if (request_.spec.starter == cli::Starter::virtual_hosts) way = "made here";
  if (host.over_network)
    way = "by " + hosts_.agent() + " in " + std::to_string(course_.age_ms()) +
          " ms, without a password" +
          (host.was_sent_daemon ? ", prund was sent and is kept there" : "");
  return way + "; calls itself " + host.hello.host_name + ", prund " + host.hello.version;
}

void Checking::host_is_here(int index) {
  checker_.reached(index, way_to(index), hosts_[index].noise);
  hosts_.send(index, checker_.examination(wall_clock_ms()));
}

void Checking::take(int index, const control::Findings& findings) {
  checker_.examined(index, findings);
  go_on();
}

void Checking::take(int index, const control::Probed& probed) {
  checker_.probed(index, probed);
  go_on();
}

void Checking::host_failed(int index, int status, const std::string& reason) {
  if (hosts_[index].left) return;
  hosts_.drop(index);
  checker_.unreachable(index, status, reason);
  go_on();
}

void Checking::start_is_late(const std::string& limit) {
  for (int index = 0; index < static_cast<int>(hosts_.count()); ++index)
    if (!hosts_[index].said_hello)
      host_failed(index, status::of(status::ExitStatus::host_unreachable),
                  "no answer in " + limit +
                      "; is it overloaded, or does its login shell wait for something?");
}

void Checking::go_on() {
  if (machine_.ending().has_failed() || course_.state == State::leaving ||
      course_.state == State::done)
    return machine_.look_for_end();
  if (!checker_.all_examined() || !checker_.round_is_over()) return;
  if (course_.state == State::starting) machine_.enter(State::running);
  const auto round = checker_.next_round();
  for (const auto& [from, probe] : round) hosts_.send(from, probe);
  if (!round.empty()) return;
  terminal_.write(1, checker_.report());
  machine_.ending().fail(Cause::ended, checker_.status());
  machine_.enter(State::leaving);
}

}  // namespace tutti::launch::job
